/* Turns: numa_maps of all processes together costs no more than its part of cpu_budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute/policy_turns.h"
#include "util/array.h"
#include "util/nsec.h"

#define SEC NSEC_PER_SEC
#define BUDGET 0.1
#define COST 0.3

/* Each round all of them want to be read; what is read costs COST. n_read[i] counts. */
static unsigned play(struct policy_turns *turns, struct space *spaces, size_t n,
                     enum policy_want want, uint64_t from, uint64_t to, unsigned *n_read)
{
    struct policy_turn turn;
    unsigned n_all = 0;

    for (uint64_t sec = from; sec < to; sec++) {
        policy_turns_begin(turns, BUDGET, sec * SEC);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(policy_turns_add(turns, &spaces[i], want), 0);
        while (policy_turns_next(turns, &turn)) {
            policy_turns_spend(turns, turn.want, COST);
            turn.space->policy_nsec = sec * SEC;
            n_read[turn.space->pid]++;
            n_all++;
        }
    }
    return n_all;
}

/* Named after the simulation: 64 processes of 16 GiB cost 29 % of a CPU, 5 % each. */
static void many_processes_share_one_limit(void **state)
{
    static const struct {
        enum policy_want want;
        double part;
    } cases[] = {
        {POLICY_WANTED_WAITING, POLICY_WAITING_PART},
        {POLICY_WANTED_OTHER, POLICY_OTHER_PART},
    };

    (void)state;
    for (size_t c = 0; c < ARRAY_LENGTH(cases); c++) {
        CLEANUP(policy_turns_deinit) struct policy_turns turns = {0};
        struct space spaces[64] = {0};
        unsigned n_read[64] = {0}, n_all;
        double most = BUDGET * cases[c].part * (1000 + POLICY_SAVED_SEC);

        for (size_t i = 0; i < 64; i++)
            spaces[i].pid = (pid_t)i;
        n_all = play(&turns, spaces, 64, cases[c].want, 1000, 2000, n_read);
        assert_true(n_all * COST <= most + COST); /* the last one may overdraw */
        assert_true(n_all * COST >= most - COST);
        for (size_t i = 0; i < 64; i++)
            assert_in_range(n_read[i], n_all / 64, n_all / 64 + 1);
    }
}

static void savings_do_not_grow_without_end(void **state)
{
    CLEANUP(policy_turns_deinit) struct policy_turns turns = {0};
    struct space spaces[64] = {0};
    unsigned n_read[64] = {0}, n_all;

    (void)state;
    policy_turns_begin(&turns, BUDGET, SEC);
    policy_turns_begin(&turns, BUDGET, 100000 * SEC);
    n_all = play(&turns, spaces, 64, POLICY_WANTED_WAITING, 100001, 100002, n_read);
    assert_true(n_all * COST <= BUDGET * POLICY_WAITING_PART * POLICY_SAVED_SEC + COST);
}

static void those_that_wait_come_first(void **state)
{
    CLEANUP(policy_turns_deinit) struct policy_turns turns = {0};
    struct space spaces[3] = {
        {.pid = 0, .policy_nsec = 1}, {.pid = 1, .policy_nsec = 3}, {.pid = 2, .policy_nsec = 2}};
    struct policy_turn turn;

    (void)state;
    policy_turns_begin(&turns, BUDGET, SEC);
    policy_turns_add(&turns, &spaces[0], POLICY_WANTED_OTHER);
    policy_turns_add(&turns, &spaces[1], POLICY_WANTED_WAITING);
    policy_turns_add(&turns, &spaces[2], POLICY_WANTED_WAITING);
    assert_true(policy_turns_next(&turns, &turn) && turn.space == &spaces[2]); /* longest ago */
    assert_true(policy_turns_next(&turns, &turn) && turn.space == &spaces[1]);
    policy_turns_spend(&turns, POLICY_WANTED_WAITING, 100); /* no debt of the others' */
    assert_true(policy_turns_next(&turns, &turn) && turn.space == &spaces[0]);
    assert_false(policy_turns_next(&turns, &turn));
}

static void what_a_first_reading_costs_is_guessed_by_size(void **state)
{
    const struct space new = {.rss_bytes = (uint64_t)16 << 30};
    const struct space known = {.rss_bytes = (uint64_t)16 << 30, .policy_cost_nsec = 5};

    (void)state;
    assert_int_equal(policy_cost(&new, 4096), (UINT64_C(16) << 30) / 4096 * 70);
    assert_int_equal(policy_cost(&known, 4096), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_processes_share_one_limit),
        cmocka_unit_test(savings_do_not_grow_without_end),
        cmocka_unit_test(those_that_wait_come_first),
        cmocka_unit_test(what_a_first_reading_costs_is_guessed_by_size),
    };

    return cmocka_run_group_tests_name("policy-turns", tests, NULL, NULL);
}
