/*
 * The write_fault source against the model: what it sees, whom it leaves alone, and what it does
 * when the process changes under it.
 */
#include "fault_world.h"

#include "sample/fault_guard.h"
#include "sample/fault_pace.h"
#include "sample/fault_window.h"
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

static void end_process(struct fault_world *world, struct fault_process *process)
{
    (void)world;
    process->gone = true;
}

/* It ends, and another process gets its pid, which must not be cleared in its place. */
static void reuse_pid(struct fault_world *world, struct fault_process *process)
{
    struct fault_process *next = world_add(world, process->pid, SMALL_PAGES);

    process->gone = true;
    next->told_ticks = next->start_ticks = 99999;
}

static void test_gone_between_guard_and_clear(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    world.before_write = end_process;
    assert_int_equal(world_round(&world, 0), 0);
    assert_int_equal(process->n_cleared, 0);
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world_scope->n_covered, 0);
    world_close(&world);
}

static void test_pid_used_again_between_guard_and_clear(void **state)
{
    struct fault_world world;

    (void)state;
    world_open(&world);
    world_add(&world, PID, SMALL_PAGES);
    world.before_write = reuse_pid;
    assert_int_equal(world_round(&world, 0), 0);
    assert_int_equal(world.processes[1].n_cleared, 0);
    world.before_write = NULL;
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0); /* a target of its own now */
    assert_int_equal(world.processes[1].n_cleared, 1);
    world_close(&world);
}

/* The round means a process that has ended; another has its pid. */
static void test_pid_used_again_before_the_guard(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    process->start_ticks = 99999;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(process->n_cleared, 0);
    process->told_ticks = 99999; /* the new one is a target, too: at once */
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(process->n_cleared, 1);
    world_close(&world);
}

/* Nobody knows whose the window's last faults were. */
static void test_pid_used_again_in_the_window(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    assert_int_equal(world_round(&world, 0), 0);
    process->cpu_ticks += 100;
    world_write(&world, process, PID, 1);
    assert_int_equal(world.source.ops->drain(world.source.self), 0);
    process->start_ticks = 99999;
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 0);
    assert_int_equal(process->n_cleared, 1);
    assert_int_equal(world_counts(&world).n_foreign, 1);
    world_close(&world);
}

/* Addresses of before the exec mean nothing in the new program. */
static void test_exec_drops_the_window(void **state)
{
    struct fault_world world;
    struct fault_process *process;
    char text[512];

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    assert_int_equal(world_round(&world, 0), 0);
    process->cpu_ticks += 100;
    world_write(&world, process, PID, 1);
    process->stack_start = 0x7ffd1000;
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 0);
    world_describe(&world, text);
    assert_non_null(strstr(text, "1 windows ended by exec"));
    assert_int_equal(process->n_cleared, 2); /* and it begins anew at once */
    process->cpu_ticks += 100;
    world_write(&world, process, PID, 2);
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 1);
    world_close(&world);
}

static void test_target_that_drops_out_in_its_window(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    assert_int_equal(world_round(&world, 0), 0);
    process->cpu_ticks += 100;
    world_write(&world, process, PID, 1);
    process->is_target = false;
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 0);
    assert_int_equal(world_scope->n_covered, 0);
    process->is_target = true;
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(process->n_cleared, 2);
    world_close(&world);
}

/* The filter is asked at each record and before a window is delivered (a stuck process). */
static void test_unwanted_process(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    assert_int_equal(world_round(&world, 0), 0);
    process->cpu_ticks += 100;
    world_write(&world, process, PID, 1);
    assert_int_equal(world.source.ops->drain(world.source.self), 0);
    world.wanted = false;
    world_write(&world, process, PID, 2);
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 0);
    assert_int_equal(world.source.ops->drain(world.source.self), 0);
    assert_int_equal(world_counts(&world).n_samples, 2);
    assert_int_equal(world_counts(&world).n_foreign, 2);
    world_close(&world);
}

/* Records of before the clear are no first writes, whenever they are read. */
static void test_faults_of_before_the_clear_are_dropped(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    world.now += 5 * NSEC_PER_MSEC;
    world_record(&world, PID, PID, WORLD_MEMORY); /* older than the clear */
    assert_int_equal(world_round(&world, NSEC_PER_MSEC), 0);
    process->cpu_ticks += 100;
    world_record(&world, PID, PID, WORLD_MEMORY + WORLD_PAGE_BYTES);
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 1);
    assert_int_equal(world.accesses[0].addr, WORLD_MEMORY + WORLD_PAGE_BYTES);
    assert_int_equal(world_counts(&world).n_foreign, 1);
    world_close(&world);
}

/* Other processes of the cgroup, exiting tasks, kernel addresses, instruction fetches, odd sizes.
 */
static void test_odd_records(void **state)
{
    struct fault_world world;
    struct fault_process *process;
    struct sample_counts counts;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    assert_int_equal(world_round(&world, 0), 0);
    process->cpu_ticks += 100;
    world_record(&world, PID + 1, PID + 1, WORLD_MEMORY);
    world_record(&world, -1, -1, WORLD_MEMORY);
    world_record(&world, 0, 0, WORLD_MEMORY);
    world_record(&world, PID, PID, WORLD_MEMORY);
    world_scope->records[world_scope->n_records - 1].header.size -= 8;
    world_record(&world, PID, PID, UINT64_C(0xffff888000000000));
    world_record(&world, PID, PID, 0x401000); /* the IP */
    world_record(&world, PID, PID, 0x401000 - 1);
    world_record(&world, PID, PID, 0);
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    counts = world_counts(&world);
    assert_int_equal(counts.n_samples, 8);
    assert_int_equal(counts.n_foreign, 4);
    assert_int_equal(counts.n_unresolved, 3);
    assert_int_equal(counts.n_accesses, 1);
    assert_int_equal(world.accesses[0].addr, 0x401000 - 1);
    world_close(&world);
}

/* A thread that ended in the window has its accesses all the same; the process goes on. */
static void test_thread_that_ends(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    assert_int_equal(world_round(&world, 0), 0);
    process->cpu_ticks += 100;
    world_write(&world, process, PID + 7, 1);
    world_record(&world, -1, -1, WORLD_MEMORY); /* its last fault, on the way out */
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 1);
    assert_int_equal(world.accesses[0].tid, PID + 7);
    world_close(&world);
}

/* All get their turn, though no more than so many are open at once. */
static void test_many_targets_take_turns(void **state)
{
    struct fault_world world;

    (void)state;
    world_open(&world);
    for (int i = 0; i < WORLD_PROCESSES; i++)
        world_add(&world, 100 + i, SMALL_PAGES);
    for (unsigned round = 0; round < 10; round++)
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world_scope->n_covered_max, WRITE_FAULT_WINDOWS_MAX);
    for (int i = 0; i < WORLD_PROCESSES; i++)
        assert_true(world.processes[i].n_cleared >= 1);
    world_close(&world);
}

static void test_scope_that_fails_is_told(void **state)
{
    struct fault_world world;

    (void)state;
    world_open(&world);
    world_add(&world, PID, SMALL_PAGES);
    world_scope->round_r = SOURCE_UNAVAILABLE;
    assert_int_equal(world_round(&world, 0), SOURCE_UNAVAILABLE);
    assert_string_equal(world.reason.text, "no events");
    assert_int_equal(world.processes[0].n_cleared, 0);
    world_close(&world);
}

/* A process that is cleared by somebody whose events are not open loses its bits for nothing. */
static void see_events_open(struct fault_world *world, struct fault_process *process)
{
    (void)world;
    assert_true(world_is_covered(process->pid));
}

static void test_events_are_open_before_the_clear(void **state)
{
    struct fault_world world;

    (void)state;
    world_open(&world);
    world_add(&world, PID, SMALL_PAGES);
    world.before_write = see_events_open;
    assert_int_equal(world_round(&world, 0), 0);
    assert_int_equal(world.processes[0].n_cleared, 1);
    world_close(&world);
}

static void test_source_freed_with_requests_waiting(void **state)
{
    struct fault_world world;
    struct sample_target target = {
        .pid = PID, .start_ticks = 7000 + PID, .rss_bytes = 4096, .allows_faults = true};
    struct sample_round round = {.targets = &target, .n_targets = 1};

    (void)state;
    world_open(&world);
    world_add(&world, PID, SMALL_PAGES);
    round.now = world.now;
    assert_int_equal(world.source.ops->round(world.source.self, &round, &world.reason), 0);
    source_deinit(&world.source);
    assert_int_equal(worker_pool_dispatch(world.pool, 0), 1);
    world_close(&world);
}

static void block(struct fault_world *world, struct fault_process *process)
{
    (void)process;
    sem_post(&world->entered);
    sem_wait(&world->leave);
}

static void count_late(void *userdata, pid_t pid, const char *name)
{
    assert_int_equal(pid, PID);
    assert_string_equal(name, "write_fault");
    ++*(unsigned *)userdata;
}

/* What an abandoned thread still runs does not count as pending. */
static void wait_for_one(struct fault_world *world)
{
    for (unsigned i = 0; worker_pool_dispatch(world->pool, 0) == 0; i++) {
        assert_true(i < 60000); /* a hang, not a deadline */
        usleep(1000);
    }
}

static void wait_for_all(struct fault_world *world)
{
    for (unsigned i = 0; worker_pool_pending(world->pool, 0) > 0; i++) {
        assert_true(i < 60000);
        usleep(1000);
    }
    worker_pool_dispatch(world->pool, 0);
}

/* Whose clear does not end in time is asked once a minute at most, also if it was no target
   meanwhile. */
static void test_slow_clear(void **state)
{
    struct fault_world world;
    struct fault_process *process;
    unsigned n_late = 0;
    char text[512];

    (void)state;
    world_open_with(&world, true);
    sem_init(&world.entered, 0, 0);
    sem_init(&world.leave, 0, 0);
    process = world_add(&world, PID, SMALL_PAGES);
    world.before_write = block;
    assert_int_equal(world_round(&world, 0), 0);
    sem_wait(&world.entered);
    worker_pool_check(world.pool, nsec_now() + 3600 * NSEC_PER_SEC, count_late, &n_late);
    assert_int_equal(n_late, 1);
    process->is_target = false; /* stuck */
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world_scope->n_covered, 0);
    world.before_write = NULL;
    sem_post(&world.leave);
    wait_for_one(&world);
    process->is_target = true;
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(process->n_cleared, 1);
    world_describe(&world, text);
    assert_non_null(strstr(text, fault_verdict_text(FAULT_LATE)));
    assert_int_equal(world_round(&world, 60 * NSEC_PER_SEC), 0);
    wait_for_all(&world);
    assert_int_equal(process->n_cleared, 2);
    world_close(&world);
}

/* What a target asked for before it dropped out and came back is not for its present life. */
static void test_answer_of_an_earlier_life(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open_with(&world, true);
    sem_init(&world.entered, 0, 0);
    sem_init(&world.leave, 0, 0);
    process = world_add(&world, PID, SMALL_PAGES);
    world.before_write = block;
    assert_int_equal(world_round(&world, 0), 0);
    sem_wait(&world.entered);
    process->is_target = false;
    assert_int_equal(world_round(&world, NSEC_PER_MSEC), 0);
    process->is_target = true;
    assert_int_equal(world_round(&world, NSEC_PER_MSEC), 0);
    assert_int_equal(world_scope->n_covered, 0); /* it waits for the answer */
    world.before_write = NULL;
    sem_post(&world.leave);
    wait_for_one(&world);
    assert_int_equal(world_round(&world, NSEC_PER_MSEC), 0);
    wait_for_all(&world);
    assert_int_equal(process->n_cleared, 2);
    world_close(&world);
}

/* What comes back to a source that is gone goes nowhere. */
static void test_source_freed_before_its_request_returns(void **state)
{
    struct fault_world world;

    (void)state;
    world_open_with(&world, true);
    sem_init(&world.entered, 0, 0);
    sem_init(&world.leave, 0, 0);
    world_add(&world, PID, SMALL_PAGES);
    world.before_write = block;
    assert_int_equal(world_round(&world, 0), 0);
    sem_wait(&world.entered);
    source_deinit(&world.source);
    sem_post(&world.leave);
    wait_for_one(&world);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_writes_become_accesses),
        cmocka_unit_test(test_without_a_rule_nothing_happens),
        cmocka_unit_test(test_clears_follow_each_other),
        cmocka_unit_test(test_idle_process_is_left_alone_ever_longer),
        cmocka_unit_test(test_guards_refuse),
        cmocka_unit_test(test_tracker_that_begins_and_ends),
        cmocka_unit_test(test_measured_cost_refuses),
        cmocka_unit_test(test_too_large_is_tried_again_at_last),
        cmocka_unit_test(test_gone_between_guard_and_clear),
        cmocka_unit_test(test_pid_used_again_between_guard_and_clear),
        cmocka_unit_test(test_pid_used_again_before_the_guard),
        cmocka_unit_test(test_pid_used_again_in_the_window),
        cmocka_unit_test(test_exec_drops_the_window),
        cmocka_unit_test(test_target_that_drops_out_in_its_window),
        cmocka_unit_test(test_unwanted_process),
        cmocka_unit_test(test_faults_of_before_the_clear_are_dropped),
        cmocka_unit_test(test_odd_records),
        cmocka_unit_test(test_thread_that_ends),
        cmocka_unit_test(test_many_targets_take_turns),
        cmocka_unit_test(test_scope_that_fails_is_told),
        cmocka_unit_test(test_events_are_open_before_the_clear),
        cmocka_unit_test(test_source_freed_with_requests_waiting),
        cmocka_unit_test(test_slow_clear),
        cmocka_unit_test(test_answer_of_an_earlier_life),
        cmocka_unit_test(test_source_freed_before_its_request_returns),
    };

    return cmocka_run_group_tests_name("write_fault", tests, NULL, NULL);
}
