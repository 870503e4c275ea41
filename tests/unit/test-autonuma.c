/* The published AutoNUMA cost: what it is made of, against figures that were printed with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "numabd/autonuma.h"
#include "util/array.h"

/*
 * As mailing lists have them: 6.6-rc6 on Milan, kernbench and NUMA01_THREADLOCAL, before and after
 * a patch; the last from a report about hackbench.
 */
static void published_costs_are_reproduced(void **state)
{
    static const struct {
        struct autonuma counts;
        double cost;
    } published[] = {
        {{1041416, 263296, 0, 258021}, 1328.67}, {{831536, 220966, 0, 212769}, 1114.69},
        {{394429, 1001, 0, 288}, 7.77},          {{11121044, 8906404, 0, 2998694}, 44666.84},
        {{5948, 4639, 0, 1528}, 23.27},          {{17223, 14050, 0, 4306}, 70.45},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(published); i++)
        assert_float_equal(autonuma_cost(&published[i].counts), published[i].cost, 0.006);
}

static void each_event_has_its_own_price(void **state)
{
    const struct autonuma none = {0}, local = {.n_local = 1e6};
    const struct autonuma updates = {.n_pte_updates = 1000000}, faults = {.n_hint_faults = 1000000},
                          moves = {.n_migrated = 1000000};

    (void)state;
    assert_float_equal(autonuma_cost(&none), 0, 0);
    assert_float_equal(autonuma_cost(&local), 0, 0); /* a part of the faults, not more of them */
    assert_float_equal(autonuma_cost(&updates), 7, 1e-9);
    assert_float_equal(autonuma_cost(&faults), 5000, 1e-9);
    assert_float_equal(autonuma_cost(&moves), 19, 1e-9);
}

static void counts_add_up(void **state)
{
    struct autonuma sum = {1, 2, 0.5, 4};
    const struct autonuma more = {10, 20, 30.25, 40};

    (void)state;
    autonuma_add(&sum, &more);
    assert_int_equal(sum.n_pte_updates, 11);
    assert_int_equal(sum.n_hint_faults, 22);
    assert_float_equal(sum.n_local, 30.75, 0);
    assert_int_equal(sum.n_migrated, 44);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_costs_are_reproduced),
        cmocka_unit_test(each_event_has_its_own_price),
        cmocka_unit_test(counts_add_up),
    };

    return cmocka_run_group_tests_name("autonuma", tests, NULL, NULL);
}
