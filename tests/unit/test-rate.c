/*
 * Two budgets hold the sampling rate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/rate.h"
#include "util/array.h"

#define BUDGET 0.02

static void sampling_budget_bounds_the_rate(void **state)
{
    static const struct {
        unsigned most_hz;
        double budget;
        uint64_t cost_nsec;
        enum pace_level level;
        unsigned hz;
    } cases[] = {
        {250, 0.01, 0, PACE_USUAL, 250},       /* cost not known */
        {250, 0.01, 5000, PACE_USUAL, 250},    /* 2,000 Hz would be allowed */
        {10000, 0.01, 5000, PACE_USUAL, 2000}, /* 1 % in samples of 5 us */
        {250, 0.01, 100000, PACE_USUAL, 100},  /* an emulated CPU */
        {250, 0.0001, 1000000, PACE_USUAL, 4}, /* never blind */
        {250, 0.01, 5000, PACE_STABLE, 25},    /* a tenth */
        {250, 0.01, 5000, PACE_NEW, 1000},     /* four times as often */
        {250, 0.01, 20000, PACE_NEW, 500},     /* but within the budget */
        {20, 0.01, 5000, PACE_STABLE, 4},      /* but never blind */
        {2, 0.01, 5000, PACE_STABLE, 2},       /* nor above what is configured */
    };
    struct rate rate = rate_init(BUDGET);

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_int_equal(
            rate_hz(&rate, cases[i].most_hz, cases[i].budget, cases[i].cost_nsec, cases[i].level),
            cases[i].hz);
}

static void savings_pay_for_a_burst(void **state)
{
    struct rate rate = rate_init(BUDGET);

    (void)state;
    for (int second = 0; second < 13; second++) {
        rate_spend(&rate, BUDGET, 0.1, 1);
        assert_true(rate.scale == 1);
    }
}

/* What a rate costs is proportional to it here. */
static double run(struct rate *rate, double full_cost, int n_seconds)
{
    double used = 0;

    for (int second = 0; second < n_seconds; second++) {
        double cost = full_cost * rate->scale;

        used += cost;
        rate_spend(rate, BUDGET, cost, 1);
    }
    return used;
}

static void budget_holds_over_any_long_window(void **state)
{
    static const double costs[] = {0.021, 0.05, 0.2, 0.8};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(costs); i++) {
        struct rate rate = rate_init(BUDGET);
        double used = run(&rate, costs[i], 600);

        assert_true(used <= BUDGET * (600 + RATE_SAVED_SEC) + costs[i]);
        used = run(&rate, costs[i], 600);
        assert_true(used <= BUDGET * 600 * 1.1);
        assert_true(used >= BUDGET * 600 * 0.8);
    }
}

/*
 * Named after the bug: the scale wavered by some percent from round to round, and each time all
 * events of all CPUs and cgroups were given another period.
 */
static void small_changes_leave_the_rate_alone(void **state)
{
    struct rate rate = rate_init(BUDGET);
    unsigned n_changes = 0;

    (void)state;
    (void)run(&rate, 0.2, 600);
    for (int second = 0; second < 600; second++) {
        double before = rate.scale, noise = second % 2 ? 1.1 : 0.9;

        rate_spend(&rate, BUDGET, 0.2 * noise * before, 1);
        n_changes += rate.scale != before;
    }
    print_message("%u changes in 600 rounds\n", n_changes);
    assert_true(n_changes <= 30);
}

static void rate_recovers_when_the_cost_has_gone(void **state)
{
    struct rate rate = rate_init(BUDGET);

    (void)state;
    (void)run(&rate, 0.8, 300);
    assert_true(rate.scale < 0.1);
    (void)run(&rate, 0.001, 60);
    assert_true(rate.scale == 1);
}

static void what_costs_too_much_by_itself_leaves_a_little(void **state)
{
    struct rate rate = rate_init(BUDGET);

    (void)state;
    for (int second = 0; second < 600; second++)
        rate_spend(&rate, BUDGET, 0.5, 1);
    assert_true(rate.scale == RATE_SCALE_LEAST);
    assert_int_equal(rate_hz(&rate, 250, 0.01, 5000, PACE_USUAL), RATE_LEAST_HZ);
}

static void no_time_changes_nothing(void **state)
{
    struct rate rate = rate_init(BUDGET), before = rate;

    (void)state;
    rate_spend(&rate, BUDGET, 1, 0);
    assert_memory_equal(&rate, &before, sizeof(rate));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampling_budget_bounds_the_rate),
        cmocka_unit_test(savings_pay_for_a_burst),
        cmocka_unit_test(budget_holds_over_any_long_window),
        cmocka_unit_test(small_changes_leave_the_rate_alone),
        cmocka_unit_test(rate_recovers_when_the_cost_has_gone),
        cmocka_unit_test(what_costs_too_much_by_itself_leaves_a_little),
        cmocka_unit_test(no_time_changes_nothing),
    };

    return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
