/*
 * A window's faults: thinned when they are many, weighed when it ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "sample/fault/fault_window.h"
#include "util/nsec.h"

#define PID 100
#define BEGIN (10 * NSEC_PER_SEC)
#define END (11 * NSEC_PER_SEC)

struct outcome {
    struct access *accesses;
    size_t n;
    double weight_sec; /* sum */
};

static void add(struct fault_window *window, pid_t tid, uint64_t when, uint64_t addr)
{
    const struct fault fault = {.when_nsec = when, .tid = tid, .cpu = 2, .addr = addr};

    assert_int_equal(fault_window_add(window, &fault), 0);
}

static struct outcome end(struct fault_window *window, double cpu_sec)
{
    struct outcome outcome = {0};

    assert_int_equal(
        fault_window_accesses(window, PID, BEGIN, END, cpu_sec, &outcome.accesses, &outcome.n), 0);
    for (size_t i = 0; i < outcome.n; i++)
        outcome.weight_sec += outcome.accesses[i].weight_sec;
    return outcome;
}

static void assert_near(double value, double expected)
{
    if (value < expected * 0.999999 || value > expected * 1.000001)
        fail_msg("%g, not %g", value, expected);
}

static void test_empty(void **state)
{
    struct fault_window window = {0};
    struct outcome outcome = end(&window, 1);

    (void)state;
    assert_int_equal(outcome.n, 0);
    free(outcome.accesses);
    fault_window_deinit(&window);
}

/* A thread with many faults shares its second among them; one with few is capped. */
static void test_weights(void **state)
{
    struct fault_window window = {0};
    struct outcome outcome;

    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        add(&window, 7, BEGIN + i, 0x1000 * i);
    add(&window, 3, BEGIN, 0xabc000);
    outcome = end(&window, 8);
    assert_int_equal(outcome.n, 1001);
    assert_int_equal(outcome.accesses[0].tid, 3); /* by thread */
    assert_int_equal(outcome.accesses[0].addr, 0xabc000);
    assert_near(outcome.accesses[0].weight_sec, FAULT_WEIGHT_MAX_SEC);
    for (size_t i = 1; i < outcome.n; i++)
        assert_near(outcome.accesses[i].weight_sec, 0.001);
    free(outcome.accesses);
    fault_window_deinit(&window);
}

/* A process that used 0.1 s cannot have spent 2 s writing. */
static void test_weights_are_bounded_by_the_cpu_time(void **state)
{
    struct fault_window window = {0};
    struct outcome outcome;

    (void)state;
    for (uint64_t i = 0; i < 2000; i++)
        add(&window, (pid_t)(i % 2), BEGIN + i, 0x1000 * i);
    outcome = end(&window, 0.1);
    assert_near(outcome.weight_sec, 0.1);
    assert_near(outcome.accesses[0].weight_sec, 0.1 / 2000);
    free(outcome.accesses);
    fault_window_deinit(&window);
}

static void test_times_outside_do_not_count(void **state)
{
    static const uint64_t whens[] = {0, BEGIN - 1, BEGIN, END - 1, END, UINT64_MAX};
    struct fault_window window = {0};
    struct outcome outcome;

    (void)state;
    for (size_t i = 0; i < sizeof whens / sizeof whens[0]; i++)
        add(&window, 1, whens[i], 0x1000 * (i + 1));
    outcome = end(&window, 1);
    assert_int_equal(outcome.n, 2);
    assert_int_equal(outcome.accesses[0].addr, 0x3000);
    assert_int_equal(outcome.accesses[1].addr, 0x4000);
    free(outcome.accesses);
    fault_window_deinit(&window);
}

/* A sweep over 1 GiB is kept as evenly spread pages of all of it, whose weights stay whole. */
static void test_long_sweep_is_thinned_evenly(void **state)
{
    const uint64_t n_pages = 262144, stride = 16;
    struct fault_window window = {0};
    struct outcome outcome;

    (void)state;
    for (uint64_t i = 0; i < n_pages; i++)
        add(&window, 1, BEGIN + i, 0x1000 * i);
    assert_true(window.n_faults <= FAULT_WINDOW_FAULTS_MAX);
    assert_int_equal(window.n_seen, n_pages);
    outcome = end(&window, 4);
    assert_int_equal(outcome.n, n_pages / stride);
    for (size_t i = 0; i < outcome.n; i++)
        assert_int_equal(outcome.accesses[i].addr, 0x1000 * stride * i);
    assert_near(outcome.weight_sec, 1);
    free(outcome.accesses);
    fault_window_deinit(&window);
}

static void test_reset_starts_anew(void **state)
{
    struct fault_window window = {0};
    struct outcome outcome;

    (void)state;
    for (uint64_t i = 0; i < FAULT_WINDOW_FAULTS_MAX + 2; i++)
        add(&window, 1, BEGIN + i, 0x1000 * i);
    fault_window_reset(&window);
    add(&window, 1, BEGIN, 0x1000);
    add(&window, 1, BEGIN, 0x2000);
    outcome = end(&window, 1);
    assert_int_equal(outcome.n, 2);
    free(outcome.accesses);
    fault_window_deinit(&window);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_weights_are_bounded_by_the_cpu_time),
        cmocka_unit_test(test_times_outside_do_not_count),
        cmocka_unit_test(test_long_sweep_is_thinned_evenly),
        cmocka_unit_test(test_reset_starts_anew),
    };

    return cmocka_run_group_tests_name("fault window", tests, NULL, NULL);
}
