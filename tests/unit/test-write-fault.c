/*
 * The write_fault source against the model: what it sees, whom it leaves alone, and what it does
 * when the process changes under it.
 */
#include "fault_world.h"

#include "sample/fault/fault_guard.h"
#include "sample/fault/fault_pace.h"
#include "sample/fault/fault_window.h"
#include "util/array.h"

#define PID 4711
#define SMALL_PAGES 2560 /* 10 MiB */

static void test_first_writes_become_accesses(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    assert_int_equal(world_round(&world, 0), 0);
    assert_int_equal(process->n_cleared, 1);
    process->cpu_ticks += 100;
    world.now += NSEC_PER_MSEC;
    for (unsigned twice = 0; twice < 2; twice++) {
        world_write(&world, process, PID, 3);
        world_write(&world, process, PID + 1, 5);
    }
    assert_int_equal(world.n_accesses, 0); /* weights need the whole window */
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct access *access = &world.accesses[i];

        assert_int_equal(access->pid, PID);
        assert_int_equal(access->tid, PID + (int)i);
        assert_int_equal(access->addr, WORLD_MEMORY + (3 + 2 * i) * WORLD_PAGE_BYTES + 8);
        assert_int_equal(access->cpu, 1);
        assert_int_equal(access->kind, ACCESS_WRITE);
        assert_int_equal(access->source, ACCESS_SOURCE_WRITE_FAULT);
        assert_true(access->weight_sec == FAULT_WEIGHT_MAX_SEC);
    }
    assert_int_equal(world_counts(&world).n_accesses, 2);
    assert_int_equal(world_counts(&world).n_samples, 2);
    world_close(&world);
}

/* Whoever is not allowed costs nothing: no event, no request. */
static void test_without_a_rule_nothing_happens(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    process->allowed = false;
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(process->n_cleared, 0);
    assert_int_equal(world_scope->n_covered_max, 0);
    world_close(&world);
}

/* A cheap, busy process is cleared every second; its events close when it no longer is. */
static void test_clears_follow_each_other(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
        process->cpu_ticks += 100;
        world_write(&world, process, PID, i);
    }
    assert_int_equal(process->n_cleared, 5);
    assert_int_equal(world.n_accesses, 4);
    assert_int_equal(world_counts(&world).n_foreign, 0); /* each fault is in one window */
    process->allowed = false;
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world_scope->n_covered, 0);
    assert_int_equal(process->n_cleared, 5);
    world_close(&world);
}

/* An idle process has no CPU time to spend: 1 s becomes 2, 4, ... 60. */
static void test_idle_process_is_left_alone_ever_longer(void **state)
{
    static const unsigned cleared_at_sec[] = {0, 2, 6, 14, 30, 62, 122, 182};
    struct fault_world world;
    struct fault_process *process;
    size_t n = 0;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    for (unsigned sec = 0; sec < 200; sec++) {
        assert_int_equal(world_round(&world, sec ? NSEC_PER_SEC : 0), 0);
        if (process->n_cleared == n)
            continue;
        assert_true(n < ARRAY_LENGTH(cleared_at_sec));
        assert_int_equal(sec, cleared_at_sec[n]);
        n++;
    }
    assert_int_equal(n, ARRAY_LENGTH(cleared_at_sec));
    assert_int_equal(world_scope->n_covered, 0); /* between windows */
    world_close(&world);
}

/*
 * 30,000 of 65,536 pages are written each second: 37 ms with the clear. 4 s between clears seemed
 * to be enough for that, but the other pages fault behind the window: 72 ms each time, for which 1
 * % takes 8 s.
 */
static void faults_behind_the_window_count_too(void **state)
{
    struct fault_world world;
    struct fault_process *process;
    uint64_t n_unwritten = 0, n_faults = 0;
    unsigned n_cleared = 0;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, 65536);
    for (unsigned sec = 0; sec < 200; sec++) {
        uint64_t n;

        assert_int_equal(world_round(&world, sec ? NSEC_PER_SEC : 0), 0);
        if (process->n_cleared != n_cleared)
            n_unwritten = process->rss_pages;
        n_cleared = process->n_cleared;
        n = n_unwritten < 30000 ? n_unwritten : 30000;
        n_unwritten -= n;
        n_faults += sec < 100 ? 0 : n; /* it takes some time to find the interval */
        process->minor_faults += n;
        process->cpu_ticks += 100;
    }
    print_message("%llu faults in 100 s\n", (unsigned long long)n_faults);
    assert_true((double)n_faults * WORLD_FAULT_SEC < 100 * WORLD_BUDGET);
    assert_true((double)n_faults * WORLD_FAULT_SEC > 100 * WORLD_BUDGET / 4);
    world_close(&world);
}

static void make_pagemap_user(struct fault_process *process)
{
    process->link = "/proc/4711/pagemap";
}

static void make_vmm(struct fault_process *process)
{
    process->link = "/dev/kvm";
}

static void make_traced(struct fault_process *process)
{
    process->tracer = 99;
}

static void make_unreadable(struct fault_process *process)
{
    process->links_r = PROCFS_DENIED;
}

static void make_unreadable_link(struct fault_process *process)
{
    process->link_r = PROCFS_DENIED;
}

static void make_without_status(struct fault_process *process)
{
    process->status_r = -EIO;
}

/* More files than are looked at: the pagemap may be behind them. */
static void make_rich_in_files(struct fault_process *process)
{
    process->n_links = 65536;
}

static void make_refusing(struct fault_process *process)
{
    process->open_r = PROCFS_DENIED;
}

static void make_broken(struct fault_process *process)
{
    process->open_r = -EROFS;
}

static void make_huge(struct fault_process *process)
{
    process->rss_pages = 262144; /* 1 GiB: 27 ms */
}

/* The round was told another size than the process has by now. */
static void make_grown(struct fault_process *process)
{
    process->rss_pages = 200000;
}

static void test_file_that_is_closed_meanwhile_holds_nothing_back(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    process->first_closed = true;
    for (unsigned round = 0; round < 5; round++)
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_true(process->n_cleared > 0);
    world_close(&world);
}

static void test_guards_refuse(void **state)
{
    static const struct {
        void (*make)(struct fault_process *process);
        enum fault_verdict verdict;
    } cases[] = {
        {make_pagemap_user, FAULT_TRACKER},
        {make_vmm, FAULT_KVM},
        {make_traced, FAULT_TRACED},
        {make_unreadable, FAULT_UNREADABLE},
        {make_unreadable_link, FAULT_UNREADABLE},
        {make_without_status, FAULT_UNREADABLE},
        {make_rich_in_files, FAULT_UNREADABLE},
        {make_refusing, FAULT_REFUSED},
        {make_broken, FAULT_REFUSED},
        {make_huge, FAULT_TOO_LARGE},
        {make_grown, FAULT_TOO_LARGE},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct fault_world world;
        struct fault_process *process;
        char text[512], expected[128];

        world_open(&world);
        process = world_add(&world, PID, SMALL_PAGES);
        cases[i].make(process);
        for (unsigned round = 0; round < 5; round++)
            assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
        assert_int_equal(process->n_cleared, 0);
        assert_int_equal(world_scope->n_covered, 0);
        world_describe(&world, text);
        snprintf(expected, sizeof expected, "1 refused: %s (4711)",
                 fault_verdict_text(cases[i].verdict));
        assert_non_null(strstr(text, expected));
        world_close(&world);
    }
}

/* The guard looks again before each clear, and again a minute after it refused. */
static void test_tracker_that_begins_and_ends(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
        process->cpu_ticks += 100;
    }
    assert_int_equal(process->n_cleared, 3);
    make_pagemap_user(process);
    for (unsigned i = 0; i < 70; i++)
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(process->n_cleared, 3);
    process->link = NULL;
    for (unsigned i = 0; i < 60; i++)
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_true(process->n_cleared > 3);
    world_close(&world);
}

/* A machine that clears ten times slower than the prior says refuses what the prior allowed. */
static void test_measured_cost_refuses(void **state)
{
    struct fault_world world;
    struct fault_process *process;
    char text[512];

    (void)state;
    world_open(&world);
    world.page_nsec = 1000;
    process = world_add(&world, PID, 65536); /* 6.8 ms by the prior, 66 ms in truth */
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
        process->cpu_ticks += 10000;
    }
    assert_int_equal(process->n_cleared, 1);
    world_describe(&world, text);
    assert_non_null(strstr(text, fault_verdict_text(FAULT_TOO_LARGE)));
    world_close(&world);
}

/* One bad measurement does not refuse for ever. */
static void test_too_large_is_tried_again_at_last(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    world.page_nsec = 1000;
    process = world_add(&world, PID, 65536);
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    world.page_nsec = 100;
    for (unsigned i = 0; i < 60; i++) {
        assert_int_equal(world_round(&world, 60 * NSEC_PER_SEC), 0);
        process->cpu_ticks += 6000;
    }
    assert_true(process->n_cleared > 10);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_writes_become_accesses),
        cmocka_unit_test(test_without_a_rule_nothing_happens),
        cmocka_unit_test(test_clears_follow_each_other),
        cmocka_unit_test(test_idle_process_is_left_alone_ever_longer),
        cmocka_unit_test(test_file_that_is_closed_meanwhile_holds_nothing_back),
        cmocka_unit_test(faults_behind_the_window_count_too),
        cmocka_unit_test(test_guards_refuse),
        cmocka_unit_test(test_tracker_that_begins_and_ends),
        cmocka_unit_test(test_measured_cost_refuses),
        cmocka_unit_test(test_too_large_is_tried_again_at_last),
    };

    return cmocka_run_group_tests_name("write_fault", tests, NULL, NULL);
}
