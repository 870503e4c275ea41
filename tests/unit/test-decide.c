/* The rule for one range: each reason once, and that nothing is changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "attribute/tally.h"
#include "attribute/thread_mask.h"
#include "scene.h"
#include "util/array.h"

static void no_vma(struct scene *scene)
{
    scene->candidate.vma = NULL;
}

static void device(struct scene *scene)
{
    scene->vma.kind = REASON_SPECIAL;
}

static void shared_and_bound(struct scene *scene)
{
    scene->vma.kind = REASON_SHARED_MAPPING; /* said before its policy */
    scene->vma.policy = REASON_BIND;
}

static void bound(struct scene *scene)
{
    scene->vma.policy = REASON_BIND;
}

static void policy_not_read(struct scene *scene)
{
    scene->vma.policy = REASON_POLICY_UNKNOWN;
}

static void bound_thread(struct scene *scene)
{
    thread_mask_set(&scene->space.own_policy, 3);
}

static void bound_thread_elsewhere(struct scene *scene)
{
    thread_mask_set(&scene->space.own_policy, 4);
    thread_mask_set(&scene->space.unknown_policy, 67);
}

static void thread_not_read(struct scene *scene)
{
    thread_mask_set(&scene->space.unknown_policy, 3);
    thread_mask_set(&scene->space.overdue_policy, 3);
}

/* It came in this round: this range's two windows rest on others. */
static void new_thread(struct scene *scene)
{
    thread_mask_set(&scene->space.unknown_policy, 3);
}

static void bound_thread_long_ago(struct scene *scene)
{
    scene->range.bound_thread = true;
}

static void stuck(struct scene *scene)
{
    scene->space.stuck = true;
}

static void no_claim(struct scene *scene)
{
    scene->range.claim = (struct claim){.node = -1};
}

static void shared(struct scene *scene)
{
    scene->range.claim = (struct claim){.node = -1, .shared = true};
}

static void one_pass(struct scene *scene)
{
    scene->range.claim.n_passes = 1;
}

static void never_queried(struct scene *scene)
{
    scene->range.residency_nsec = 0;
}

static void all_absent(struct scene *scene)
{
    scene->range.residency.n_entries = 0;
}

static void being_moved(struct scene *scene)
{
    scene->range.moving = true;
}

static void moved_lately(struct scene *scene)
{
    scene->range.cool_down_nsec = SCENE_NOW + 1;
}

static void cooled_down(struct scene *scene)
{
    scene->range.cool_down_nsec = SCENE_NOW;
}

static void refused_lately(struct scene *scene)
{
    scene->range.cool_down_nsec = SCENE_NOW + 1;
    scene->range.n_refusals = 1;
}

static void refused_long_ago(struct scene *scene)
{
    scene->range.n_refusals = 3;
}

static void nothing_allowed(struct scene *scene)
{
    scene->target.mems_allowed = scene->allowed;
}

static void only_its_place_allowed(struct scene *scene)
{
    scene->allowed[1] = true;
    scene->target.mems_allowed = scene->allowed;
}

static void at_home(struct scene *scene)
{
    scene->residency[0].node = 0;
}

static void one_page_astray(struct scene *scene)
{
    scene->residency[0] = (struct tally_entry){.node = 0, .n = 15};
    scene->residency[1] = (struct tally_entry){.node = 1, .n = 1};
    scene->range.residency.n_entries = 2;
}

static void hardly_used(struct scene *scene)
{
    scene->rate[0].sec = 2e-6;
}

static void used_a_little_less(struct scene *scene)
{
    scene->rate[0].sec = 0.0004 * 2;
}

/* C - C(t) = 0.33 A; certainty 500 / 509; horizon 60 s; cost 1/512 s, and twice that. */
static void used_just_enough(struct scene *scene)
{
    double horizon = DECIDE_HORIZON_MIN_SEC > 20 ? DECIDE_HORIZON_MIN_SEC : 20;

    scene->rate[0].sec = 2 * 1.01 * (2.0 / 512) / (0.33 * horizon * 500 / 509);
}

static void used_just_too_little(struct scene *scene)
{
    used_just_enough(scene);
    scene->rate[0].sec *= 0.98;
}

static void unreachable(struct scene *scene)
{
    scene->residency[0].node = 2;
}

/* Named after the bug: memory that had followed its threads was sent back to where they had been.
 */
static void moved_on_with_its_threads(struct scene *scene)
{
    scene->residency[0].node = 0;
    scene->rate[0].sec = 0.5;
    scene->rate[1] = (struct tally_entry){.node = 1, .n = 50, .sec = 2};
    scene->range.rate.n_entries = 2;
}

static const struct {
    void (*change)(struct scene *scene); /* of a range that is to be moved */
    enum reason reason;
} cases[] = {
    {no_vma, REASON_GONE},
    {device, REASON_SPECIAL},
    {shared_and_bound, REASON_SHARED_MAPPING},
    {bound, REASON_BIND},
    {policy_not_read, REASON_POLICY_UNKNOWN},
    {bound_thread, REASON_THREAD_POLICY},
    {thread_not_read, REASON_POLICY_UNKNOWN},
    {bound_thread_elsewhere, REASON_NONE},
    {new_thread, REASON_NONE},
    {bound_thread_long_ago, REASON_THREAD_POLICY},
    {stuck, REASON_STUCK},
    {no_claim, REASON_FEW_SAMPLES},
    {shared, REASON_SHARED},
    {one_pass, REASON_UNCONFIRMED},
    {never_queried, REASON_RESIDENCY_UNKNOWN},
    {all_absent, REASON_RESIDENCY_UNKNOWN},
    {being_moved, REASON_COOL_DOWN},
    {moved_lately, REASON_COOL_DOWN},
    {cooled_down, REASON_NONE},
    {refused_lately, REASON_REFUSED},
    {refused_long_ago, REASON_NONE},
    {nothing_allowed, REASON_NOT_ALLOWED},
    {only_its_place_allowed, REASON_LOCAL},
    {at_home, REASON_LOCAL},
    {one_page_astray, REASON_NONE},
    {hardly_used, REASON_NO_GAIN},
    {used_a_little_less, REASON_NONE},
    {used_just_enough, REASON_NONE},
    {used_just_too_little, REASON_NO_GAIN},
    {unreachable, REASON_NONE},
    {moved_on_with_its_threads, REASON_UNCONFIRMED},
};

static void each_reason_has_its_case(void **state)
{
    struct scene_machine machine;
    struct scene scene;
    struct move move;

    (void)state;
    scene_machine_init(&machine);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        enum reason reason;

        scene_init(&scene, SCENE_BASE);
        cases[i].change(&scene);
        reason = decide_range(&machine.env, &scene.candidate, &move);
        if (reason != cases[i].reason)
            fail_msg("case %zu: %s, not %s", i, reason_name(reason), reason_name(cases[i].reason));
    }
}

static void kinds_and_policies_are_reasons_themselves(void **state)
{
    static const enum reason kinds[] = {REASON_SPECIAL, REASON_SHARED_RO, REASON_SHARED_MAPPING,
                                        REASON_INACCESSIBLE};
    static const enum reason policies[] = {REASON_BIND,       REASON_PREFER,
                                           REASON_INTERLEAVE, REASON_OTHER_POLICY,
                                           REASON_HUGETLB,    REASON_POLICY_UNKNOWN};
    struct scene_machine machine;
    struct scene scene;
    struct move move;

    (void)state;
    scene_machine_init(&machine);
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        scene_init(&scene, SCENE_BASE);
        scene.vma.kind = kinds[i];
        assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), kinds[i]);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(policies); i++) {
        scene_init(&scene, SCENE_BASE);
        scene.vma.policy = policies[i];
        assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), policies[i]);
    }
}

static void move_carries_its_numbers(void **state)
{
    struct scene_machine machine;
    struct scene scene;
    struct move move;

    (void)state;
    scene_machine_init(&machine);
    scene_init(&scene, SCENE_BASE);
    scene.residency[0].n = 12;
    scene.residency[1] = (struct tally_entry){.node = 0, .n = 4};
    scene.range.residency.n_entries = 2;
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_NONE);
    assert_int_equal(move.pid, 100);
    assert_int_equal(move.node, 0);
    assert_int_equal(move.start, SCENE_BASE);
    assert_int_equal(move.end, SCENE_BASE + RANGE_BYTES);
    assert_int_equal(move.bytes, RANGE_BYTES / 4 * 3);
    assert_true(fabs(move.cost_sec - 1.5 / 1024) < 1e-12);
    assert_true(fabs(move.gain_sec - 0.33 * 0.75 * 500 / 509) < 1e-9);
    assert_false(move.observe);
}

/* A measured share of 0 was taken for none measured, and stood for 0.3. */
static void what_never_waits_for_memory_gains_nothing(void **state)
{
    struct scene_machine machine;
    struct scene scene;
    struct move move;

    (void)state;
    scene_machine_init(&machine);
    scene_init(&scene, SCENE_BASE);
    scene.space.memory_bound_known = true;
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_NO_GAIN);
    scene.space.memory_bound = 0.3;
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_NONE);
    assert_true(fabs(move.gain_sec - 0.33 * 500 / 509) < 1e-9);
}

static void observed_are_those_that_may_not_be_moved(void **state)
{
    struct scene_machine machine;
    struct scene scene;
    struct move move;

    (void)state;
    scene_machine_init(&machine);
    scene_init(&scene, SCENE_BASE);
    scene.space.denied = true;
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_NONE);
    assert_true(move.observe);
    scene.space.denied = false;
    machine.config.observe = true;
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_NONE);
    assert_true(move.observe);
}

/* Named after the attack: memory bound a second ago was moved on what was read minutes ago. */
static void old_policy_is_no_policy(void **state)
{
    struct scene_machine machine;
    struct scene scene;
    struct move move;

    (void)state;
    scene_machine_init(&machine);
    scene_init(&scene, SCENE_BASE);
    scene.space.policy_read_nsec = SCENE_NOW - 3 * NSEC_PER_SEC;
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_NONE);
    scene.space.policy_read_nsec--;
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_POLICY_UNKNOWN);
    scene.space.policy_cost_nsec = 1; /* dear ones are read less often */
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_NONE);
    scene.space.policy_read_nsec = 0;
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_POLICY_UNKNOWN);
}

/* Without samples enough of its own a range acts as the group does that holds it. */
static void group_lends_its_claim(void **state)
{
    struct scene_machine machine;
    struct scene scene, group;
    struct move move;

    (void)state;
    scene_machine_init(&machine);
    scene_init(&scene, SCENE_BASE);
    scene_init(&group, SCENE_BASE);
    no_claim(&scene);
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_FEW_SAMPLES);
    scene.candidate.evidence = &group.range;
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_NONE);
    /* The range's own threads count, and a new one may be all that uses it. */
    thread_mask_set(&group.range.threads, 9);
    thread_mask_set(&scene.space.own_policy, 9);
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_NONE);
    new_thread(&scene);
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_POLICY_UNKNOWN);
    /* Where no sample fell, the group's do. */
    tally_clear(&scene.range.rate);
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_THREAD_POLICY);
    scene.space.own_policy = (struct thread_mask){0};
    group.range.bound_thread = true;
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_THREAD_POLICY);
}

static void equal_distances_never_move(void **state)
{
    struct scene_machine machine;
    struct scene scene;
    struct move move;

    (void)state;
    scene_machine_init(&machine);
    memset(machine.distances, 10, sizeof(machine.distances));
    for (int node = 0; node < SCENE_NODES; node++)
        for (int at = 0; at < SCENE_NODES; at++) {
            enum reason reason;

            scene_init(&scene, SCENE_BASE);
            scene.rate[0].node = scene.range.claim.node = node;
            scene.rate[1] =
                (struct tally_entry){.node = (node + 1) % SCENE_NODES, .n = 50, .sec = 0.7};
            scene.range.rate.n_entries = 2;
            scene.residency[0].node = at;
            reason = decide_range(&machine.env, &scene.candidate, &move);
            assert_true(reason == REASON_LOCAL || reason == REASON_NO_GAIN);
        }
}

/* Whatever comes out, no byte of what went in differs afterwards. */
static void nothing_that_goes_in_is_changed(void **state)
{
    struct candidate candidates[ARRAY_LENGTH(cases)];
    struct scene scenes[ARRAY_LENGTH(cases)], scenes_before[ARRAY_LENGTH(cases)];
    struct scene_machine machine, machine_before;
    CLEANUP(plan_deinit) struct plan plan = {0};

    (void)state;
    memset(&machine, 0, sizeof(machine));
    memset(scenes, 0, sizeof(scenes));
    scene_machine_init(&machine);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        scene_init(&scenes[i], SCENE_BASE + i * RANGE_BYTES);
        cases[i].change(&scenes[i]);
        candidates[i] = scenes[i].candidate;
    }
    memcpy(&machine_before, &machine, sizeof(machine));
    memcpy(scenes_before, scenes, sizeof(scenes));
    assert_int_equal(decide_plan(&plan, &machine.env, candidates, ARRAY_LENGTH(cases)), 0);
    assert_true(plan.n_moves > 0);
    assert_memory_equal(&machine, &machine_before, sizeof(machine));
    assert_memory_equal(scenes, scenes_before, sizeof(scenes));
}

static void a_process_that_gained_nothing_is_left_alone(void **state)
{
    struct scene_machine machine;
    struct scene scene;
    struct move move;

    (void)state;
    scene_machine_init(&machine);
    scene_init(&scene, SCENE_BASE);
    scene.space.benefit.until_nsec = machine.env.now + 1;
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_NO_BENEFIT);
    machine.env.now += 1;
    assert_int_equal(decide_range(&machine.env, &scene.candidate, &move), REASON_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reason_has_its_case),
        cmocka_unit_test(kinds_and_policies_are_reasons_themselves),
        cmocka_unit_test(move_carries_its_numbers),
        cmocka_unit_test(what_never_waits_for_memory_gains_nothing),
        cmocka_unit_test(observed_are_those_that_may_not_be_moved),
        cmocka_unit_test(old_policy_is_no_policy),
        cmocka_unit_test(group_lends_its_claim),
        cmocka_unit_test(equal_distances_never_move),
        cmocka_unit_test(nothing_that_goes_in_is_changed),
        cmocka_unit_test(a_process_that_gained_nothing_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
