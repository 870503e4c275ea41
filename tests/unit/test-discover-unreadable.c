/*
 * A process that cannot be read costs itself, not the scan.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "discover_world.h"
#include "tree.h"
#include "util/array.h"

#define STAT(pid)                                                                                  \
#pid " (work) S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 3 0 82375 99999744 24414 "             \
         "18446744073709551615 1\n"
#define STATUS "Name:\twork\nUid:\t0\t0\t0\t0\nMems_allowed_list:\t0-1\n"
#define CGROUP "0::/a\n"

static void exclude_redis(struct discover_world *world)
{
    struct rule_list *list = &world->config->exclude;

    assert_int_equal(ARRAY_RESERVE(list->rules, list->cap, list->n_rules + 1), 0);
    list->rules[list->n_rules++] = (struct rule){.field = RULE_COMM, .pattern = strdup("redis")};
}

static void one_unreadable_process_does_not_stop_discovery(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {
        {.pid = 60, .rss_bytes = 64 * MIB},
        {.pid = 61, .rss_bytes = 64 * MIB, .detail_error = -ENAMETOOLONG},
        {.pid = 62, .rss_bytes = 64 * MIB, .mems_error = -EIO},
        {.pid = 63, .rss_bytes = 64 * MIB},
    };

    discover_world_set(world, items, ARRAY_LENGTH(items));
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 60), REASON_NONE);
    assert_int_equal(discover_world_reason(world, 61), REASON_NO_PERMISSION);
    assert_int_equal(discover_world_reason(world, 62), REASON_NO_PERMISSION);
    assert_int_equal(discover_world_reason(world, 63), REASON_NONE);
    assert_int_equal(discover_world_count(world, REASON_NO_PERMISSION), 2);
    assert_int_equal(discover_find(world->discover, 61)->ref.pid, 0);
    items[1].detail_error = 0;
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 61), REASON_NONE);
}

static void excluded_process_that_gets_unreadable_stays_excluded(void **state)
{
    struct discover_world *world = *state;
    struct fake_process item = {.pid = 60, .rss_bytes = 64 * MIB, .comm = "redis"};

    exclude_redis(world);
    discover_world_set(world, &item, 1);
    discover_world_scan(world);
    item.detail_error = -EIO;
    discover_reset(world->discover);
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 60), REASON_EXCLUDED);
}

static void unreadable_process_between_scans_is_left(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {
        {.pid = 60, .rss_bytes = 64 * MIB, .one_error = -EIO},
        {.pid = 61, .rss_bytes = 64 * MIB, .detail_error = -EIO},
        {.pid = 62, .rss_bytes = 64 * MIB},
    };

    discover_world_set(world, items, 0);
    discover_world_scan(world);
    world->fake.n_items = ARRAY_LENGTH(items);
    for (size_t i = 0; i < ARRAY_LENGTH(items); i++)
        discover_hint(world->discover, items[i].pid);
    assert_int_equal(discover_round(world->discover, world->config, world->now), 0);
    assert_null(discover_find(world->discover, 60));
    assert_int_equal(discover_world_reason(world, 61), REASON_NO_PERMISSION);
    assert_int_equal(discover_world_reason(world, 62), REASON_NONE);
}

/* 60: good, 61: its cgroup is a folder, 62: its stat is. */
static void folder_below_root_costs_one_process(void **state)
{
    static const struct tree_file files[] = {
        {"proc/60/stat", STAT(60)}, {"proc/60/status", STATUS}, {"proc/60/cgroup", CGROUP},
        {"proc/61/stat", STAT(61)}, {"proc/61/status", STATUS}, {"proc/61/cgroup", NULL},
        {"proc/62/stat", NULL},
    };
    struct discover_world *world = *state;
    struct procs procs = {0};
    struct tree tree;

    tree_init(&tree);
    tree_add(&tree, files, ARRAY_LENGTH(files));
    assert_int_equal(procs_new_root(&procs, tree.root), 0);
    world->discover = discover_free(world->discover);
    assert_int_equal(discover_new(&world->discover, &procs, &world->topology, DISCOVER_WORLD_SELF),
                     0);
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 60), REASON_NONE);
    assert_int_equal(discover_world_reason(world, 61), REASON_NO_PERMISSION);
    assert_null(discover_find(world->discover, 62));
    discover_hint(world->discover, 62);
    assert_int_equal(discover_round(world->discover, world->config, world->now), 0);
    procs_deinit(&procs);
    tree_deinit(&tree);
}

int main(void)
{
#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, discover_world_setup, discover_world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_unreadable_process_does_not_stop_discovery),
        TEST(excluded_process_that_gets_unreadable_stays_excluded),
        TEST(unreadable_process_between_scans_is_left),
        TEST(folder_below_root_costs_one_process),
    };

    return cmocka_run_group_tests_name("discover-unreadable", tests, NULL, NULL);
}
