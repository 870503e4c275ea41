/*
 * Many ranges with random samples.
 *
 * Evenly shared ranges must never be confirmed. A window passes falsely with all of 14, 18 of 19,
 * ... samples on one node: below 1e-3 for each of a range's windows, and seen in fewer than one of
 * 1,000 ranges in an hour of rounds, since a window that did not pass at once keeps its mixed
 * samples. A confirmation needs two of them in a row, so 2,000 ranges are expected to give less
 * than 0.01: the test asserts none, and fails on at most one seed in a hundred.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "mutate.h"
#include "range_rig.h"
#include "util/array.h"

#define N_RANGES 500
#define N_ROUNDS 60
#define SAMPLE_SEC 0.004

static double uniform(struct mutate *mutate)
{
    return (double)mutate_below(mutate, (size_t)1 << 30) / (double)(1 << 30);
}

/* Poisson, by products of uniform numbers (Knuth). */
static unsigned random_count(struct mutate *mutate, double mean)
{
    double limit = exp(-mean), product = uniform(mutate);
    unsigned n = 0;

    for (; product > limit; n++)
        product *= uniform(mutate);
    return n;
}

/* `mean` samples a round, of which `share` come from node 0 and the others from node 8. */
static enum reason random_round(struct range_rig *rig, struct mutate *mutate, double mean,
                                double share)
{
    for (unsigned n = random_count(mutate, mean); n > 0; n--)
        range_rig_add(rig, uniform(mutate) < share ? 0 : 8, 1);
    return range_rig_round(rig, 0, 0);
}

struct outcome {
    unsigned n_passed, n_confirmed, n_shared; /* ranges that ever were */
    unsigned n_shared_last;                   /* in the last round */
};

static struct outcome run(struct mutate *mutate, double mean, double share, unsigned n_rounds)
{
    struct outcome outcome = {0};

    for (int i = 0; i < N_RANGES; i++) {
        bool passed = false, confirmed = false, shared = false;
        enum reason reason = REASON_NONE;
        struct range_rig rig;

        range_rig_init(&rig);
        for (unsigned round = 0; round < n_rounds; round++) {
            reason = random_round(&rig, mutate, mean, share);
            passed |= rig.range->claim.n_passes > 0;
            confirmed |= reason == REASON_NONE;
            shared |= reason == REASON_SHARED;
        }
        outcome.n_passed += passed;
        outcome.n_confirmed += confirmed;
        outcome.n_shared += shared;
        outcome.n_shared_last += reason == REASON_SHARED;
        range_rig_deinit(&rig);
    }
    print_message("  %5.1f samples a round, share %.2f, %u rounds: of %d passed %u confirmed %u "
                  "shared %u, %u in the end\n",
                  mean, share, n_rounds, N_RANGES, outcome.n_passed, outcome.n_confirmed,
                  outcome.n_shared, outcome.n_shared_last);
    return outcome;
}

static void test_even_use_is_never_confirmed(void **state)
{
    static const double means[] = {1, 4, 16, 64};

    for (size_t i = 0; i < ARRAY_LENGTH(means); i++) {
        struct outcome outcome = run(*state, means[i], 0.5, N_ROUNDS);

        assert_int_equal(outcome.n_confirmed, 0);
        assert_true(outcome.n_passed <= N_RANGES / 50);
    }
}

static void test_even_use_is_found_shared(void **state)
{
    struct outcome outcome = run(*state, 150, 0.5, 15);

    assert_int_equal(outcome.n_shared, N_RANGES);
    assert_int_equal(outcome.n_confirmed, 0);
}

/*
 * With few samples it takes longer; then a range's history shows it for 98 % of the time: 460 of
 * 500 are 9 standard errors below that.
 */
static void test_even_use_looks_shared_with_few_samples(void **state)
{
    static const struct {
        double mean;
        unsigned n_rounds;
    } cases[] = {{1, 1000}, {4, 250}, {16, 60}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_true(run(*state, cases[i].mean, 0.5, cases[i].n_rounds).n_shared_last >=
                    N_RANGES * 92 / 100);
}

/* Nor is the label given to everything: 0.7 is 6 standard errors of a history from it. */
static void test_use_by_one_node_does_not_look_shared(void **state)
{
    static const double means[] = {1, 16};

    for (size_t i = 0; i < ARRAY_LENGTH(means); i++) {
        assert_int_equal(run(*state, means[i], 0.7, 200).n_shared, 0);
        assert_int_equal(run(*state, means[i], 0.95, 200).n_shared, 0);
    }
}

/* The counterpart: the filter does not merely say no. */
static void test_use_by_one_node_is_confirmed(void **state)
{
    assert_int_equal(run(*state, 16, 1, 10).n_confirmed, N_RANGES);
    assert_true(run(*state, 16, 0.95, 20).n_confirmed >= N_RANGES * 99 / 100);
    assert_true(run(*state, 1, 1, 120).n_confirmed >= N_RANGES * 99 / 100);
    assert_int_equal(run(*state, 16, 1, 10).n_shared, 0);
}

/* The mean over many ranges lies within 4.5 standard errors of the truth. */
static void check_mean_rate(struct mutate *mutate, double mean, unsigned n_rounds)
{
    double sum = 0, truth = mean * SAMPLE_SEC, samples = mean, error;

    for (int i = 0; i < N_RANGES; i++) {
        struct range_rig rig;

        range_rig_init(&rig);
        for (unsigned round = 0; round < n_rounds; round++)
            random_round(&rig, mutate, mean, 0.5);
        sum += range_rate(rig.range, 0) + range_rate(rig.range, 8);
        range_rig_deinit(&rig);
    }
    error = 4.5 * truth / sqrt(samples * N_RANGES);
    print_message("  %.1f samples a round after %u rounds: rate %.5f, truth %.5f +- %.5f\n", mean,
                  n_rounds, sum / N_RANGES, truth, error);
    assert_true(fabs(sum / N_RANGES - truth) < error);
}

static void test_rate_is_true_early_and_late(void **state)
{
    static const unsigned rounds[] = {1, 2, 5, 40};

    for (size_t i = 0; i < ARRAY_LENGTH(rounds); i++) {
        check_mean_rate(*state, 20, rounds[i]);
        check_mean_rate(*state, 2, rounds[i]);
    }
}

int main(int argc, char **argv)
{
    struct mutate mutate = mutate_init(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_even_use_is_never_confirmed, &mutate),
        cmocka_unit_test_prestate(test_even_use_is_found_shared, &mutate),
        cmocka_unit_test_prestate(test_even_use_looks_shared_with_few_samples, &mutate),
        cmocka_unit_test_prestate(test_use_by_one_node_does_not_look_shared, &mutate),
        cmocka_unit_test_prestate(test_use_by_one_node_is_confirmed, &mutate),
        cmocka_unit_test_prestate(test_rate_is_true_early_and_late, &mutate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
