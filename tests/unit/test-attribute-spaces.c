/* Address spaces that come, go, hang, are idle, or are too large. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "attribute/ranges.h"
#include "attribute/tally.h"
#include "attribute_rig.h"
#include "util/array.h"

#define ANON "1000000-2000000 rw-p 0 0:0 0 \n"
#define DEFAULT "1000000 default anon=4096 N0=4096\n"
#define BASE (16 * M)

static void init_known(struct attribute_rig *rig)
{
    attribute_rig_init(rig, ANON, DEFAULT);
    attribute_rig_push(rig, 0, BASE, 1);
    attribute_rig_dispatch(rig);
    attribute_rig_push(rig, 0, BASE, 20);
    fake_host_clear_log(&rig->fake);
}

static void test_a_stuck_process_is_asked_nothing(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    attribute_set_stuck(rig.attribute, SPACE_PID, true);
    attribute_set_stuck(rig.attribute, SPACE_PID + 1, true); /* unknown: nothing happens */
    for (int i = 0; i < 10; i++) {
        attribute_rig_push(&rig, 0, BASE, 20);
        attribute_rig_push(&rig, 0, 64 * M, 1);
        attribute_rig_round(&rig, 1);
    }
    assert_string_equal(rig.fake.log, "");
    assert_int_equal(worker_pool_pending(rig.pool, 0), 0);
    attribute_set_stuck(rig.attribute, SPACE_PID, false);
    attribute_rig_round(&rig, 1);
    assert_string_equal(rig.fake.log, "maps numa_maps task pages");
    attribute_rig_deinit(&rig);
}

static void test_a_new_process_that_is_stuck_is_asked_once(void **state)
{
    struct attribute_rig rig;

    (void)state;
    attribute_rig_init(&rig, ANON, DEFAULT);
    attribute_rig_push(&rig, 0, BASE, 1);
    attribute_set_stuck(rig.attribute, SPACE_PID, true);
    for (int i = 0; i < 5; i++) {
        rig.now += 2 * SEC;
        attribute_rig_push(&rig, 0, BASE, 1);
    }
    assert_int_equal(worker_pool_pending(rig.pool, 0), 1);
    attribute_rig_deinit(&rig);
}

static void test_one_request_of_a_kind_at_a_time(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    rig.held = true;
    for (int i = 0; i < 30; i++) {
        attribute_rig_push(&rig, 0, BASE, 20);
        attribute_rig_push(&rig, 0, 64 * M, 1);
        attribute_rig_round(&rig, 1);
    }
    assert_int_equal(worker_pool_pending(rig.pool, 0), 3);
    attribute_rig_dispatch(&rig);
    assert_string_equal(rig.fake.log, "maps numa_maps task pages");
    attribute_rig_deinit(&rig);
}

/* Under AddressSanitizer: no answer may touch a space that was dropped. */
static void test_a_space_dropped_while_requests_are_out(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    rig.held = true;
    attribute_rig_round(&rig, 1);
    assert_int_equal(worker_pool_pending(rig.pool, 0), 3);
    attribute_drop(rig.attribute, SPACE_PID);
    attribute_drop(rig.attribute, SPACE_PID); /* twice: nothing happens */
    assert_null(attribute_find(rig.attribute, SPACE_PID));
    assert_null(attribute_spaces(rig.attribute));
    assert_int_equal(attribute_n_ranges(rig.attribute), 0);
    attribute_rig_dispatch(&rig);
    assert_null(attribute_find(rig.attribute, SPACE_PID));
    attribute_rig_deinit(&rig);
}

static void test_no_fd_is_left_behind(void **state)
{
    struct attribute_rig rig;
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC), after;

    (void)state;
    for (int i = 0; i < 20; i++) {
        init_known(&rig);
        attribute_rig_push(&rig, 0, 64 * M, 1);
        rig.held = true;
        attribute_rig_round(&rig, 1 + i % 2);
        if (i % 3 == 0)
            attribute_drop(rig.attribute, SPACE_PID);
        if (i % 3 == 1)
            fake_host_exec(&rig.fake);
        if (i % 4)
            attribute_rig_dispatch(&rig);
        attribute_rig_deinit(&rig);
    }
    after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(after, before + 1);
    fd_close(before);
    fd_close(after);
}

static void test_another_process_with_the_same_pid(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    attribute_rig_round(&rig, 1);
    fake_host_exec(&rig.fake); /* whose old maps file reads as empty */
    attribute_rig_push(&rig, 0, 64 * M, 1);
    rig.held = true;
    attribute_rig_round(&rig, 1); /* asks about the old one */
    rig.target.process.start_ticks++;
    attribute_rig_push(&rig, 0, BASE, 1);
    assert_int_equal(attribute_n_ranges(rig.attribute), 0);
    assert_true(attribute_rig_space(&rig)->start_ticks == SPACE_TICKS + 1);
    assert_int_equal(attribute_rig_space(&rig)->n_accesses, 1);
    worker_pool_dispatch(rig.pool, 1); /* the end of the old one */
    assert_string_equal(rig.fake.log, "maps numa_maps task pages maps");
    assert_true(attribute_rig_space(&rig)->maps_pending); /* is not that of the new one */
    attribute_rig_dispatch(&rig);
    assert_true(attribute_rig_space(&rig)->maps_known);
    assert_false(attribute_rig_space(&rig)->policy_nsec); /* the old one's policies are not its */
    assert_int_equal(attribute_rig_policy(&rig, BASE), REASON_POLICY_UNKNOWN);
    attribute_rig_deinit(&rig);
}

static void test_answers_about_the_program_before_an_exec_are_void(void **state)
{
    struct attribute_rig rig;
    struct space *space;

    (void)state;
    init_known(&rig);
    attribute_rig_round(&rig, 1);
    attribute_rig_push(&rig, 0, 64 * M, 1); /* outside: maps are due too */
    rig.held = true;
    attribute_rig_round(&rig, 5);
    assert_int_equal(worker_pool_pending(rig.pool, 0), 3);
    fake_host_exec(&rig.fake);
    worker_pool_dispatch(rig.pool, 1); /* maps: it has gone */
    space = attribute_rig_space(&rig);
    assert_false(space->policy_pending); /* the new program's may be asked */
    worker_pool_dispatch(rig.pool, 2);
    assert_false(space->totals_known);
    attribute_rig_push(&rig, 0, BASE, 1);
    attribute_rig_dispatch(&rig);
    assert_true(space->maps_known);
    attribute_rig_deinit(&rig);
}

static void test_many_processes(void **state)
{
    enum {
        N = 200
    };
    struct attribute_rig rig;
    struct space *space, *next;
    size_t n = 0;

    (void)state;
    attribute_rig_init(&rig, ANON, DEFAULT);
    for (pid_t pid = 1; pid <= N; pid++) {
        const struct access access = {.when_nsec = rig.now, .pid = pid, .tid = pid, .addr = BASE};

        rig.target.pid = pid;
        assert_int_equal(attribute_push(rig.attribute, &rig.target, &access, 1), 0);
    }
    attribute_rig_dispatch(&rig); /* none but SPACE_PID has maps: all have gone */
    HASH_ITER (hh, attribute_spaces(rig.attribute), space, next) {
        n++;
        if (space->pid % 2)
            attribute_drop(rig.attribute, space->pid);
    }
    assert_int_equal(n, N);
    assert_null(attribute_find(rig.attribute, 1));
    assert_non_null(attribute_find(rig.attribute, 2));
    attribute_rig_deinit(&rig);
}

static void test_idle_processes_are_not_refreshed(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    attribute_rig_round(&rig, 1);
    attribute_rig_round(&rig, 9); /* 10 s after its last sample: the last refresh */
    fake_host_clear_log(&rig.fake);
    for (int i = 0; i < 30; i++)
        attribute_rig_round(&rig, 1);
    assert_string_equal(rig.fake.log, "");
    attribute_rig_push(&rig, 0, BASE, 1); /* it wakes */
    attribute_rig_round(&rig, 1);
    assert_string_equal(rig.fake.log, "maps numa_maps task pages");
    attribute_rig_deinit(&rig);
}

static size_t n_kept(const struct attribute_rig *rig)
{
    return attribute_n_ranges(rig->attribute) + attribute_n_groups(rig->attribute);
}

/* Touches 2 MiB in each `step` of one large mapping until three were not kept. */
static void fill(struct attribute_rig *rig, const char *maps, uint64_t step)
{
    attribute_rig_init(rig, maps, "1000000 default\n");
    rig->target.process.rss_bytes = (uint64_t)256 << 30;
    attribute_rig_push(rig, 0, BASE, 1);
    attribute_rig_dispatch(rig);
    for (uint64_t addr = BASE; attribute_n_capped(rig->attribute) < 3; addr += step) {
        assert_true(addr / step <= RANGES_MAX + 16);
        attribute_rig_push(rig, 0, addr, 1);
    }
    assert_true(n_kept(rig) <= RANGES_MAX);
    assert_true(n_kept(rig) >= FINE_MAX); /* one of the two limits is reached */
}

/* Named after the attack: 42 MiB of memory and 700 GiB of reservations filled the whole table. */
static void test_one_process_does_not_fill_the_table(void **state)
{
    struct attribute_rig rig;

    (void)state;
    attribute_rig_init(&rig, "1000000-4001000000 rw-p 0 0:0 0 \n", "1000000 default\n");
    attribute_rig_push(&rig, 0, BASE, 1);
    attribute_rig_dispatch(&rig);
    for (uint64_t i = 0; i < 1000; i++)
        attribute_rig_push(&rig, 0, BASE + i * 2 * M, 1);
    assert_int_equal(attribute_n_ranges(rig.attribute), 4 * 64 / 2 + 64); /* 64 MiB resident */
    assert_int_equal(attribute_n_capped(rig.attribute), 1000 - (4 * 64 / 2 + 64));
    attribute_rig_deinit(&rig);
}

/* So many VMAs of 4 KiB; to be freed by the caller. */
static char *small_vmas(size_t n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%llx-%llx %s 0 0:0 0 \n", (unsigned long long)(BASE + 4096 * i),
                (unsigned long long)(BASE + 4096 * (i + 1)), i % 2 ? "rw-p" : "r--p");
    fclose(out);
    return text;
}

/* Named after the process with 65,530 VMAs: what it swept over kept the places for minutes. */
static void test_what_was_met_by_chance_gives_way_to_what_is_used(void **state)
{
    struct attribute_rig rig;
    char *maps = small_vmas(1600);
    uint64_t used = BASE + 4096 * 1599, seldom = BASE + 4096;

    (void)state;
    attribute_rig_init(&rig, maps, "1000000 default\n");
    attribute_rig_push(&rig, 0, BASE, 1);
    attribute_rig_dispatch(&rig);
    for (uint64_t i = 0; i < 1599; i++)
        attribute_rig_push(&rig, 0, BASE + 4096 * i, 1);
    assert_int_equal(attribute_n_ranges(rig.attribute), 4 * 64 / 2 + 64 + 1600 / 16);
    assert_true(attribute_n_capped(rig.attribute) > 0);
    for (int i = 0; i < 12; i++) {
        attribute_rig_push(&rig, 0, seldom, 1);
        attribute_rig_push(&rig, 0, used, 7);
        attribute_rig_round(&rig, 1);
    }
    assert_true(tally_n(&attribute_rig_range(&rig, used)->history, 0) > 0);
    assert_non_null(space_find_range(attribute_rig_space(&rig), seldom));
    assert_null(space_find_range(attribute_rig_space(&rig), BASE + 2 * 4096));
    attribute_rig_deinit(&rig);
    free(maps);
}

static void test_ranges_have_a_limit(void **state)
{
    struct attribute_rig rig;

    (void)state;
    fill(&rig, "1000000-4001000000 rw-p 0 0:0 0 \n", 2 * M);
    assert_true(attribute_n_ranges(rig.attribute) * 2 * M >= (uint64_t)63 << 30);
    attribute_rig_push(&rig, 0, BASE + 5, 1); /* known ranges go on learning */
    assert_int_equal(attribute_n_capped(rig.attribute), 3);
    assert_true(tally_n(&attribute_rig_range(&rig, BASE)->window, 0) == 2);
    attribute_rig_set_maps(&rig, ANON);
    attribute_rig_push(&rig, 0, 1, 1);
    attribute_rig_round(&rig, 1); /* all but 8 are unmapped: there is room again */
    assert_int_equal(attribute_n_ranges(rig.attribute), 8);
    assert_int_equal(attribute_n_groups(rig.attribute), 3); /* two of 8 MiB, and the mapping */
    attribute_drop(rig.attribute, SPACE_PID);
    assert_int_equal(n_kept(&rig), 0);
    attribute_rig_deinit(&rig);
}

/* Once only ranges were counted: far apart, each brought four groups along, outside the limit. */
static void test_groups_count_into_the_limit(void **state)
{
    struct attribute_rig rig;

    (void)state;
    fill(&rig, "1000000-a0001000000 rw-p 0 0:0 0 \n", 512 * M);
    assert_true(attribute_n_ranges(rig.attribute) <= RANGES_MAX / GROUP_LEVELS);
    assert_true(attribute_n_groups(rig.attribute) >= 4 * (attribute_n_ranges(rig.attribute) - 1));
    fake_host_exec(&rig.fake);
    attribute_rig_push(&rig, 0, 1, 1);
    attribute_rig_round(&rig, 1);
    assert_int_equal(n_kept(&rig), 0);
    attribute_rig_deinit(&rig);
}

/* What RANGES_MAX says about memory: used from one node, with what malloc adds. */
static void test_a_range_costs_what_its_limit_says(void **state)
{
    const size_t malloc_bytes = 16, tally_bytes = sizeof(struct tally_entry) + malloc_bytes;

    (void)state;
    assert_in_range(sizeof(struct range) + malloc_bytes + 4 * tally_bytes, 430, 460);
}

static void test_residency_and_totals_arrive(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    fake_host_place(&rig.fake, BASE, BASE + 2 * M, 8);
    attribute_rig_round(&rig, 1);
    assert_true(range_resident_share(attribute_rig_range(&rig, BASE), 8) == 1);
    assert_true(attribute_rig_space(&rig)->totals_known);
    assert_true(tally_n(&attribute_rig_space(&rig)->totals, 0) == 4096);
    attribute_rig_push(&rig, 0, BASE, 40);
    attribute_rig_round(&rig, 1);
    assert_int_equal(attribute_rig_space(&rig)->remote_permyriad, 10000);
    attribute_rig_deinit(&rig);
}

static void test_a_refused_query_means_observe(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    rig.fake.call_error = -ESRCH;
    attribute_rig_round(&rig, 1);
    assert_false(attribute_rig_space(&rig)->denied);
    assert_true(attribute_rig_range(&rig, BASE)->residency_nsec == 0);
    rig.fake.call_error = -EPERM;
    attribute_rig_round(&rig, 1);
    assert_true(attribute_rig_space(&rig)->denied);
    assert_true(attribute_rig_range(&rig, BASE)->residency_nsec == 0);
    attribute_rig_deinit(&rig);
}

/* A process that execs, or a new one with its pid, is asked anew; a kernel is not. */
static void test_a_page_table_that_cannot_be_looked_at_is_not_tried_again(void **state)
{
    static const struct {
        long error;
        bool execs;     /* after 10 rounds; else another process has its pid */
        size_t n_tries; /* in twice 10 rounds */
    } cases[] = {{-ENOTTY, false, 1}, {-EACCES, false, 2}, {-ENOTTY, true, 1}, {-EACCES, true, 2}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct attribute_rig rig;

        init_known(&rig);
        fake_host_place(&rig.fake, BASE, BASE + 2 * M, 8);
        rig.fake.scan_error = cases[i].error;
        for (int round = 0; round < 20; round++) {
            if (round == 10 && cases[i].execs)
                fake_host_exec(&rig.fake);
            else if (round == 10)
                rig.target.process.start_ticks++;
            attribute_rig_push(&rig, 0, BASE, 20);
            attribute_rig_dispatch(&rig);
            attribute_rig_round(&rig, 6);
        }
        assert_true(attribute_residency(rig.attribute)->n_asked >= 10 * 16);
        assert_true(range_resident_share(attribute_rig_range(&rig, BASE), 8) == 1);
        assert_int_equal(rig.fake.n_scan_tries, cases[i].n_tries);
        attribute_rig_deinit(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stuck_process_is_asked_nothing),
        cmocka_unit_test(test_a_new_process_that_is_stuck_is_asked_once),
        cmocka_unit_test(test_one_request_of_a_kind_at_a_time),
        cmocka_unit_test(test_a_space_dropped_while_requests_are_out),
        cmocka_unit_test(test_no_fd_is_left_behind),
        cmocka_unit_test(test_another_process_with_the_same_pid),
        cmocka_unit_test(test_answers_about_the_program_before_an_exec_are_void),
        cmocka_unit_test(test_many_processes),
        cmocka_unit_test(test_idle_processes_are_not_refreshed),
        cmocka_unit_test(test_one_process_does_not_fill_the_table),
        cmocka_unit_test(test_what_was_met_by_chance_gives_way_to_what_is_used),
        cmocka_unit_test(test_ranges_have_a_limit),
        cmocka_unit_test(test_groups_count_into_the_limit),
        cmocka_unit_test(test_a_range_costs_what_its_limit_says),
        cmocka_unit_test(test_residency_and_totals_arrive),
        cmocka_unit_test(test_a_refused_query_means_observe),
        cmocka_unit_test(test_a_page_table_that_cannot_be_looked_at_is_not_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
