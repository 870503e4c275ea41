/* Sums by sparse node ids, and the Wilson bounds against values computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "attribute/tally.h"
#include "util/array.h"

#define SMALL 1e-6

static bool close_to(double a, double b)
{
    return fabs(a - b) < SMALL;
}

static const struct {
    const char *shows;
    double hits, n, z, lower, upper;
} bounds[] = {
    {"14 of 14 pass 0.6: 14/23", 14, 14, 3, 0.608696, 1},
    {"13 of 13 do not: 13/22", 13, 13, 3, 0.590909, 1},
    {"13 of 14 do not", 13, 14, 3, 0.528323, 0.993416},
    {"8 of 10", 8, 10, 3, 0.348083, 0.967707},
    {"half of 100", 50, 100, 3, 0.356326, 0.643674},
    {"none of 10: 9/19 at most", 0, 10, 3, 0, 0.473684},
    {"8 of 10 at 95 %, as printed in textbooks", 8, 10, 1.959964, 0.490162, 0.943318},
    {"one decayed sample", 0.5, 0.5, 3, 0.052632, 1},
    {"nothing known", 0, 0, 3, 0, 1},
};

static void test_wilson_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(bounds); i++) {
        double lower = wilson_lower(bounds[i].hits, bounds[i].n, bounds[i].z);
        double upper = wilson_upper(bounds[i].hits, bounds[i].n, bounds[i].z);

        print_message("  %s: %f %f\n", bounds[i].shows, lower, upper);
        assert_true(close_to(lower, bounds[i].lower));
        assert_true(close_to(upper, bounds[i].upper));
    }
}

static void test_wilson_encloses_the_share_and_is_symmetric(void **state)
{
    (void)state;
    for (int n = 1; n <= 60; n++) {
        for (int hits = 0; hits <= n; hits++) {
            double lower = wilson_lower(hits, n, 3), upper = wilson_upper(hits, n, 3);
            double share = (double)hits / n;

            assert_true(lower > -SMALL && lower <= share + SMALL);
            assert_true(upper < 1 + SMALL && upper >= share - SMALL);
            assert_true(close_to(lower, 1 - wilson_upper(n - hits, n, 3)));
        }
    }
}

static void test_more_samples_narrow_the_bounds(void **state)
{
    (void)state;
    for (int n = 10; n < 10000; n *= 2) {
        assert_true(wilson_lower(0.7 * n, n, 3) < wilson_lower(1.4 * n, 2 * n, 3));
        assert_true(wilson_upper(0.7 * n, n, 3) > wilson_upper(1.4 * n, 2 * n, 3));
    }
}

static void fill(struct tally *tally)
{
    assert_int_equal(tally_add(tally, 252, 3, 0.3), 0);
    assert_int_equal(tally_add(tally, 0, 1, 0.1), 0);
    assert_int_equal(tally_add(tally, 8, 2, 0.2), 0);
    assert_int_equal(tally_add(tally, 252, 1, 0.4), 0);
}

static void test_sparse_ids(void **state)
{
    struct tally tally = {0};

    (void)state;
    fill(&tally);
    assert_int_equal(tally.n_entries, 3);
    assert_true(tally_n(&tally, 0) == 1 && tally_n(&tally, 8) == 2 && tally_n(&tally, 252) == 4);
    assert_true(close_to(tally_sec(&tally, 252), 0.7));
    assert_true(tally_n(&tally, 1) == 0 && tally_sec(&tally, 251) == 0);
    assert_true(tally_n(&tally, -1) == 0);
    assert_true(tally_total_n(&tally) == 7 && close_to(tally_sec(&tally, 8), 0.2));
    assert_int_equal(tally_best(&tally), 252);
    tally_deinit(&tally);
    assert_true(tally_total_n(&tally) == 0);
}

static void test_many_nodes(void **state)
{
    struct tally tally = {0};

    (void)state;
    for (int node = 1023; node >= 0; node--)
        assert_int_equal(tally_add(&tally, node, node, 1), 0);
    assert_int_equal(tally.n_entries, 1024);
    assert_int_equal(tally_best(&tally), 1023);
    assert_true(tally_n(&tally, 512) == 512);
    tally_deinit(&tally);
}

static void test_best_of_equals_is_the_lowest_id(void **state)
{
    struct tally tally = {0};

    (void)state;
    assert_int_equal(tally_best(&tally), -1);
    assert_int_equal(tally_add(&tally, 252, 2, 9), 0);
    assert_int_equal(tally_add(&tally, 8, 2, 0), 0);
    assert_int_equal(tally_add(&tally, 9, 2, 0), 0);
    assert_int_equal(tally_best(&tally), 8);
    assert_int_equal(tally_add(&tally, 252, 0.001, 0), 0);
    assert_int_equal(tally_best(&tally), 252);
    tally_deinit(&tally);
}

static void test_scale_and_clear(void **state)
{
    struct tally tally = {0};

    (void)state;
    fill(&tally);
    tally_scale(&tally, 0.5);
    assert_true(tally_n(&tally, 252) == 2 && close_to(tally_sec(&tally, 252), 0.35));
    tally_clear(&tally);
    assert_true(tally_total_n(&tally) == 0 && tally_best(&tally) == -1);
    assert_int_equal(tally_add(&tally, 8, 1, 1), 0);
    assert_true(tally_n(&tally, 8) == 1 && tally_sec(&tally, 8) == 1); /* nothing came back */
    assert_true(tally_n(&tally, 252) == 0);
    tally_deinit(&tally);
}

static void test_copy_replaces(void **state)
{
    struct tally from = {0}, to = {0}, empty = {0};

    (void)state;
    fill(&from);
    assert_int_equal(tally_add(&to, 5, 5, 5), 0);
    assert_int_equal(tally_copy(&to, &from), 0);
    assert_true(tally_n(&to, 5) == 0 && tally_n(&to, 252) == 4);
    assert_int_equal(tally_add(&from, 252, 1, 0), 0);
    assert_true(tally_n(&to, 252) == 4); /* its own */
    assert_int_equal(tally_copy(&to, &empty), 0);
    assert_true(tally_total_n(&to) == 0);
    assert_int_equal(tally_copy(&empty, &to), 0);
    tally_deinit(&from);
    tally_deinit(&to);
    tally_deinit(&empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wilson_by_hand),
        cmocka_unit_test(test_wilson_encloses_the_share_and_is_symmetric),
        cmocka_unit_test(test_more_samples_narrow_the_bounds),
        cmocka_unit_test(test_sparse_ids),
        cmocka_unit_test(test_many_nodes),
        cmocka_unit_test(test_best_of_equals_is_the_lowest_id),
        cmocka_unit_test(test_scale_and_clear),
        cmocka_unit_test(test_copy_replaces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
