/* Cost of distance, the best node, and how long a pattern is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "decide/gain.h"
#include "util/array.h"
#include "util/nsec.h"

#define NODES 5

/* Node 2 has no memory, node 3 no CPUs, node 4 cannot be reached from 0 and 1. */
static uint8_t distances[NODES * NODES] = {
    10, 21, 16, 17,  255, /* 0 */
    21, 10, 12, 28,  255, /* 1 */
    16, 12, 10, 30,  31,  /* 2 */
    17, 28, 30, 10,  31,  /* 3 */
    31, 31, 31, 255, 10,  /* 4 */
};
static struct node nodes[NODES] = {
    {.online = true, .has_cpus = true, .has_memory = true, .total_bytes = 1 << 30},
    {.online = true, .has_cpus = true, .has_memory = true, .total_bytes = 1 << 30},
    {.online = true, .has_cpus = true},
    {.online = true, .has_memory = true, .total_bytes = 1 << 30},
    {.online = true, .has_cpus = true, .has_memory = true, .total_bytes = 1 << 30},
};
static const struct topology topology = {
    .n_node_ids = NODES, .n_memory_nodes = 4, .nodes = nodes, .distances = distances};

/* Access-seconds in a second and pages, by node. */
struct spread {
    double rate[NODES], pages[NODES];
};

struct case_range {
    struct tally_entry rate[NODES], residency[NODES];
    struct range range;
};

static struct range *make_range(struct case_range *made, const struct spread *spread)
{
    struct range *range = &made->range;

    *made = (struct case_range){0};
    range->rate.entries = made->rate;
    range->residency.entries = made->residency;
    range->rate_sec = 4; /* rates are sums over so long */
    range->residency_nsec = 1;
    for (int node = 0; node < NODES; node++) {
        if (spread->rate[node] > 0)
            made->rate[range->rate.n_entries++] = (struct tally_entry){
                .node = node, .n = 100, .sec = range->rate_sec * spread->rate[node]};
        if (spread->pages[node] > 0)
            made->residency[range->residency.n_entries++] =
                (struct tally_entry){.node = node, .n = spread->pages[node]};
    }
    return range;
}

static void assert_near(double got, double expected)
{
    if (fabs(got - expected) > 1e-9)
        fail_msg("%.12g, not %.12g", got, expected);
}

/* The example in decide/gain.h. */
static void worked_example(void **state)
{
    struct case_range made;
    const struct range *range =
        make_range(&made, &(struct spread){.rate = {[0] = 1}, .pages = {[1] = 16}});

    (void)state;
    assert_near(gain_cost_now(&topology, range), 2.1);
    assert_near(gain_cost_on(&topology, range, 0), 1);
    assert_near(gain_cost_now(&topology, range) - gain_cost_on(&topology, range, 0), 1.1);
}

static void cost_is_weighted_by_rate_and_residency(void **state)
{
    struct case_range made;
    const struct range *range = make_range(
        &made, &(struct spread){.rate = {[0] = 0.5, [1] = 0.25}, .pages = {[0] = 12, [1] = 4}});

    (void)state;
    /* on 0: 0.5 x 1.0 + 0.25 x 2.1; on 1: 0.5 x 2.1 + 0.25 x 1.0 */
    assert_near(gain_cost_on(&topology, range, 0), 1.025);
    assert_near(gain_cost_on(&topology, range, 1), 1.3);
    assert_near(gain_cost_now(&topology, range), 0.75 * 1.025 + 0.25 * 1.3);
}

static void best_node_is_the_cheapest_that_may_be_used(void **state)
{
    static const bool only_1[NODES] = {[1] = true}, none[NODES] = {false},
                      only_2[NODES] = {[2] = true}, only_4[NODES] = {[4] = true},
                      all_but_0[NODES] = {false, true, true, true, true};
    static const struct {
        const char *name;
        struct spread spread;
        const bool *allowed;
        int node;
    } cases[] = {
        {"one user", {.rate = {[1] = 1}}, NULL, 1},
        {"the busier of two", {.rate = {[0] = 0.6, [1] = 0.4}}, NULL, 0},
        {"the other one", {.rate = {[0] = 0.4, [1] = 0.6}}, NULL, 1},
        {"two alike: the lowest id", {.rate = {[0] = 0.5, [1] = 0.5}}, NULL, 0},
        {"a memoryless node: the nearest with memory", {.rate = {[2] = 1}}, NULL, 1},
        {"a memoryless node whose nearest is forbidden", {.rate = {[2] = 1}}, only_1, 1},
        {"never a node without CPUs while the own one has memory", {.rate = {[0] = 1}}, NULL, 0},
        {"a forbidden node: the nearest allowed one", {.rate = {[0] = 1}}, all_but_0, 3},
        {"a cpuset of one other node", {.rate = {[0] = 1}}, only_1, 1},
        {"a cpuset without memory", {.rate = {[0] = 1}}, only_2, -1},
        {"an empty cpuset", {.rate = {[0] = 1}}, none, -1},
        {"unreachable, even where nothing else is allowed", {.rate = {[0] = 1}}, only_4, -1},
        {"unreachable from one of its users", {.rate = {[0] = 0.01, [4] = 1}}, NULL, 0},
        {"reachable from itself", {.rate = {[4] = 1}}, NULL, 4},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct case_range made;
        int node = gain_best_node(&topology, make_range(&made, &cases[i].spread), cases[i].allowed);

        if (node != cases[i].node)
            fail_msg("%s: node %d, not %d", cases[i].name, node, cases[i].node);
    }
}

static void equal_distances_gain_nothing(void **state)
{
    static uint8_t flat[NODES * NODES];
    struct topology fake = topology;
    struct case_range made;
    struct range *range = make_range(
        &made, &(struct spread){.rate = {[0] = 0.7, [1] = 0.1}, .pages = {[0] = 3, [1] = 13}});

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(flat); i++)
        flat[i] = 10;
    fake.distances = flat;
    for (int node = 0; node < NODES; node++)
        assert_near(gain_cost_on(&fake, range, node), gain_cost_now(&fake, range));
}

static void horizon_lies_between_its_bounds(void **state)
{
    const double least = DECIDE_HORIZON_MIN_SEC, most = DECIDE_HORIZON_MAX_SEC;
    const struct {
        double held, horizon;
    } cases[] = {{0, least},           {least - 0.5, least}, {least + 0.5, least + 0.5},
                 {most - 1, most - 1}, {most, most},         {86400, most}};
    const uint64_t since = 1000 * NSEC_PER_SEC;
    const struct claim claim = {.node = 0, .since_nsec = since};

    (void)state;
    assert_true(least >= 10 && most <= 600);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_near(gain_horizon(&claim, since + (uint64_t)(cases[i].held * 1e9)),
                    cases[i].horizon);
    assert_near(gain_horizon(&claim, since - 1), least); /* a clock that went back */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(cost_is_weighted_by_rate_and_residency),
        cmocka_unit_test(best_node_is_the_cheapest_that_may_be_used),
        cmocka_unit_test(equal_distances_gain_nothing),
        cmocka_unit_test(horizon_lies_between_its_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
