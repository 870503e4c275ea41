/* A page of shared memory may be in the page table of some mappers only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "attribute/object_residency.h"
#include "attribute/ranges.h"
#include "attribute/tally.h"
#include "object_rig.h"

#define A 100
#define B 200
#define C 300
#define AT_A 0x10000000
#define AT_B 0x50000000
#define AT_C 0x90000000
#define MAPS_A "10000000-11000000 rw-s 00000000 00:01 77 /dev/zero (deleted)\n"
#define MAPS_B "50000000-51000000 rw-s 00000000 00:01 77 /dev/zero (deleted)\n"
#define MAPS_C "90000000-91000000 rw-s 00000000 00:01 77 /dev/zero (deleted)\n"

static const struct work_ops no_ops;

/* Three mappers; A has most pages by its numa_maps, C none. B used the range last. */
static struct object *init(struct object_rig *rig)
{
    object_rig_init(rig, NULL);
    object_rig_map(rig, A, MAPS_A)->vmas.items[0].n_mapped = 100;
    object_rig_map(rig, B, MAPS_B)->vmas.items[0].n_mapped = 10;
    object_rig_map(rig, C, MAPS_C);
    object_rig_add(rig, B, 1, AT_B, 1);
    return object_rig_at(rig, A, AT_A);
}

static struct range *ask(struct object_rig *rig, struct object *object)
{
    struct object_residency *residency;

    rig->now += 10 * NSEC_PER_SEC;
    assert_int_equal(
        object_residency_new(&residency, object, &rig->fake.host, rig->now, &no_ops, NULL), 0);
    object_residency_run(&residency->request.work);
    assert_int_equal(object_residency_apply(residency, object, 0.6), 0);
    object_residency_free(&residency->request.work);
    return object_rig_range(object, 0);
}

static void mapper_with_most_pages_is_asked_first(void **state)
{
    struct object_rig rig;
    struct object *object = init(&rig);
    const struct range *range;

    (void)state;
    fake_host_place(&rig.fake, AT_A, AT_A + 16 * M, 0);
    fake_host_place(&rig.fake, AT_B, AT_B + 16 * M, 1); /* not asked: nothing was absent */
    range = ask(&rig, object);
    assert_true(range_resident_share(range, 0) == 1);
    assert_int_equal(range->through_pid, A);
    assert_int_equal(rig.fake.n_calls, 1);
    object_rig_deinit(&rig);
}

static void pages_that_one_has_not_touched_are_seen_through_another(void **state)
{
    struct object_rig rig;
    struct object *object = init(&rig);
    const struct range *range;

    (void)state;
    fake_host_place(&rig.fake, AT_A, AT_A + 1 * M / 2, 0);
    fake_host_place(&rig.fake, AT_B + 1 * M / 2, AT_B + 2 * M, 1);
    range = ask(&rig, object);
    assert_true(tally_total_n(&range->residency) == RESIDENCY_PAGES_PER_RANGE);
    assert_true(range_resident_share(range, 0) == 0.25);
    assert_int_equal(range->through_pid, B); /* which has three quarters */
    object_rig_deinit(&rig);
}

/* What is left to be moved decides, not what is there: else the rest would never move. */
static void mapper_that_has_the_misplaced_pages_serves(void **state)
{
    struct object_rig rig;
    struct object *object = init(&rig);
    struct range *range = object_rig_range(object, 0);

    (void)state;
    range->claim = (struct claim){.node = 1, .n_passes = CLAIM_PASSES};
    fake_host_place(&rig.fake, AT_A, AT_A + 7 * M / 4, 1);
    fake_host_place(&rig.fake, AT_B + 7 * M / 4, AT_B + 2 * M, 0);
    assert_int_equal(ask(&rig, object)->through_pid, B);
    assert_true(range_resident_share(range, 1) == 0.875);
    object_rig_deinit(&rig);
}

static void mapper_that_has_gone_or_is_stuck_is_passed_over(void **state)
{
    struct object_rig rig;
    struct object *object = init(&rig);

    (void)state;
    object_rig_range(object, 0)->through_pid = 999;
    object_find_window(object, A, 0, 2 * M)->space->stuck = true;
    fake_host_place(&rig.fake, AT_A, AT_A + 16 * M, 0);
    fake_host_place(&rig.fake, AT_B, AT_B + 16 * M, 1);
    assert_int_equal(ask(&rig, object)->through_pid, B);
    object_rig_deinit(&rig);
}

static void refused_question_goes_to_the_next_mapper(void **state)
{
    struct object_rig rig;
    struct object *object = init(&rig);

    (void)state;
    rig.fake.call_error = -ESRCH;
    assert_int_equal(ask(&rig, object)->through_pid, A); /* seen through nobody */
    assert_int_equal(rig.fake.n_calls, 2);               /* A, and B in both its roles once */
    assert_true(tally_total_n(&object_rig_range(object, 0)->residency) == 0);
    object_rig_deinit(&rig);
}

/* The mapper shows a part of the range: nothing beside that is asked of it. */
static void only_what_a_mapper_maps_is_asked_of_it(void **state)
{
    struct object_rig rig;
    struct object *object = init(&rig);

    (void)state;
    object_rig_map(&rig, B, "50000000-51000000 rw-p 00000000 00:00 0 \n");
    object_rig_map(&rig, A, "10000000-10100000 rw-s 00100000 00:01 77 /dev/zero (deleted)\n");
    fake_host_place(&rig.fake, 0, UINT64_MAX, 2); /* beside its mappings too */
    fake_host_place(&rig.fake, AT_C, AT_C + 16 * M, -ENOENT);
    assert_true(tally_total_n(&ask(&rig, object)->residency) == RESIDENCY_PAGES_PER_RANGE / 2);
    object_rig_deinit(&rig);
}

static void nothing_is_asked_that_was_seen_lately(void **state)
{
    struct object_rig rig;
    struct object *object = init(&rig);
    struct object_residency *residency;

    (void)state;
    ask(&rig, object);
    assert_int_equal(
        object_residency_new(&residency, object, &rig.fake.host, rig.now + 1, &no_ops, NULL),
        RESIDENCY_NOTHING_DUE);
    object_rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mapper_with_most_pages_is_asked_first),
        cmocka_unit_test(pages_that_one_has_not_touched_are_seen_through_another),
        cmocka_unit_test(mapper_that_has_the_misplaced_pages_serves),
        cmocka_unit_test(mapper_that_has_gone_or_is_stuck_is_passed_over),
        cmocka_unit_test(refused_question_goes_to_the_next_mapper),
        cmocka_unit_test(only_what_a_mapper_maps_is_asked_of_it),
        cmocka_unit_test(nothing_is_asked_that_was_seen_lately),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
