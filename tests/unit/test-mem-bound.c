/*
 * The memory-bound share, and the weight of a sample.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/mem/mem_bound.h"
#include "sample/mem/mem_weight.h"
#include "util/array.h"
#include "util/nsec.h"

static const struct {
    const char *name;
    struct mem_bound_counts counts;
    double share;
    int r;
} shares[] = {
    {"the header's example", {4000000000, 2000000000, 100, 1000, 750}, 0.5625, 0},
    {"IPC 2: not bound", {1000000, 2000000, 0, 0, 0}, 0, 0},
    {"IPC 4: not below 0", {1000000, 4000000, 0, 0, 0}, 0, 0},
    {"IPC 0.1, no latencies", {10000000, 1000000, 0, 0, 0}, 0.95, 0},
    {"all latency in caches", {10000000, 1000000, 16, 500, 0}, 0, 0},
    {"all latency in memory", {10000000, 1000000, 16, 500, 500}, 0.95, 0},
    {"too few latencies to believe", {10000000, 1000000, 15, 500, 0}, 0.95, 0},
    {"too few cycles", {999999, 1000000, 0, 0, 0}, -1, MEM_BOUND_UNKNOWN},
    {"no instructions", {1000000, 0, 0, 0, 0}, -1, MEM_BOUND_UNKNOWN},
    {"nothing", {0, 0, 0, 0, 0}, -1, MEM_BOUND_UNKNOWN},
};

static void test_shares(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(shares); i++) {
        double share = -1;

        print_message("%s\n", shares[i].name);
        assert_int_equal(mem_bound_share(&shares[i].counts, &share), shares[i].r);
        assert_float_equal(share, shares[i].share, 1e-9);
    }
}

static const struct sample_target target = {.pid = 10, .start_ticks = 5};

/* Each answer is about the time since the last one. */
static int take(struct mem_bound *bound, const struct sample_target *whose, uint64_t cycles,
                uint64_t instructions, double *sharep)
{
    struct cpu_use use = {.memory_bound = *sharep};
    int r = mem_bound_take(bound, whose, cycles, instructions, &use);

    *sharep = use.memory_bound;
    return r;
}

static void cycles_per_instruction_are_those_since_the_last_answer(void **state)
{
    CLEANUP(mem_bound_freep) struct mem_bound *bound = NULL;
    struct cpu_use use = {.cpi = -1};

    (void)state;
    assert_int_equal(mem_bound_new(&bound), 0);
    assert_int_equal(mem_bound_take(bound, &target, 0, 0, &use), MEM_BOUND_UNKNOWN);
    assert_true(use.cpi == -1);
    assert_int_equal(mem_bound_take(bound, &target, 4000000, 2000000, &use), 0);
    assert_true(use.cpi == 2);
    assert_int_equal(mem_bound_take(bound, &target, 5500000, 5000000, &use), 0);
    assert_true(use.cpi == 0.5);
    assert_int_equal(mem_bound_take(bound, &target, 5500001, 5000000, &use), MEM_BOUND_UNKNOWN);
    assert_true(use.cpi == 0.5);
}

static void test_since_last_answer(void **state)
{
    struct mem_bound *bound = NULL;
    double share = -1;

    (void)state;
    assert_int_equal(mem_bound_new(&bound), 0);
    assert_int_equal(take(bound, &target, 500, 500, &share), MEM_BOUND_UNKNOWN);
    assert_int_equal(take(bound, &target, 10000500, 5000500, &share), 0);
    assert_float_equal(share, 0.75, 1e-9);
    assert_int_equal(take(bound, &target, 20000500, 25000500, &share), 0);
    assert_float_equal(share, 0, 1e-9);
    mem_bound_free(bound);
}

/* Too short a time goes on counting. */
static void test_short_times_add_up(void **state)
{
    struct mem_bound *bound = NULL;
    double share = -1;

    (void)state;
    assert_int_equal(mem_bound_new(&bound), 0);
    take(bound, &target, 0, 0, &share);
    assert_int_equal(take(bound, &target, 600000, 300000, &share), MEM_BOUND_UNKNOWN);
    assert_float_equal(share, -1, 0);
    assert_int_equal(take(bound, &target, 1200000, 600000, &share), 0);
    assert_float_equal(share, 0.75, 1e-9);
    mem_bound_free(bound);
}

/* Counters begin anew with the place; another process with the pid has a past of its own. */
static void test_restarts(void **state)
{
    const struct sample_target other = {.pid = 10, .start_ticks = 6};
    struct mem_bound *bound = NULL;
    double share = -1;

    (void)state;
    assert_int_equal(mem_bound_new(&bound), 0);
    take(bound, &target, 50000000, 10000000, &share);
    assert_int_equal(take(bound, &target, 2000000, 1000000, &share), MEM_BOUND_UNKNOWN);
    assert_int_equal(take(bound, &target, 4000000, 2000000, &share), 0);
    assert_float_equal(share, 0.75, 1e-9);
    assert_int_equal(take(bound, &target, 3999999, 4000000, &share), MEM_BOUND_UNKNOWN);
    assert_int_equal(take(bound, &target, 6000000, 3999999, &share), MEM_BOUND_UNKNOWN);
    assert_int_equal(take(bound, &other, 40000000, 20000000, &share), MEM_BOUND_UNKNOWN);
    mem_bound_free(bound);
}

/* What a cache answered lowers the share; a sample of unknown origin does not. */
static void test_latencies(void **state)
{
    struct mem_bound *bound = NULL;
    double share = -1;

    (void)state;
    assert_int_equal(mem_bound_new(&bound), 0);
    take(bound, &target, 0, 0, &share);
    for (unsigned i = 0; i < 10; i++) {
        mem_bound_add(bound, 10, 100, ACCESS_LOCALITY_CACHE);
        mem_bound_add(bound, 10, 300, ACCESS_LOCALITY_REMOTE);
        mem_bound_add(bound, 10, 100, ACCESS_LOCALITY_LOCAL);
        mem_bound_add(bound, 10, 300, ACCESS_LOCALITY_UNKNOWN);
        mem_bound_add(bound, 11, 1e9, ACCESS_LOCALITY_CACHE); /* of another process */
    }
    assert_int_equal(take(bound, &target, 2000000, 1000000, &share), 0);
    assert_float_equal(share, 0.75 * 700 / 800, 1e-9);
    mem_bound_free(bound);
}

static void test_forgets(void **state)
{
    const struct sample_target left[] = {{.pid = 5}, {.pid = 12, .start_ticks = 1}};
    const struct sample_target kept = {.pid = 12, .start_ticks = 1};
    struct mem_bound *bound = NULL;
    double share = -1;

    (void)state;
    assert_int_equal(mem_bound_new(&bound), 0);
    take(bound, &target, 0, 0, &share);
    take(bound, &kept, 0, 0, &share);
    mem_bound_keep(bound, &(struct sample_round){.targets = left, .n_targets = 2});
    assert_int_equal(take(bound, &target, 2000000, 100, &share), MEM_BOUND_UNKNOWN);
    assert_int_equal(take(bound, &kept, 2000000, 100, &share), 0);
    mem_bound_keep(bound, &(struct sample_round){.n_targets = 0});
    assert_int_equal(take(bound, &kept, 4000000, 200, &share), MEM_BOUND_UNKNOWN);
    mem_bound_free(bound);
}

/* 1 ns a cycle, 4 ms nominal. */
static const struct mem_event loads = {.role = MEM_ROLE_LOADS, .cycle_sec = 1e-9, .n_sharing = 2};
static const struct mem_event stores = {.role = MEM_ROLE_STORES, .cycle_sec = 1e-9, .n_sharing = 2};
static const struct mem_event ops = {.role = MEM_ROLE_OPS, .cycle_sec = 1e-9, .n_sharing = 1};

static const struct {
    const char *name;
    const struct mem_event *event;
    uint64_t latency, period;
    double sec;
} weights[] = {
    {"load: latency x period", &loads, 200, 1000, 200e-6},
    {"load, capped at half the nominal gap", &loads, 200, 1000000, 2e-3},
    {"load without latency: a cycle each", &loads, 0, 1000, 1e-6},
    {"store without latency: a cycle each", &stores, 0, 1000000, 1e-3},
    {"store with latency", &stores, 50, 1000, 50e-6},
    {"IBS: its period is cycles", &ops, 300, 1000000, 1e-3},
    {"IBS without latency", &ops, 0, 1000000, 1e-3},
    {"IBS, capped at the nominal gap", &ops, 0, 100000000, 4e-3},
    {"period 0", &loads, 200, 0, 0},
    {"largest numbers", &loads, UINT64_MAX, UINT64_MAX, 2e-3},
};

static void test_weights(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(weights); i++) {
        struct mem_sample sample = {
            .when_nsec = 7, .cpu = 1, .latency = weights[i].latency, .period = weights[i].period};
        struct mem_weights *times = NULL;

        print_message("%s\n", weights[i].name);
        assert_int_equal(mem_weights_new(&times, 2, 4, 4 * NSEC_PER_MSEC), 0);
        assert_float_equal(mem_weights_sec(times, 0, weights[i].event, &sample), weights[i].sec,
                           1e-12);
        mem_weights_free(times);
    }
}

/* The cap is the time since the last sample of that event on that CPU. */
static const struct {
    const char *name;
    size_t event;
    int cpu;
    uint64_t when_msec;
    double sec;
} gaps[] = {
    {"first: nominal", 0, 1, 1000, 4e-3},
    {"1 ms later", 0, 1, 1001, 1e-3},
    {"another CPU: nominal", 0, 2, 1001, 4e-3},
    {"another event: nominal", 1, 1, 1001, 4e-3},
    {"20 ms later", 0, 1, 1021, 20e-3},
    {"older than the last: nominal", 0, 1, 1005, 4e-3},
    {"the older one did not turn time back", 0, 1, 1022, 1e-3},
    {"the same time: nominal", 0, 1, 1022, 4e-3},
    {"an hour later: a second", 0, 1, 3600000, 1},
    {"a CPU that is not known: nominal", 0, 4, 3600000, 4e-3},
    {"CPU -1: nominal", 0, -1, 3600000, 4e-3},
};

static void test_gaps(void **state)
{
    struct mem_weights *times = NULL;

    (void)state;
    assert_int_equal(mem_weights_new(&times, 2, 4, 4 * NSEC_PER_MSEC), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(gaps); i++) {
        const struct mem_sample sample = {.when_nsec = gaps[i].when_msec * NSEC_PER_MSEC,
                                          .cpu = gaps[i].cpu,
                                          .period = UINT64_C(1) << 40};

        print_message("%s\n", gaps[i].name);
        assert_float_equal(mem_weights_sec(times, gaps[i].event, &ops, &sample), gaps[i].sec, 1e-9);
    }
    mem_weights_free(times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_since_last_answer),
        cmocka_unit_test(test_short_times_add_up),
        cmocka_unit_test(test_restarts),
        cmocka_unit_test(test_latencies),
        cmocka_unit_test(test_forgets),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(cycles_per_instruction_are_those_since_the_last_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
