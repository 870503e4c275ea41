/*
 * Scans over a model of the processes of a machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "discover_world.h"
#include "util/array.h"
#include "util/cleanup.h"

/* A scan at `now`, or as soon after it as the pause of the one before allows. */
static void scan_at(struct discover_world *world, uint64_t now)
{
    unsigned n_lists = world->fake.n_lists;

    for (world->now = now; world->fake.n_lists == n_lists; world->now += NSEC_PER_MSEC)
        assert_int_equal(discover_round(world->discover, world->config, world->now), 0);
}

static void add_rule(struct rule_list *list, enum rule_field field, const char *pattern)
{
    assert_int_equal(ARRAY_RESERVE(list->rules, list->cap, list->n_rules + 1), 0);
    list->rules[list->n_rules++] = (struct rule){.field = field, .pattern = strdup(pattern)};
}

static void each_process_has_its_reason(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {
        {.pid = 1, .rss_bytes = 900 * MIB},
        {.pid = 2, .kernel_thread = true},
        {.pid = DISCOVER_WORLD_SELF, .rss_bytes = 900 * MIB},
        {.pid = 60, .rss_bytes = 32 * MIB},
        {.pid = 61, .rss_bytes = 32 * MIB - 1},
        {.pid = 62, .rss_bytes = 64 * MIB, .comm = "redis"},
        {.pid = 63, .rss_bytes = 64 * MIB, .mems = "1"},
        {.pid = 64, .rss_bytes = 64 * MIB, .mems = "1-2"},
        {.pid = 65, .rss_bytes = 64 * MIB, .mems = "0-1,3,900"},
        {.pid = 66, .rss_bytes = 64 * MIB, .mems = "what"},
        {.pid = 67, .rss_bytes = 1, .comm = "redis"},
        {.pid = 68, .rss_bytes = 64 * MIB, .comm = "redis", .mems = "0"},
    };
    static const enum reason expected[] = {
        REASON_INIT,      REASON_KERNEL_THREAD, REASON_SELF,        REASON_NONE,
        REASON_TOO_SMALL, REASON_EXCLUDED,      REASON_SINGLE_NODE, REASON_SINGLE_NODE,
        REASON_NONE,      REASON_NONE,          REASON_TOO_SMALL,   REASON_EXCLUDED,
    };

    add_rule(&world->config->exclude, RULE_COMM, "redis");
    discover_world_set(world, items, ARRAY_LENGTH(items));
    discover_world_scan(world);
    for (size_t i = 0; i < ARRAY_LENGTH(items); i++)
        if (discover_world_reason(world, items[i].pid) != expected[i])
            fail_msg("pid %d: %s", items[i].pid,
                     reason_name(discover_world_reason(world, items[i].pid)));
    assert_int_equal(discover_world_count(world, REASON_NONE), 3);
    assert_int_equal(discover_world_count(world, REASON_TOO_SMALL), 2);
    assert_int_equal(discover_world_count(world, REASON_EXCLUDED), 2);
    assert_int_equal(discover_world_count(world, REASON_SINGLE_NODE), 2);
    assert_int_equal(discover_world_count(world, REASON_INIT), 1);
    assert_int_equal(HASH_COUNT(discover_targets(world->discover)), ARRAY_LENGTH(items));
}

static void detail_is_read_of_large_processes_only(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {
        {.pid = 1, .rss_bytes = 64 * MIB},
        {.pid = 2, .kernel_thread = true, .rss_bytes = 64 * MIB},
        {.pid = 60, .rss_bytes = 64 * MIB},
        {.pid = 61, .rss_bytes = MIB},
    };

    discover_world_set(world, items, ARRAY_LENGTH(items));
    discover_world_scan(world);
    assert_int_equal(world->fake.n_details, 1);
    assert_int_equal(world->fake.n_refs, 1);
    assert_int_equal(discover_find(world->discover, 60)->ref.pid, 60);
    assert_int_equal(discover_find(world->discover, 61)->ref.pid, 0);
    assert_int_equal(discover_find(world->discover, 61)->ref.fd, -1);
}

static void empty_processes_are_too_small_even_without_a_limit(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {{.pid = 60, .comm = "zombie"}, {.pid = 61, .rss_bytes = 4096}};

    world->config->min_rss_bytes = 0;
    discover_world_set(world, items, 2);
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 60), REASON_TOO_SMALL);
    assert_int_equal(discover_world_reason(world, 61), REASON_NONE);
}

static void size_has_hysteresis(void **state)
{
    static const struct {
        uint64_t rss_mib;
        enum reason reason;
    } steps[] = {{31, REASON_TOO_SMALL}, {32, REASON_NONE},      {24, REASON_NONE},
                 {23, REASON_TOO_SMALL}, {31, REASON_TOO_SMALL}, {32, REASON_NONE}};
    struct discover_world *world = *state;
    struct fake_process item = {.pid = 60};

    discover_world_set(world, &item, 1);
    for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
        item.rss_bytes = steps[i].rss_mib * MIB;
        discover_world_scan(world);
        assert_int_equal(discover_world_reason(world, 60), steps[i].reason);
        assert_int_equal(discover_find(world->discover, 60)->ref.pid,
                         steps[i].reason == REASON_NONE ? 60 : 0);
    }
}

static void reused_pid_is_a_new_target(void **state)
{
    struct discover_world *world = *state;
    struct fake_process item = {
        .pid = 60, .start_ticks = 100, .rss_bytes = 64 * MIB, .exe = "/bin/a", .mems = "0"};

    discover_world_set(world, &item, 1);
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 60), REASON_SINGLE_NODE);
    item.start_ticks = 200;
    item.exe = "/bin/b";
    item.mems = NULL;
    item.rss_bytes = 30 * MIB; /* the hysteresis of the first does not count for the second */
    world->now += NSEC_PER_SEC;
    discover_reset(world->discover);
    assert_int_equal(discover_round(world->discover, world->config, world->now), 0);
    assert_int_equal(discover_world_reason(world, 60), REASON_TOO_SMALL);
    assert_null(discover_find(world->discover, 60)->process.exe);
    item.rss_bytes = 64 * MIB;
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 60), REASON_NONE);
    assert_string_equal(discover_find(world->discover, 60)->process.exe, "/bin/b");
    assert_int_equal(discover_find(world->discover, 60)->ref.start_ticks, 200);
}

static void same_process_keeps_its_target(void **state)
{
    struct discover_world *world = *state;
    struct fake_process item = {.pid = 60, .start_ticks = 100, .rss_bytes = 64 * MIB};
    const struct target *target;

    discover_world_set(world, &item, 1);
    discover_world_scan(world);
    target = discover_find(world->discover, 60);
    item.rss_bytes = 65 * MIB;
    discover_world_scan(world);
    assert_ptr_equal(discover_find(world->discover, 60), target);
    assert_int_equal(target->process.rss_bytes, 65 * MIB);
    assert_int_equal(world->fake.n_refs, 1);
}

static void new_name_is_judged_at_once(void **state)
{
    struct discover_world *world = *state;
    struct fake_process item = {.pid = 60, .rss_bytes = 64 * MIB, .comm = "a", .exe = "/bin/a"};

    add_rule(&world->config->exclude, RULE_COMM, "b");
    add_rule(&world->config->exclude, RULE_EXE, "/bin/c");
    discover_world_set(world, &item, 1);
    scan_at(world, world->now + NSEC_PER_SEC);
    assert_int_equal(discover_world_reason(world, 60), REASON_NONE);
    item.comm = "b";
    scan_at(world, world->now + NSEC_PER_SEC);
    assert_int_equal(discover_world_reason(world, 60), REASON_EXCLUDED);
    assert_int_equal(discover_find(world->discover, 60)->ref.pid, 0);
    item.comm = "c"; /* it executed another program */
    item.exe = "/bin/c";
    scan_at(world, world->now + NSEC_PER_SEC);
    assert_int_equal(discover_world_reason(world, 60), REASON_EXCLUDED);
    item.exe = "/bin/d";
    item.comm = "d";
    scan_at(world, world->now + NSEC_PER_SEC);
    assert_int_equal(discover_world_reason(world, 60), REASON_NONE);
}

static void rules_see_the_exact_name_at_each_scan(void **state)
{
    struct discover_world *world = *state;
    struct fake_process item = {
        .pid = 60, .rss_bytes = 64 * MIB, .comm = "h??st", .exact_comm = "h\xc3\xb6st"};

    add_rule(&world->config->exclude, RULE_COMM, "h\xc3\xb6st");
    discover_world_set(world, &item, 1);
    for (int i = 0; i < 3; i++) {
        scan_at(world, world->now + NSEC_PER_SEC);
        assert_int_equal(discover_world_reason(world, 60), REASON_EXCLUDED);
        assert_string_equal(discover_find(world->discover, 60)->process.comm, "h\xc3\xb6st");
    }
}

static void detail_is_read_again_after_a_minute(void **state)
{
    struct discover_world *world = *state;
    struct fake_process item = {.pid = 60, .rss_bytes = 64 * MIB, .exe = "/bin/a"};

    discover_world_set(world, &item, 1);
    scan_at(world, HOUR);
    assert_int_equal(world->fake.n_details, 1);
    item.exe = "/bin/b";
    item.mems = "0";
    scan_at(world, HOUR + 30 * NSEC_PER_SEC);
    assert_int_equal(world->fake.n_details, 1);
    scan_at(world, HOUR + 61 * NSEC_PER_SEC);
    assert_int_equal(world->fake.n_details, 2);
    assert_string_equal(discover_find(world->discover, 60)->process.exe, "/bin/b");
    assert_int_equal(discover_world_reason(world, 60), REASON_SINGLE_NODE);
}

static void scans_keep_the_interval(void **state)
{
    struct discover_world *world = *state;

    world->config->interval_nsec = 10 * NSEC_PER_SEC;
    discover_world_scan(world);
    assert_int_equal(world->fake.n_lists, 1);
    world->now += 10 * NSEC_PER_SEC - 1;
    assert_int_equal(discover_round(world->discover, world->config, world->now), 0);
    assert_int_equal(world->fake.n_lists, 1);
    discover_world_scan(world);
    assert_int_equal(world->fake.n_lists, 2);
}

static void reload_judges_anew_at_the_next_round(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {{.pid = 60, .rss_bytes = 64 * MIB, .comm = "a"},
                                   {.pid = 61, .rss_bytes = 64 * MIB, .comm = "b"},
                                   {.pid = 62, .rss_bytes = 1000 * MIB, .comm = "a"}};
    const struct target *target;

    discover_world_set(world, items, 3);
    discover_world_scan(world);
    target = discover_find(world->discover, 62);
    assert_int_equal(discover_world_count(world, REASON_NONE), 3);
    add_rule(&world->config->include, RULE_COMM, "a");
    world->config->min_rss_bytes = 80 * MIB; /* 3/4 of it is less than pid 60 has */
    discover_reset(world->discover);
    assert_int_equal(discover_round(world->discover, world->config, world->now + 1), 0);
    assert_int_equal(world->fake.n_lists, 2);
    assert_int_equal(discover_world_reason(world, 60), REASON_TOO_SMALL);
    assert_int_equal(discover_world_reason(world, 61), REASON_TOO_SMALL);
    assert_int_equal(discover_world_reason(world, 62), REASON_NONE);
    assert_ptr_equal(discover_find(world->discover, 62), target);
    items[1].rss_bytes = 90 * MIB;
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 61), REASON_NOT_INCLUDED);
}

static void process_that_ends_during_a_scan_is_no_error(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {{.pid = 60, .rss_bytes = 64 * MIB},
                                   {.pid = 61, .rss_bytes = 64 * MIB, .gone = true},
                                   {.pid = 62, .rss_bytes = 64 * MIB}};

    discover_world_set(world, items, 3);
    discover_world_scan(world);
    assert_null(discover_find(world->discover, 61));
    assert_int_equal(discover_world_count(world, REASON_NONE), 2);
    items[2].gone = true;
    discover_reset(world->discover);
    discover_world_scan(world);
    assert_null(discover_find(world->discover, 62));
    assert_int_equal(discover_world_count(world, REASON_NONE), 1);
}

static void process_that_is_not_listed_is_dropped(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {{.pid = 60, .rss_bytes = 64 * MIB}, {.pid = 61}};

    discover_world_set(world, items, 2);
    discover_world_scan(world);
    world->fake.n_items = 1;
    discover_world_scan(world);
    assert_non_null(discover_find(world->discover, 60));
    assert_null(discover_find(world->discover, 61));
    assert_int_equal(discover_world_count(world, REASON_TOO_SMALL), 0);
}

static void failing_list_leaves_the_targets(void **state)
{
    struct discover_world *world = *state;
    struct fake_process item = {.pid = 60, .rss_bytes = 64 * MIB};

    discover_world_set(world, &item, 1);
    discover_world_scan(world);
    world->fake.list_error = -EIO;
    world->now += HOUR;
    assert_int_equal(discover_round(world->discover, world->config, world->now), -EIO);
    assert_int_equal(discover_world_reason(world, 60), REASON_NONE);
    assert_int_equal(discover_world_count(world, REASON_NONE), 1);
    assert_int_equal(discover_round(world->discover, world->config, world->now + 1), 0);
    world->fake.list_error = 0;
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 60), REASON_NONE);
}

static void failing_detail_leaves_the_targets(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {{.pid = 60, .rss_bytes = 64 * MIB, .comm = "redis"},
                                   {.pid = 61, .rss_bytes = 64 * MIB}};

    add_rule(&world->config->exclude, RULE_COMM, "redis");
    discover_world_set(world, items, 2);
    discover_world_scan(world);
    world->fake.detail_error = -ENOMEM;
    discover_reset(world->discover);
    assert_int_equal(discover_round(world->discover, world->config, world->now), -ENOMEM);
    assert_int_equal(discover_world_reason(world, 60), REASON_EXCLUDED);
    assert_int_equal(discover_world_reason(world, 61), REASON_NONE);
}

static void refused_pidfd_costs_one_process(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {{.pid = 60, .rss_bytes = 64 * MIB, .no_pidfd = true},
                                   {.pid = 61, .rss_bytes = 64 * MIB}};

    discover_world_set(world, items, 2);
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 60), REASON_NO_PERMISSION);
    assert_int_equal(discover_world_reason(world, 61), REASON_NONE);
    items[0].no_pidfd = false;
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 60), REASON_NONE);
}

static void machine_of_one_node_has_no_targets(void **state)
{
    struct discover_world *world = *state;
    struct fake_process item = {.pid = 60, .rss_bytes = 64 * MIB};

    world->nodes[1].has_memory = false;
    world->topology.n_memory_nodes = 1;
    discover_world_set(world, &item, 1);
    discover_world_scan(world);
    assert_int_equal(discover_world_reason(world, 60), REASON_SINGLE_NODE);
    assert_int_equal(world->fake.n_refs, 0);
}

static void ten_thousand_processes_come_and_go(void **state)
{
    enum {
        N = 10000
    };
    struct discover_world *world = *state;
    CLEANUP(freep) struct fake_process *items = calloc(N, sizeof(*items));

    for (int i = 0; i < N; i++)
        items[i] = (struct fake_process){
            .pid = 100 + i, .start_ticks = 1, .rss_bytes = i % 10 ? MIB : 64 * MIB};
    discover_world_set(world, items, N);
    discover_world_scan(world);
    assert_int_equal(discover_world_count(world, REASON_NONE), N / 10);
    assert_int_equal(discover_world_count(world, REASON_TOO_SMALL), N - N / 10);
    for (int i = 0; i < N; i++) /* every second one is another process now */
        items[i].start_ticks += i % 2;
    world->fake.n_items = N / 2;
    discover_world_scan(world);
    assert_int_equal(HASH_COUNT(discover_targets(world->discover)), N / 2);
    assert_int_equal(discover_world_count(world, REASON_NONE), N / 20);
}

/* Shared memory is taken from small mappers too, which the rules may have excluded. */
static void small_process_is_judged_when_looked_at_closer(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {
        {.pid = 60, .rss_bytes = 1, .comm = "redis"},
        {.pid = 61, .rss_bytes = 1, .mems = "1"},
        {.pid = 62, .rss_bytes = 1},
        {.pid = 63, .rss_bytes = 1, .comm = "redis"}, /* not looked at */
    };

    add_rule(&world->config->exclude, RULE_COMM, "redis");
    discover_world_set(world, items, ARRAY_LENGTH(items));
    discover_world_scan(world);
    for (pid_t pid = 60; pid <= 62; pid++) {
        assert_int_equal(discover_world_reason(world, pid), REASON_TOO_SMALL);
        discover_look_closer(world->discover, pid);
        assert_false(target_is_only_small(discover_find(world->discover, pid)));
    }
    assert_int_equal(world->fake.n_details, 0);
    discover_world_scan(world);
    assert_int_equal(world->fake.n_details, 3);
    assert_int_equal(discover_world_reason(world, 60), REASON_EXCLUDED);
    assert_int_equal(discover_world_reason(world, 61), REASON_SINGLE_NODE);
    assert_int_equal(discover_world_reason(world, 62), REASON_TOO_SMALL);
    assert_true(target_is_only_small(discover_find(world->discover, 62)));
    assert_false(target_is_only_small(discover_find(world->discover, 63)));
}

int main(void)
{
#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, discover_world_setup, discover_world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(each_process_has_its_reason),
        TEST(small_process_is_judged_when_looked_at_closer),
        TEST(detail_is_read_of_large_processes_only),
        TEST(empty_processes_are_too_small_even_without_a_limit),
        TEST(size_has_hysteresis),
        TEST(reused_pid_is_a_new_target),
        TEST(same_process_keeps_its_target),
        TEST(new_name_is_judged_at_once),
        TEST(rules_see_the_exact_name_at_each_scan),
        TEST(detail_is_read_again_after_a_minute),
        TEST(scans_keep_the_interval),
        TEST(reload_judges_anew_at_the_next_round),
        TEST(process_that_ends_during_a_scan_is_no_error),
        TEST(process_that_is_not_listed_is_dropped),
        TEST(failing_list_leaves_the_targets),
        TEST(failing_detail_leaves_the_targets),
        TEST(refused_pidfd_costs_one_process),
        TEST(machine_of_one_node_has_no_targets),
        TEST(ten_thousand_processes_come_and_go),
    };

    return cmocka_run_group_tests_name("discover", tests, NULL, NULL);
}
