/* The plan: budgets, and which moves go first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene.h"
#include "util/array.h"

#define CASES_MAX 64

struct crowd {
    struct scene scenes[CASES_MAX];
    struct candidate candidates[CASES_MAX];
    size_t n;
};

static void crowd_init(struct crowd *crowd, size_t n)
{
    crowd->n = n;
    for (size_t i = 0; i < n; i++)
        scene_init(&crowd->scenes[i], SCENE_BASE + i * RANGE_BYTES);
}

static void crowd_plan(struct crowd *crowd, const struct scene_machine *machine, struct plan *plan)
{
    uint64_t n_counted = 0;

    for (size_t i = 0; i < crowd->n; i++)
        crowd->candidates[i] = crowd->scenes[i].candidate;
    assert_int_equal(decide_plan(plan, &machine->env, crowd->candidates, crowd->n), 0);
    for (int reason = 0; reason < REASON_COUNT; reason++)
        n_counted += plan->reasons.n[reason];
    assert_int_equal(n_counted, crowd->n);
    assert_int_equal(plan->reasons.n[REASON_NONE], plan->n_moves);
}

static void budgets_stop_the_plan_and_are_counted(void **state)
{
    static const struct {
        const char *name;
        uint64_t rate, free;
        bool observe;
        size_t n_moves;
        uint64_t n_rate_limit, n_no_room;
    } budgets[] = {
        {"enough of both", 1024 * SCENE_MIB, 4096 * SCENE_MIB, false, 20, 0, 0},
        {"rate for exactly 5", 10 * SCENE_MIB, 4096 * SCENE_MIB, false, 5, 15, 0},
        {"rate for less than 5", 10 * SCENE_MIB - 1, 4096 * SCENE_MIB, false, 4, 16, 0},
        {"no rate", 0, 4096 * SCENE_MIB, false, 0, 20, 0},
        {"room for 3", 1024 * SCENE_MIB, 262 * SCENE_MIB, false, 3, 0, 17},
        {"no room", 1024 * SCENE_MIB, 256 * SCENE_MIB, false, 0, 0, 20},
        {"both: the rate is asked first", 4 * SCENE_MIB, 260 * SCENE_MIB, false, 2, 18, 0},
        {"observed moves cost nothing", 0, 0, true, 20, 0, 0},
    };
    struct crowd crowd;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(budgets); i++) {
        CLEANUP(plan_deinit) struct plan plan = {0};
        struct scene_machine machine;

        print_message("%s\n", budgets[i].name);
        scene_machine_init(&machine);
        machine.rate_bytes[0] = budgets[i].rate;
        machine.nodes[0].free_bytes = budgets[i].free;
        machine.config.observe = budgets[i].observe;
        crowd_init(&crowd, 20);
        crowd_plan(&crowd, &machine, &plan);
        assert_int_equal(plan.n_moves, budgets[i].n_moves);
        assert_int_equal(plan.reasons.n[REASON_RATE_LIMIT], budgets[i].n_rate_limit);
        assert_int_equal(plan.reasons.n[REASON_NO_ROOM], budgets[i].n_no_room);
    }
}

static void budget_of_one_node_does_not_bind_another(void **state)
{
    CLEANUP(plan_deinit) struct plan plan = {0};
    struct scene_machine machine;
    struct crowd crowd;

    (void)state;
    scene_machine_init(&machine);
    machine.rate_bytes[0] = 0;
    crowd_init(&crowd, 10);
    for (size_t i = 5; i < 10; i++) {
        crowd.scenes[i].rate[0].node = crowd.scenes[i].range.claim.node = 1;
        crowd.scenes[i].residency[0].node = 0;
    }
    crowd_plan(&crowd, &machine, &plan);
    assert_int_equal(plan.n_moves, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(plan.moves[i].node, 1);
}

/* Use grows with the index; the two that fit are the last ones, whatever they cost. */
static void best_gain_for_its_cost_goes_first(void **state)
{
    CLEANUP(plan_deinit) struct plan plan = {0};
    struct scene_machine machine;
    struct crowd crowd;

    (void)state;
    scene_machine_init(&machine);
    machine.rate_bytes[0] = 2 * RANGE_BYTES;
    crowd_init(&crowd, 10);
    for (size_t i = 0; i < 10; i++)
        crowd.scenes[i].rate[0].sec = 0.5 + 0.1 * (double)((i * 7) % 10);
    crowd_plan(&crowd, &machine, &plan);
    assert_int_equal(plan.n_moves, 2);
    /* i * 7 % 10 is 9 for i = 7 and 8 for i = 4; the plan is in the order of addresses. */
    assert_int_equal(plan.moves[0].start, SCENE_BASE + 4 * RANGE_BYTES);
    assert_int_equal(plan.moves[1].start, SCENE_BASE + 7 * RANGE_BYTES);
}

static void plan_is_in_the_order_in_which_it_is_carried_out(void **state)
{
    CLEANUP(plan_deinit) struct plan plan = {0};
    struct scene_machine machine;
    struct crowd crowd;

    (void)state;
    scene_machine_init(&machine);
    crowd_init(&crowd, 30);
    for (size_t i = 0; i < 30; i++) {
        crowd.scenes[i].space.pid = crowd.scenes[i].target.pid = 100 + (pid_t)(i * 11 % 3);
        crowd.scenes[i].rate[0].node = crowd.scenes[i].range.claim.node = (int)(i * 5 % 2);
        crowd.scenes[i].residency[0].node = !(i * 5 % 2);
        crowd.scenes[i].rate[0].sec = 1 + 0.03 * (double)(i * 13 % 30);
    }
    crowd_plan(&crowd, &machine, &plan);
    assert_int_equal(plan.n_moves, 30);
    for (size_t i = 1; i < plan.n_moves; i++) {
        const struct move *a = &plan.moves[i - 1], *b = &plan.moves[i];

        assert_true(
            a->node < b->node ||
            (a->node == b->node && (a->pid < b->pid || (a->pid == b->pid && a->start < b->start))));
    }
}

static void plan_is_overwritten(void **state)
{
    CLEANUP(plan_deinit) struct plan plan = {0};
    struct scene_machine machine;
    struct crowd crowd;

    (void)state;
    scene_machine_init(&machine);
    crowd_init(&crowd, 40);
    crowd_plan(&crowd, &machine, &plan);
    assert_int_equal(plan.n_moves, 40);
    crowd_init(&crowd, 3);
    crowd.scenes[1].range.claim.node = -1;
    crowd_plan(&crowd, &machine, &plan);
    assert_int_equal(plan.n_moves, 2);
    assert_int_equal(decide_plan(&plan, &machine.env, NULL, 0), 0);
    assert_int_equal(plan.n_moves, 0);
    assert_int_equal(plan.reasons.n[REASON_NONE], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budgets_stop_the_plan_and_are_counted),
        cmocka_unit_test(budget_of_one_node_does_not_bind_another),
        cmocka_unit_test(best_gain_for_its_cost_goes_first),
        cmocka_unit_test(plan_is_in_the_order_in_which_it_is_carried_out),
        cmocka_unit_test(plan_is_overwritten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
