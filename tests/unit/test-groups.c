/* Groups: evidence where a range of 2 MiB has too few samples of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute/groups.h"
#include "attribute/slabs.h"
#include "space_rig.h"
#include "util/array.h"
#include "util/nsec.h"

#define G ((uint64_t)1 << 30)
#define BASE (16 * M)
/* 64 MiB at 16 MiB: groups of 8 and 32 MiB, and the whole. */
#define ANON "1000000-5000000 rw-p 0 0:0 0 \n"
/* 4 GiB: groups of all sizes */
#define LARGE "1000000-101000000 rw-p 0 0:0 0 \n"
#define SHARE 0.6

static const struct {
    const char *shows;
    uint64_t vma_start, vma_end, addr;
    unsigned level;
    uint64_t start, end;
} bounds[] = {
    {"8 MiB", 0, 4 * G, 1030 * M, 0, 1024 * M, 1032 * M},
    {"32 MiB", 0, 4 * G, 1060 * M, 1, 1056 * M, 1088 * M},
    {"128 MiB", 0, 4 * G, 1160 * M, 2, 1152 * M, 1280 * M},
    {"512 MiB", 0, 4 * G, 1600 * M, 3, 1536 * M, 2048 * M},
    {"the whole VMA", M, 4 * G - M, 1600 * M, 4, M, 4 * G - M},
    {"cut at the VMA's borders", 1025 * M, 1029 * M, 1026 * M, 0, 1025 * M, 1029 * M},
    {"at the end of all addresses", UINT64_MAX - 4 * M, UINT64_MAX, UINT64_MAX - 1, 3,
     UINT64_MAX - 4 * M, UINT64_MAX},
};

static void test_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(bounds); i++) {
        const struct vma vma = {.start = bounds[i].vma_start, .end = bounds[i].vma_end};
        uint64_t start, end;

        print_message("  %s\n", bounds[i].shows);
        group_bounds(&vma, bounds[i].addr, bounds[i].level, &start, &end);
        assert_true(start == bounds[i].start && end == bounds[i].end);
    }
}

/* Two rounds of n samples in each range of [from, to). */
static void use(struct space *space, int node, uint64_t from, uint64_t to, unsigned n)
{
    for (uint64_t round = 1; round <= 2; round++) {
        size_t n_dropped;

        for (uint64_t addr = from; addr < to; addr += 2 * M)
            space_rig_add(space, 1, node, addr, n);
        space_close_round(space, SHARE, 1, round * NSEC_PER_SEC, &n_dropped);
    }
}

static const struct range *evidence_at(const struct space *space, uint64_t addr)
{
    const struct range *range = space_find_range(space, addr);

    assert_non_null(range);
    return space_find_evidence(space, range, SHARE);
}

static bool covers(const struct range *range, uint64_t start, uint64_t end)
{
    return range->start == start && range->end == end;
}

static void test_the_smallest_range_with_enough_samples(void **state)
{
    static const struct {
        unsigned n; /* samples for each 2 MiB and round */
        uint64_t start, end;
    } cases[] = {
        {14, BASE, BASE + 2 * M},
        {4, BASE, BASE + 16 * M}, /* that of 8 MiB would say the same as the one of 32 */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct space *space = space_rig_new(ANON);

        use(space, 8, BASE, BASE + 64 * M, cases[i].n);
        assert_true(covers(evidence_at(space, BASE), cases[i].start, cases[i].end));
        assert_int_equal(evidence_at(space, BASE)->claim.node, 8);
        space_free(space);
    }
}

static void test_one_sample_in_each_decides_the_whole(void **state)
{
    struct space *space = space_rig_new(ANON);

    (void)state;
    use(space, 8, BASE, BASE + 64 * M, 1);
    assert_true(evidence_at(space, BASE)->end - evidence_at(space, BASE)->start > 8 * M);
    assert_int_equal(range_evidence(evidence_at(space, BASE)), REASON_NONE);
    assert_int_equal(range_evidence(space_find_range(space, BASE)), REASON_FEW_SAMPLES);
    space_free(space);
}

static void test_a_range_that_disagrees_keeps_its_own(void **state)
{
    struct space *space = space_rig_new(ANON);
    const struct range *other;

    (void)state;
    space_rig_add(space, 1, 0, BASE, 3); /* used by another node than all around it */
    use(space, 8, BASE + 2 * M, BASE + 64 * M, 4);
    other = space_find_range(space, BASE);
    assert_ptr_equal(space_find_evidence(space, other, SHARE), other);
    assert_int_equal(range_evidence(other), REASON_FEW_SAMPLES);
    assert_ptr_not_equal(evidence_at(space, BASE + 2 * M), space_find_range(space, BASE + 2 * M));
    space_free(space);
}

static void test_a_shared_group_decides_nothing_above_it(void **state)
{
    struct space *space = space_rig_new(ANON);

    (void)state;
    for (uint64_t addr = BASE + 2 * M; addr < BASE + 8 * M; addr += 2 * M) { /* 240 in 8 MiB */
        space_rig_add(space, 1, 0, addr, 40);
        space_rig_add(space, 2, 8, addr, 40);
    }
    space_rig_add(space, 2, 8, BASE, 1); /* agrees with the whole, and is too little alone */
    use(space, 8, BASE + 8 * M, BASE + 64 * M, 100);
    assert_true(space->groups[2]->claim.n_passes >= CLAIM_PASSES); /* 128 MiB: the whole VMA */
    assert_ptr_equal(evidence_at(space, BASE), space_find_range(space, BASE));
    assert_int_equal(range_evidence(evidence_at(space, BASE)), REASON_FEW_SAMPLES);
    space_free(space);
}

static const struct range *group_at(const struct space *space, unsigned level, uint64_t start)
{
    const struct range *group;

    HASH_FIND(hh, space->groups[level], &start, sizeof start, group);
    assert_non_null(group);
    return group;
}

/* The same with half as many: likely is not sure, and sparse memory may have nothing better. */
static void test_a_group_that_looks_shared_leaves_it_to_those_above(void **state)
{
    struct space *space = space_rig_new(ANON);

    (void)state;
    for (uint64_t addr = BASE + 2 * M; addr < BASE + 8 * M; addr += 2 * M) {
        space_rig_add(space, 1, 0, addr, 20);
        space_rig_add(space, 2, 8, addr, 20);
    }
    space_rig_add(space, 2, 8, BASE, 1);
    use(space, 8, BASE + 8 * M, BASE + 64 * M, 100);
    assert_int_equal(range_evidence(group_at(space, 0, BASE)), REASON_SHARED);
    assert_true(covers(evidence_at(space, BASE), BASE, BASE + 16 * M));
    assert_int_equal(evidence_at(space, BASE)->claim.node, 8);
    space_find_range(space, BASE)->claim.looks_shared = true; /* nor does its own label */
    assert_true(covers(evidence_at(space, BASE), BASE, BASE + 16 * M));
    space_free(space);
}

/* One sample a round in each range, from node 0 below the middle and from node 8 above it. */
static void test_halves_of_what_looks_shared_pass_by_themselves(void **state)
{
    struct space *space = space_rig_new(ANON);
    size_t n_dropped;

    (void)state;
    for (uint64_t round = 1; round <= 10; round++) {
        for (uint64_t addr = BASE; addr < BASE + 64 * M; addr += 2 * M)
            space_rig_add(space, 1, addr < BASE + 32 * M ? 0 : 8, addr, 1);
        space_close_round(space, SHARE, 1, round * NSEC_PER_SEC, &n_dropped);
    }
    assert_int_equal(range_evidence(group_at(space, 2, BASE)), REASON_SHARED);
    assert_int_equal(range_evidence(group_at(space, 1, 32 * M)), REASON_SHARED);
    for (uint64_t addr = BASE; addr < BASE + 64 * M; addr += 2 * M) {
        assert_int_equal(range_evidence(evidence_at(space, addr)), REASON_NONE);
        assert_int_equal(evidence_at(space, addr)->claim.node, addr < BASE + 32 * M ? 0 : 8);
    }
    space_free(space);
}

static void test_no_group_of_the_same_size(void **state)
{
    struct space *space = space_rig_new("1000000-1100000 rw-p 0 0:0 0 \n"
                                        "1200000-1600000 rw-p 0 0:0 0 \n");

    (void)state;
    space_rig_add(space, 1, 0, BASE, 1); /* a VMA of one range */
    assert_null(space->groups[0]);
    assert_null(space->groups[GROUP_LEVELS - 1]);
    space_rig_add(space, 1, 0, BASE + 2 * M, 1); /* one of two */
    assert_true(covers(space->groups[0], BASE + 2 * M, BASE + 6 * M));
    for (unsigned level = 1; level < GROUP_LEVELS; level++)
        assert_null(space->groups[level]);
    space_free(space);
}

static void test_gaps_go_along(void **state)
{
    struct space *space = space_rig_new(ANON);
    size_t n_dropped;

    (void)state;
    assert_int_equal(space_fill_slabs(space, 100), 0);
    use(space, 8, BASE, BASE + 48 * M, 4); /* two of three slabs */
    assert_int_equal(HASH_COUNT(space->ranges), 24);
    assert_int_equal(HASH_COUNT(space->groups[SLAB_LEVEL]), 2);
    assert_int_equal(space_fill_slabs(space, 0), 0);
    assert_int_equal(space_fill_slabs(space, 100), 1);
    assert_int_equal(space_fill_slabs(space, 100), 0);
    assert_true(covers(group_at(space, SLAB_LEVEL, BASE + 48 * M), BASE + 48 * M, BASE + 64 * M));
    assert_int_equal(slab_node(space, group_at(space, SLAB_LEVEL, BASE + 48 * M)), 8);
    assert_int_equal(space_fill_gaps(space, 100), 0); /* slabs speak for all */
    space_close_round(space, SHARE, 1, 3 * NSEC_PER_SEC, &n_dropped);
    assert_int_equal(n_dropped, 0);
    assert_int_equal(HASH_COUNT(space->groups[SLAB_LEVEL]), 3); /* kept without samples */
    space_free(space);
}

/* A mapping of 8 MiB has no slab. */
static void test_gaps_of_small_mappings_go_along(void **state)
{
    struct space *space = space_rig_new("1000000-1800000 rw-p 0 0:0 0 \n");
    size_t n_dropped;

    (void)state;
    use(space, 8, BASE, BASE + 4 * M, 8);
    assert_int_equal(space_fill_slabs(space, 100), 0);
    assert_int_equal(space_fill_gaps(space, 1), 1);
    assert_int_equal(space_fill_gaps(space, 100), 1);
    assert_int_equal(space_fill_gaps(space, 100), 0);
    assert_true(covers(space_find_range(space, BASE + 6 * M), BASE + 6 * M, BASE + 8 * M));
    assert_int_equal(evidence_at(space, BASE + 6 * M)->claim.node, 8);
    space_close_round(space, SHARE, 1, 3 * NSEC_PER_SEC, &n_dropped);
    assert_int_equal(n_dropped, 0); /* kept though no sample fell into them */
    space_free(space);
}

static void test_groups_live_as_long_as_their_mapping(void **state)
{
    struct space *space = space_rig_new(ANON);

    (void)state;
    use(space, 8, BASE, BASE + 64 * M, 4);
    space_rig_set(space, "1000000-5000000 rw-p 0 0:0 0 \n");
    assert_true(covers(evidence_at(space, BASE), BASE, BASE + 16 * M));
    space_rig_set(space, "1000000-1400000 rw-p 0 0:0 0 \n"); /* 4 MiB are left */
    assert_ptr_equal(evidence_at(space, BASE), space_find_range(space, BASE));
    for (unsigned level = 0; level < GROUP_LEVELS; level++)
        assert_null(space->groups[level]);
    space_free(space);
}

static void test_groups_grow_with_their_vma(void **state)
{
    struct space *space = space_rig_new("1000000-1700000 rw-p 0 0:0 0 \n");

    (void)state;
    use(space, 8, BASE, BASE + 6 * M, 5);
    assert_true(covers(evidence_at(space, BASE), BASE, BASE + 7 * M));
    space_rig_set(space, "1000000-9000000 rw-p 0 0:0 0 \n");
    assert_true(covers(evidence_at(space, BASE), BASE, BASE + 8 * M));
    space_free(space);
}

static void test_groups_are_forgotten(void **state)
{
    struct space *space = space_rig_new(ANON);
    size_t n_dropped;

    (void)state;
    use(space, 8, BASE, BASE + 64 * M, 4);
    assert_non_null(space->groups[SLAB_LEVEL]);
    for (uint64_t round = 3; round < 1500; round++)
        space_close_round(space, SHARE, 1, round * NSEC_PER_SEC, &n_dropped);
    for (unsigned level = 0; level < GROUP_LEVELS; level++)
        assert_null(space->groups[level]);
    assert_null(space->ranges);
    space_free(space);
}

/* The addresses of one sample in several ranges of a group. */
static void test_one_sample_is_one_observation_of_a_group(void **state)
{
    struct space *space = space_rig_new(ANON);
    bool made = false;

    (void)state;
    for (uint64_t i = 0; i < 40; i++) {
        const struct access access = {
            .when_nsec = 1 + i / 4, .tid = 1, .addr = BASE + i % 4 * 2 * M, .weight_sec = 0.001};

        assert_int_equal(space_add_access(space, &access, 0, GRAIN_RANGES, &made), 0);
    }
    assert_true(tally_n(&space->groups[0]->window, 0) == 10);
    assert_true(tally_sec(&space->groups[0]->window, 0) > 0.0399);
    space_free(space);
}

/* Named after the bug: memory too large for the table was never decided, as nothing counted it. */
static void test_groups_learn_what_has_no_range(void **state)
{
    struct space *space = space_rig_new(LARGE);
    struct access access = {.when_nsec = 1, .tid = 1, .addr = BASE, .weight_sec = 0.001};
    bool made = false;

    (void)state;
    assert_int_equal(space_add_access(space, &access, 0, 3, &made), SPACE_CAPPED);
    assert_false(made);
    assert_null(space->ranges);
    assert_true(!space->groups[0] && !space->groups[1]);
    assert_true(space->groups[2] && space->groups[3] && space->groups[4]); /* from 128 MiB on */
    access.when_nsec++;
    access.addr += 4 * M;
    assert_int_equal(space_add_access(space, &access, 0, GRAIN_NONE, &made), SPACE_CAPPED);
    assert_true(tally_n(&space->groups[2]->window, 0) == 2);
    assert_true(tally_n(&space->groups[4]->window, 0) == 2);
    access.when_nsec++;
    access.addr += 1024 * M;
    assert_int_equal(space_add_access(space, &access, 0, GRAIN_NONE, &made), SPACE_CAPPED);
    assert_int_equal(HASH_COUNT(space->groups[2]), 1);
    assert_true(tally_n(&space->groups[4]->window, 0) == 3);
    space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_the_smallest_range_with_enough_samples),
        cmocka_unit_test(test_one_sample_in_each_decides_the_whole),
        cmocka_unit_test(test_a_range_that_disagrees_keeps_its_own),
        cmocka_unit_test(test_a_shared_group_decides_nothing_above_it),
        cmocka_unit_test(test_a_group_that_looks_shared_leaves_it_to_those_above),
        cmocka_unit_test(test_halves_of_what_looks_shared_pass_by_themselves),
        cmocka_unit_test(test_no_group_of_the_same_size),
        cmocka_unit_test(test_gaps_go_along),
        cmocka_unit_test(test_gaps_of_small_mappings_go_along),
        cmocka_unit_test(test_groups_live_as_long_as_their_mapping),
        cmocka_unit_test(test_groups_grow_with_their_vma),
        cmocka_unit_test(test_groups_learn_what_has_no_range),
        cmocka_unit_test(test_groups_are_forgotten),
        cmocka_unit_test(test_one_sample_is_one_observation_of_a_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
