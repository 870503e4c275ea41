/*
 * How often: the interval against what clears and faults cost, and the estimates of that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/fault/fault_pace.h"
#include "util/array.h"

/* A fault costs 1 us, a window is a second. One busy CPU may lose 10 ms a second. */
static struct fault_bill bill(double clear_msec, uint64_t n_faults, double cpu_sec)
{
    return (struct fault_bill){
        .clear_sec = clear_msec / 1000,
        .n_faults = n_faults,
        .fault_sec = 1e-6,
        .cpu_sec = cpu_sec,
        .window_sec = 1,
        .budget = 0.01,
    };
}

static void test_interval(void **state)
{
    static const struct {
        unsigned sec;
        double clear_msec;
        uint64_t n_faults;
        double cpu_sec;
        unsigned next_sec;
    } cases[] = {
        {1, 0, 0, 1, 1},         /* free: stays the shortest */
        {1, 5, 4900, 1, 1},      /* 9.9 of 10 ms */
        {1, 5, 5100, 1, 2},      /* 10.1 ms */
        {1, 0, 10100, 1, 2},     /* faults alone */
        {1, 10.1, 0, 1, 2},      /* the clear alone */
        {2, 5, 5100, 1, 2},      /* now allowed 20 ms: between a quarter and all of it */
        {2, 4.9, 0, 1, 1},       /* under a quarter: back */
        {2, 5.1, 0, 1, 2},       /* just not */
        {8, 0, 80100, 1, 16},    /* 80.1 of 80 ms */
        {8, 0, 79900, 1, 8},     /**/
        {60, 0, 1000000, 1, 60}, /* 1 s of 0.6 s: no longer than the longest */
        {40, 0, 1000000, 1, 60}, {60, 0, 100000, 1, 30},
        {1, 5, 5100, 64, 1}, /* 64 busy threads may lose more */
        {1, 5, 0, 0.25, 2},  /* a quarter busy: 2.5 ms */
        {1, 0.1, 0, 0, 2},   /* idle: nothing is cheap enough */
        {1, 0, 0, 0, 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct fault_bill of = bill(cases[i].clear_msec, cases[i].n_faults, cases[i].cpu_sec);
        uint64_t next = fault_pace_interval(cases[i].sec * NSEC_PER_SEC, &of);

        if (next != cases[i].next_sec * NSEC_PER_SEC)
            fail_msg("case %zu: %llu", i, (unsigned long long)(next / NSEC_PER_SEC));
    }
}

/* What the target uses per second counts, however long the window was. */
static void test_long_window(void **state)
{
    struct fault_bill of = bill(0, 15000, 4);

    (void)state;
    of.window_sec = 4;
    assert_int_equal(fault_pace_interval(NSEC_PER_SEC, &of), 2 * NSEC_PER_SEC);
    of.cpu_sec = 8;
    assert_int_equal(fault_pace_interval(NSEC_PER_SEC, &of), NSEC_PER_SEC);
}

/* Constant costs lead to an interval that holds the budget and stays, never to and fro. */
static void test_interval_settles(void **state)
{
    (void)state;
    for (uint64_t n_faults = 1; n_faults < 600000; n_faults = n_faults * 3 / 2 + 1) {
        struct fault_bill of = bill(2, n_faults, 1);
        uint64_t interval = 16 * NSEC_PER_SEC, last = 0;

        for (unsigned i = 0; i < 10; i++) {
            last = interval;
            interval = fault_pace_interval(interval, &of);
        }
        assert_int_equal(interval, last);
        assert_true(fault_bill_cost(&of) <= 0.01 * nsec_to_sec(interval));
    }
}

static void test_learning(void **state)
{
    double slow = FAULT_PAGE_SEC;

    (void)state;
    assert_true(fault_pace_learn(0, 0.010, 100000) == 0.010 / 100000);
    assert_true(fault_pace_learn(1e-7, 0.02, 100000) == 1e-7 + (2e-7 - 1e-7) / 4);
    assert_true(fault_pace_learn(1e-7, 0.02, 0) == 1e-7); /* no pages: nothing learned */
    for (unsigned i = 0; i < 40; i++)
        slow = fault_pace_learn(slow, 1e-6 * 5000, 5000);
    assert_true(slow > 0.99e-6 && slow < 1.01e-6);
    assert_true(fault_pace_learn(1e-7, 3600, 1000) < 100 * FAULT_PAGE_SEC); /* a suspended host */
}

static void test_forgetting_ends_at_the_prior(void **state)
{
    double slow = 100 * FAULT_PAGE_SEC, fast = FAULT_PAGE_SEC / 100;

    (void)state;
    assert_true(fault_pace_forget(slow) < slow);
    for (unsigned i = 0; i < 200; i++) {
        slow = fault_pace_forget(slow);
        fast = fault_pace_forget(fast);
    }
    assert_true(slow < 1.01 * FAULT_PAGE_SEC && slow >= FAULT_PAGE_SEC);
    assert_true(fast > 0.99 * FAULT_PAGE_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_long_window),
        cmocka_unit_test(test_interval_settles),
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_forgetting_ends_at_the_prior),
    };

    return cmocka_run_group_tests_name("fault pace", tests, NULL, NULL);
}
