/* Slabs go in pieces; what waits can be taken back. */
#include "migrate_bed.h"

#include "attribute/slabs.h"

static void what_waits_is_recalled_and_does_nothing(void **state)
{
    struct bed *bed = *state;
    struct config config = {.interval_nsec = NSEC_PER_SEC,
                            .migration_rate_bytes = 64 * RANGE_BYTES};
    uint64_t before[8], after[8];

    migrate_allowance(bed->migrate, &config, before);
    plan_moves(bed, PID, 2, 0, 4);
    plan_moves(bed, PID, 0, 4, 1);
    submit(bed);
    migrate_recall(bed->migrate);
    assert_int_equal(bed->n_seen, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(bed->seen[i].recalled);
        assert_int_equal(bed->seen[i].ledger.n_tried, 0);
    }
    dispatch(bed);
    assert_int_equal(bed->n_seen, 2);
    assert_int_equal(model_n_calls(&bed->model, MODEL_CALL_MOVE, PID), 0);
    assert_int_equal(migrate_counts(bed->migrate)->ledger.n_tried, 0);
    migrate_allowance(bed->migrate, &config, after);
    assert_memory_equal(before, after, sizeof before[0] * (size_t)bed->topology->n_node_ids);
}

/* Forgets all ranges of the slab but its ninth. Return: the slab. */
static struct range *make_slab(struct bed *bed)
{
    struct space *space = attribute_find(bed->attribute, PID);
    struct range *slab = slab_find(space, MODEL_BASE + 64 * RANGE_BYTES);
    struct range *range, *next;

    assert_non_null(slab);
    assert_int_equal(slab->end - slab->start, 16 * RANGE_BYTES);
    HASH_ITER (hh, space->ranges, range, next) {
        if (range->start < slab->start || range->start >= slab->end ||
            range->start == slab->start + 8 * RANGE_BYTES)
            continue;
        HASH_DEL(space->ranges, range);
        range_free(range);
    }
    slab->claim = (struct claim){.node = 0, .n_passes = CLAIM_PASSES};
    return slab;
}

/* 8 of 2 MiB before the one with a range of its own, 7 behind it. */
static void a_slab_travels_in_pieces_without_its_ranges(void **state)
{
    struct bed *bed = *state;
    struct range *slab = make_slab(bed);

    plan_moves(bed, PID, 0, 0, 1);
    bed->plan.moves[0] = (struct move){.pid = PID,
                                       .start = slab->start,
                                       .end = slab->end,
                                       .rank = slab->rank,
                                       .size = 15 * RANGE_BYTES,
                                       .node = 0,
                                       .bytes = 15 << 16};
    submit(bed);
    assert_int_equal(slab->moving, 2);
    assert_false(
        space_find_range(attribute_find(bed->attribute, PID), slab->start + 8 * RANGE_BYTES)
            ->moving);
    assert_int_equal(allowance(bed, 0), (1 << 30) - (15 << 16));
    dispatch(bed);
    assert_int_equal(bed->n_seen, 2);
    assert_int_equal(bed->seen[0].n_pages, 8 * 512);
    assert_int_equal(bed->seen[1].n_pages, 7 * 512);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_waits_is_recalled_and_does_nothing),
        TEST(a_slab_travels_in_pieces_without_its_ranges),
    };

    return cmocka_run_group_tests_name("migrate-pieces", tests, NULL, NULL);
}
