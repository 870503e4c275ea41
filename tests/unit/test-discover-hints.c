/*
 * Between scans: processes that were sampled are looked at, and those that ended are dropped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "discover_world.h"

/* A round in which no scan is due. */
static void round_between_scans(struct discover_world *world)
{
    unsigned n_lists = world->fake.n_lists;

    assert_int_equal(discover_round(world->discover, world->config, world->now), 0);
    assert_int_equal(world->fake.n_lists, n_lists);
}

static void sampled_process_is_found_without_a_scan(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {
        {.pid = 100, .start_ticks = 1, .rss_bytes = 64 * MIB},
        {.pid = 101, .start_ticks = 2, .rss_bytes = 64 * MIB},
        {.pid = 102, .start_ticks = 3, .rss_bytes = MIB},
    };

    discover_world_set(world, items, 1);
    discover_world_scan(world);
    world->fake.n_items = 3;
    discover_hint(world->discover, 101);
    discover_hint(world->discover, 101);
    discover_hint(world->discover, 102);
    discover_hint(world->discover, 103); /* has ended */
    discover_hint(world->discover, 100); /* is a target already */
    round_between_scans(world);
    assert_int_equal(world->fake.n_ones, 3);
    assert_int_equal(discover_world_reason(world, 101), REASON_NONE);
    assert_int_equal(discover_world_reason(world, 102), REASON_TOO_SMALL);
    assert_null(discover_find(world->discover, 103));
    assert_int_equal(discover_world_count(world, REASON_NONE), 2);
    assert_int_equal(discover_world_count(world, REASON_TOO_SMALL), 1);
    round_between_scans(world);
    assert_int_equal(world->fake.n_ones, 3);
}

static void sampled_process_that_grew_becomes_a_target(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {{.pid = 100, .start_ticks = 1, .rss_bytes = MIB}};

    discover_world_set(world, items, 1);
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 100), REASON_TOO_SMALL);
    items[0].rss_bytes = 64 * MIB;
    discover_hint(world->discover, 100);
    round_between_scans(world);
    assert_int_equal(discover_world_reason(world, 100), REASON_NONE);
    assert_int_equal(discover_world_count(world, REASON_TOO_SMALL), 0);
    assert_int_equal(discover_world_count(world, REASON_NONE), 1);
}

/* move_pages said EACCES: the minute until detail is read again is too long. */
static void a_target_whose_cpuset_shrank_is_judged_anew_at_once(void **state)
{
    struct discover_world *world = *state;
    struct fake_process item = {.pid = 60, .rss_bytes = 64 * MIB};

    discover_world_set(world, &item, 1);
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 60), REASON_NONE);
    item.mems = "0";
    discover_hint(world->discover, 60);
    round_between_scans(world);
    assert_int_equal(discover_world_reason(world, 60), REASON_NONE);
    discover_recheck(world->discover, 60);
    discover_recheck(world->discover, 61); /* nobody */
    round_between_scans(world);
    assert_int_equal(discover_world_reason(world, 60), REASON_SINGLE_NODE);
    assert_int_equal(discover_world_count(world, REASON_SINGLE_NODE), 1);
    assert_int_equal(discover_world_count(world, REASON_NONE), 0);
}

static void hints_are_bounded(void **state)
{
    struct discover_world *world = *state;

    discover_world_set(world, NULL, 0);
    discover_world_scan(world);
    for (pid_t pid = 1000; pid < 1000 + 3 * DISCOVER_HINTS_MAX; pid++)
        discover_hint(world->discover, pid);
    round_between_scans(world);
    assert_int_equal(world->fake.n_ones, DISCOVER_HINTS_MAX);
}

/* Named after the bug: a killed process stayed a target until the next scan, 20 s on a slow host.
 */
static void target_that_ended_is_dropped_between_scans(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {{.pid = 100, .start_ticks = 1, .rss_bytes = 64 * MIB}};
    int ends[2];

    discover_world_set(world, items, 1);
    discover_world_scan(world);
    round_between_scans(world);
    assert_int_equal(discover_world_reason(world, 100), REASON_NONE);
    /* A pidfd becomes readable when its process ends, and so does this. */
    assert_int_equal(pipe(ends), 0);
    discover_find(world->discover, 100)->ref.fd = ends[0];
    round_between_scans(world);
    assert_int_equal(discover_world_reason(world, 100), REASON_NONE);
    assert_int_equal(write(ends[1], "", 1), 1);
    round_between_scans(world);
    assert_null(discover_find(world->discover, 100));
    assert_int_equal(discover_world_count(world, REASON_NONE), 0);
    close(ends[1]);
}

int main(void)
{
#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, discover_world_setup, discover_world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(sampled_process_is_found_without_a_scan),
        TEST(sampled_process_that_grew_becomes_a_target),
        TEST(a_target_whose_cpuset_shrank_is_judged_anew_at_once),
        TEST(hints_are_bounded),
        TEST(target_that_ended_is_dropped_between_scans),
    };

    return cmocka_run_group_tests_name("discover-hints", tests, NULL, NULL);
}
