/* Deciding about shared memory: whose wishes count, and through whom it moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute/objects.h"
#include "scene.h"

/* A range of an object, at offset 4 MiB, that is to be moved through process 100. */
struct shared_scene {
    struct scene scene;
    struct scene_machine machine;
    struct space memory;
    struct object object;
    struct vma vma; /* of the process */
    struct window window;
};

static void init(struct shared_scene *shared)
{
    struct scene *scene = &shared->scene;

    *shared = (struct shared_scene){0};
    scene_machine_init(&shared->machine);
    scene_init(scene, 4 * SCENE_MIB);
    shared->object = (struct object){.id = 7, .barred = REASON_NONE};
    shared->vma = (struct vma){.start = SCENE_BASE,
                               .end = SCENE_BASE + 64 * SCENE_MIB,
                               .offset = 2 * SCENE_MIB,
                               .kind = REASON_SHARED_MAPPING};
    shared->window = (struct window){.pid = 100, .space = &scene->space, .vma = &shared->vma};
    scene->candidate.target = NULL;
    scene->candidate.space = &shared->memory;
    scene->candidate.object = &shared->object;
    scene->candidate.through = &shared->window;
}

static enum reason decide(struct shared_scene *shared, struct move *move)
{
    return decide_range(&shared->machine.env, &shared->scene.candidate, move);
}

static void move_is_made_in_the_process_and_told_of_the_object(void **state)
{
    struct shared_scene shared;
    struct move move;

    (void)state;
    init(&shared);
    assert_int_equal(decide(&shared, &move), REASON_NONE);
    assert_int_equal(move.pid, 100);
    assert_true(move.start == SCENE_BASE + 2 * SCENE_MIB);
    assert_true(move.end == SCENE_BASE + 4 * SCENE_MIB);
    assert_true(move.object == 7 && move.offset == 4 * SCENE_MIB);
    assert_false(move.observe);
}

static void part_that_the_process_does_not_map_is_left_out(void **state)
{
    struct shared_scene shared;
    struct move move;

    (void)state;
    init(&shared);
    shared.vma.offset = 5 * SCENE_MIB;
    assert_int_equal(decide(&shared, &move), REASON_NONE);
    assert_true(move.start == SCENE_BASE && move.end == SCENE_BASE + SCENE_MIB);
    assert_true(move.offset == 4 * SCENE_MIB); /* the range is known by it */
    init(&shared);
    shared.vma.end = SCENE_BASE + 3 * SCENE_MIB;
    assert_int_equal(decide(&shared, &move), REASON_NONE);
    assert_true(move.start == SCENE_BASE + 2 * SCENE_MIB && move.end == SCENE_BASE + 3 * SCENE_MIB);
}

/* Wishes come before evidence; who else maps it is only asked where something is to be moved. */
static void reasons_of_shared_memory(void **state)
{
    struct shared_scene shared;
    struct move move;

    (void)state;
    init(&shared);
    shared.object.barred = REASON_SHARED_OUT_OF_SCOPE;
    assert_int_equal(decide(&shared, &move), REASON_SHARED_OUT_OF_SCOPE);
    shared.scene.range.claim = (struct claim){.node = -1, .shared = true};
    assert_int_equal(decide(&shared, &move), REASON_SHARED);
    shared.scene.candidate.owned = REASON_BIND;
    assert_int_equal(decide(&shared, &move), REASON_BIND);
    init(&shared);
    shared.object.barred = REASON_MAPPERS_UNKNOWN;
    assert_int_equal(decide(&shared, &move), REASON_MAPPERS_UNKNOWN);
    init(&shared);
    shared.scene.candidate.through = NULL;
    assert_int_equal(decide(&shared, &move), REASON_RESIDENCY_UNKNOWN);
    init(&shared);
    shared.scene.space.stuck = true;
    assert_int_equal(decide(&shared, &move), REASON_STUCK);
    init(&shared);
    shared.scene.space.policy_read_nsec = 0; /* of the process that it moves through */
    assert_int_equal(decide(&shared, &move), REASON_POLICY_UNKNOWN);
}

static void nodes_are_those_of_all_mappers(void **state)
{
    static bool allowed[SCENE_NODES] = {false, true, false};
    struct shared_scene shared;
    struct move move;

    (void)state;
    init(&shared);
    shared.object.mems_allowed = allowed;
    assert_int_equal(decide(&shared, &move), REASON_LOCAL);
}

/* Without CAP_SYS_NICE. */
static void denied_object_is_observed(void **state)
{
    struct shared_scene shared;
    struct move move;

    (void)state;
    init(&shared);
    shared.object.denied = true;
    assert_int_equal(decide(&shared, &move), REASON_NONE);
    assert_true(move.observe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(move_is_made_in_the_process_and_told_of_the_object),
        cmocka_unit_test(part_that_the_process_does_not_map_is_left_out),
        cmocka_unit_test(reasons_of_shared_memory),
        cmocka_unit_test(nodes_are_those_of_all_mappers),
        cmocka_unit_test(denied_object_is_observed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
