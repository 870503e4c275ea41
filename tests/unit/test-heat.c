/*
 * Touches by nobody known: they never decide where memory goes, only which of it goes along.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute/heat.h"
#include "attribute/ranges.h"
#include "attribute/tally.h"
#include "attribute_rig.h"

#define ANON "1000000-3000000 rw-p 0 0:0 0 \n3000000-4000000 r--p 0 8:1 7 /usr/lib/x\n"
#define DEFAULT "1000000 default anon=8192 N0=8192\n3000000 default file=/usr/lib/x\n"
#define BASE (16 * M)
#define LIMIT 64

static void touch(struct attribute_rig *rig, uint64_t addr)
{
    const struct access access = {.when_nsec = rig->now,
                                  .pid = SPACE_PID,
                                  .cpu = -1,
                                  .addr = addr,
                                  .kind = ACCESS_TOUCH,
                                  .source = ACCESS_SOURCE_IDLE_PAGE};

    assert_int_equal(attribute_push(rig->attribute, &rig->target, &access, 1), 0);
}

/* The maps are known and every group around BASE has passed at least once, for node 0. */
static void init_claimed(struct attribute_rig *rig)
{
    attribute_rig_init(rig, ANON, DEFAULT);
    rig->target.process.rss_bytes = 64 * M;
    attribute_rig_push(rig, 0, BASE, 1);
    attribute_rig_dispatch(rig);
    attribute_rig_push(rig, 0, BASE, 60);
    attribute_rig_round(rig, 1);
}

static void test_lists_what_claims_are_about(void **state)
{
    struct sample_range ranges[LIMIT];
    struct attribute_rig rig;
    size_t n;

    (void)state;
    init_claimed(&rig);
    n = attribute_list_unsampled(rig.attribute, rig.now, ranges, LIMIT);
    assert_int_equal(n, 15); /* 32 MiB in pieces of 2 MiB, but for the one with samples */
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ranges[i].pid, SPACE_PID);
        assert_int_equal(ranges[i].start, BASE + (i + 1) * 2 * M);
        assert_int_equal(ranges[i].end - ranges[i].start, 2 * M);
    }
    attribute_rig_deinit(&rig);
}

static void test_goes_on_where_it_stopped(void **state)
{
    struct sample_range first[10], second[10];
    struct attribute_rig rig;

    (void)state;
    init_claimed(&rig);
    assert_int_equal(attribute_list_unsampled(rig.attribute, rig.now, first, 10), 10);
    assert_int_equal(attribute_list_unsampled(rig.attribute, rig.now, second, 10), 5);
    assert_int_equal(second[0].start, first[9].end);
    assert_int_equal(attribute_list_unsampled(rig.attribute, rig.now, second, 10), 10);
    assert_int_equal(second[0].start, first[0].start);
    attribute_rig_deinit(&rig);
}

/* Another process with the same memory, claimed as well. */
static void claim_other(struct attribute_rig *rig, pid_t pid)
{
    struct target target = rig->target;
    char path[64];

    target.pid = target.process.pid = pid;
    snprintf(path, sizeof path, "proc/%d/maps", (int)pid);
    fake_host_set_file(&rig->fake, path, ANON);
    snprintf(path, sizeof path, "proc/%d/numa_maps", (int)pid);
    fake_host_set_file(&rig->fake, path, DEFAULT);
    snprintf(path, sizeof path, "proc/%d/task/%d/numa_maps", (int)pid, (int)pid);
    fake_host_set_file(&rig->fake, path, "1000000 default\n");
    for (unsigned i = 0; i < 61; i++) {
        const struct access access = {
            .when_nsec = ++rig->now, .pid = pid, .tid = pid, .addr = BASE, .weight_sec = 0.004};

        assert_int_equal(attribute_push(rig->attribute, &target, &access, 1), 0);
        attribute_rig_dispatch(rig);
    }
    attribute_rig_round(rig, 1);
}

/* Named after the bug: the first process filled the list in each round, the others never came. */
static void test_large_space_leaves_others_their_turn(void **state)
{
    struct sample_range first[10], second[10];
    struct attribute_rig rig;

    (void)state;
    init_claimed(&rig);
    claim_other(&rig, SPACE_PID + 1);
    assert_int_equal(attribute_list_unsampled(rig.attribute, rig.now, first, 10), 10);
    assert_int_equal(attribute_list_unsampled(rig.attribute, rig.now, second, 10), 10);
    assert_int_equal(first[0].pid, SPACE_PID);
    assert_int_equal(second[0].pid, SPACE_PID + 1);
    assert_int_equal(second[9].pid, SPACE_PID + 1);
    assert_int_equal(attribute_list_unsampled(rig.attribute, rig.now, first, 10), 10);
    assert_int_equal(first[0].pid, SPACE_PID); /* 5 that were left, then 5 of the other */
    assert_int_equal(first[9].pid, SPACE_PID + 1);
    attribute_rig_deinit(&rig);
}

static void test_lists_nothing_without_a_claim(void **state)
{
    struct sample_range ranges[LIMIT];
    struct attribute_rig rig;

    (void)state;
    attribute_rig_init(&rig, ANON, DEFAULT);
    attribute_rig_push(&rig, 0, BASE, 1);
    attribute_rig_dispatch(&rig);
    attribute_rig_push(&rig, 0, BASE, 2);
    attribute_rig_round(&rig, 1);
    assert_int_equal(attribute_list_unsampled(rig.attribute, rig.now, ranges, LIMIT), 0);
    attribute_rig_deinit(&rig);
}

static void test_lists_nothing_of_a_sleeper(void **state)
{
    struct sample_range ranges[LIMIT];
    struct attribute_rig rig;

    (void)state;
    init_claimed(&rig);
    assert_int_equal(attribute_list_unsampled(rig.attribute, rig.now + 60 * SEC, ranges, LIMIT), 0);
    attribute_rig_deinit(&rig);
}

/* 8 GiB: gaps are filled from the start on, 2 GiB a round; what is touched does not wait. */
static void test_touched_piece_goes_along_first(void **state)
{
    const uint64_t far = BASE + 7 * 1024 * M;
    struct attribute_rig rig;
    struct space *space;
    struct range *range;

    (void)state;
    attribute_rig_init(&rig, "1000000-201000000 rw-p 0 0:0 0 \n", DEFAULT);
    rig.target.process.rss_bytes = 8 * 1024 * M;
    fake_host_place(&rig.fake, BASE, BASE + 8 * 1024 * M, 8);
    attribute_rig_push(&rig, 0, BASE, 1);
    attribute_rig_dispatch(&rig);
    attribute_rig_push(&rig, 0, BASE, 60);
    attribute_rig_round(&rig, 1);
    space = attribute_rig_space(&rig);
    assert_null(space_find_range(space, far));
    touch(&rig, far + M);
    range = attribute_rig_range(&rig, far);
    assert_true(tally_total_n(&range->window) == 0); /* no evidence of its own */
    attribute_rig_push(&rig, 0, BASE, 60);
    attribute_rig_round(&rig, 1); /* the second pass of the whole mapping */
    range = attribute_rig_range(&rig, far);
    assert_int_equal(space_find_evidence(space, range, 0.6)->claim.node, 0);
    assert_null(space_find_range(space, far + 2 * M));
    attribute_rig_deinit(&rig);
}

static void test_touches_alone_make_no_range(void **state)
{
    struct attribute_rig rig;

    (void)state;
    attribute_rig_init(&rig, ANON, DEFAULT);
    attribute_rig_push(&rig, 0, BASE, 1);
    attribute_rig_dispatch(&rig);
    touch(&rig, BASE + 9 * M);
    touch(&rig, BASE + 100 * M); /* outside all mappings */
    touch(&rig, 49 * M);         /* read-only file */
    assert_null(space_find_range(attribute_rig_space(&rig), BASE + 8 * M));
    assert_int_equal(attribute_n_ranges(rig.attribute), 0);
    assert_false(attribute_rig_space(&rig)->maps_wanted); /* a touch may be of a page just freed */
    attribute_rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_what_claims_are_about),
        cmocka_unit_test(test_goes_on_where_it_stopped),
        cmocka_unit_test(test_large_space_leaves_others_their_turn),
        cmocka_unit_test(test_lists_nothing_without_a_claim),
        cmocka_unit_test(test_lists_nothing_of_a_sleeper),
        cmocka_unit_test(test_touched_piece_goes_along_first),
        cmocka_unit_test(test_touches_alone_make_no_range),
    };

    return cmocka_run_group_tests_name("heat", tests, NULL, NULL);
}
