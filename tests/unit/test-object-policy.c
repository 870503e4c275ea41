/* Policies of shared memory belong to the memory, and each mapper shows some of them only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute/object_policy.h"
#include "object_rig.h"

#define A 100
#define B 200
#define WHOLE_A "10000000-13000000 rw-s 00000000 00:01 77 /dev/zero (deleted)\n"
#define WHOLE_B "50000000-53000000 rw-s 00000000 00:01 77 /dev/zero (deleted)\n"
/* mbind on the middle has split it */
#define SPLIT_A                                                                                    \
    "10000000-11000000 rw-s 00000000 00:01 77 /dev/zero (deleted)\n"                               \
    "11000000-12000000 rw-s 01000000 00:01 77 /dev/zero (deleted)\n"                               \
    "12000000-13000000 rw-s 02000000 00:01 77 /dev/zero (deleted)\n"

/* As numa_maps of the process says, VMA by VMA. */
static void set_policies(struct space *space, const enum reason *policies)
{
    for (size_t i = 0; i < space->vmas.n_items; i++)
        space->vmas.items[i].policy = policies[i];
}

static void set_default(struct space *space)
{
    for (size_t i = 0; i < space->vmas.n_items; i++)
        space->vmas.items[i].policy = REASON_NONE;
}

#define UPPER_B "50000000-52000000 rw-s 01000000 00:01 77 /dev/zero (deleted)\n"

/* Both show the policy at the same offset: 500 processes need not be read for one segment. */
static void one_mapper_tells_for_all_that_map_from_the_same_offset(void **state)
{
    struct object_rig rig;
    struct object *object;

    (void)state;
    object_rig_init(&rig, NULL);
    object_rig_map(&rig, A, WHOLE_A);
    set_default(object_rig_map(&rig, B, WHOLE_B));
    object = object_rig_at(&rig, A, 0x10000000);
    assert_int_equal(object_follow_policies(object), 0);
    assert_int_equal(object_policy(object, 0, 2 * M), REASON_NONE);
    object_rig_deinit(&rig);
}

static void part_whose_policy_was_not_read_holds_up_all(void **state)
{
    struct object_rig rig;
    struct object *object;
    struct space *b;

    (void)state;
    object_rig_init(&rig, NULL);
    set_default(object_rig_map(&rig, A, WHOLE_A));
    b = object_rig_map(&rig, B, UPPER_B);
    object = object_rig_at(&rig, A, 0x10000000);
    assert_int_equal(object_follow_policies(object), 0);
    assert_int_equal(object_policy(object, 0, 2 * M), REASON_POLICY_UNKNOWN);
    set_default(b);
    assert_int_equal(object_follow_policies(object), 0);
    assert_int_equal(object_policy(object, 0, 2 * M), REASON_NONE);
    object_rig_deinit(&rig);
}

/* The binder has gone, the other mapper's one VMA shows the default policy at its start. */
static void part_that_was_bound_stays_bound(void **state)
{
    static const enum reason bound[] = {REASON_NONE, REASON_BIND, REASON_NONE};
    struct object_rig rig;
    struct object *object;

    (void)state;
    object_rig_init(&rig, NULL);
    set_policies(object_rig_map(&rig, A, SPLIT_A), bound);
    set_default(object_rig_map(&rig, B, WHOLE_B));
    object = object_rig_at(&rig, B, 0x50000000);
    assert_int_equal(object_follow_policies(object), 0);
    object_rig_drop(&rig, A);
    assert_int_equal(object_follow_policies(object), 0);
    assert_int_equal(object_policy(object, 14 * M, 16 * M), REASON_NONE);
    assert_int_equal(object_policy(object, 16 * M, 18 * M), REASON_BIND);
    assert_int_equal(object_policy(object, 32 * M, 34 * M), REASON_NONE);
    object_rig_deinit(&rig);
}

static void default_policy_at_the_same_start_ends_it(void **state)
{
    static const enum reason bound[] = {REASON_NONE, REASON_BIND, REASON_NONE};
    struct object_rig rig;
    struct object *object;
    struct space *a;

    (void)state;
    object_rig_init(&rig, NULL);
    a = object_rig_map(&rig, A, SPLIT_A);
    object = object_rig_at(&rig, A, 0x10000000);
    set_policies(a, bound);
    assert_int_equal(object_follow_policies(object), 0);
    assert_int_equal(object_policy(object, 16 * M, 18 * M), REASON_BIND);
    set_default(a);
    assert_int_equal(object_follow_policies(object), 0);
    assert_int_equal(object_policy(object, 16 * M, 18 * M), REASON_NONE);
    object_rig_deinit(&rig);
}

/* Never less than what was seen is left alone, however many pieces there are. */
static void many_policies_become_one_that_covers_all(void **state)
{
    struct object_rig rig;
    struct object *object;

    (void)state;
    object_rig_init(&rig, NULL);
    set_default(object_rig_map(&rig, A, WHOLE_A));
    object = object_rig_at(&rig, A, 0x10000000);
    for (uint64_t i = 0; i <= OBJECT_POLICIES_MAX; i++)
        assert_int_equal(
            object_note_policy(object, (4 + i) << 12, (5 + i) << 12, REASON_INTERLEAVE), 0);
    assert_int_equal(object->n_policies, 1);
    for (uint64_t i = 0; i <= OBJECT_POLICIES_MAX; i++)
        assert_int_not_equal(object_policy(object, (4 + i) << 12, (5 + i) << 12), REASON_NONE);
    assert_int_equal(object_policy(object, 0, 4 << 12), REASON_NONE);
    object_rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_mapper_tells_for_all_that_map_from_the_same_offset),
        cmocka_unit_test(part_whose_policy_was_not_read_holds_up_all),
        cmocka_unit_test(part_that_was_bound_stays_bound),
        cmocka_unit_test(default_policy_at_the_same_start_ends_it),
        cmocka_unit_test(many_policies_become_one_that_covers_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
