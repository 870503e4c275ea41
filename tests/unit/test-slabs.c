/* Slabs: memory that no finer evidence speaks of is looked at and moved by groups of 32 MiB. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute/groups.h"
#include "attribute/slabs.h"
#include "attribute/tally.h"
#include "space_rig.h"
#include "util/nsec.h"

#define BASE (32 * M)
#define PAGE ((uint64_t)4096)
#define SHARE 0.6
/* Two slabs: 64 MiB from 32 MiB on. */
#define ANON "2000000-6000000 rw-p 0 0:0 0 \n"

struct rig {
    struct space *space;
    uint64_t round;
};

static size_t rig_close(struct rig *rig)
{
    size_t n_dropped = 0;

    space_close_round(rig->space, SHARE, 1, ++rig->round * NSEC_PER_SEC, &n_dropped);
    return n_dropped;
}

/* Both slabs are confirmed for node 8 by a few samples in each 2 MiB of their first half. */
static void rig_init(struct rig *rig)
{
    *rig = (struct rig){.space = space_rig_new(ANON)};
    rig->space->min_share = SHARE;
    for (int round = 0; round < 2; round++) {
        for (uint64_t addr = BASE; addr < BASE + 64 * M; addr += 2 * M)
            if (addr % (32 * M) < 16 * M)
                space_rig_add(rig->space, 1, 8, addr, 4);
        rig_close(rig);
    }
    assert_int_equal(slab_node(rig->space, slab_find(rig->space, BASE)), 8);
}

static void rig_deinit(struct rig *rig)
{
    space_free(rig->space);
}

static void place(struct range *range, int node)
{
    tally_clear(&range->residency);
    tally_add(&range->residency, node, 16, 0);
    range->residency_nsec = 1;
}

static void what_agrees_makes_nothing_finer(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(HASH_COUNT(rig.space->ranges), 16);
    assert_int_equal(space_rig_add(rig.space, 1, 8, BASE + 20 * M, 1), 0);
    assert_null(space_find_range(rig.space, BASE + 20 * M));
    assert_int_equal(space_rig_add(rig.space, 2, 0, BASE + 20 * M, 1), 0); /* it disagrees */
    assert_non_null(space_find_range(rig.space, BASE + 20 * M));
    assert_non_null(space_find_ranked(rig.space, BASE + 20 * M, 1));
    rig_deinit(&rig);
}

static void what_lies_well_is_left_to_its_slab(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    place(space_find_range(rig.space, BASE), 8);
    place(space_find_range(rig.space, BASE + 2 * M), 0); /* still to be moved */
    assert_int_equal(rig_close(&rig), 1);
    assert_null(space_find_range(rig.space, BASE));
    assert_non_null(space_find_range(rig.space, BASE + 2 * M));
    rig_deinit(&rig);
}

/* A claim of its own is the range's, also where its decayed samples do not tell it from the rest.
 */
static void what_claims_otherwise_keeps_its_range(void **state)
{
    struct range *range;
    struct rig rig;

    (void)state;
    rig_init(&rig);
    range = space_find_range(rig.space, BASE);
    place(range, 8);
    tally_clear(&range->window);
    tally_clear(&range->history);
    range->claim = (struct claim){.node = 0, .n_passes = 1};
    rig_close(&rig);
    assert_non_null(space_find_range(rig.space, BASE));
    rig_deinit(&rig);
}

/* Whoever holds it: in a slab that looks shared each sample may say something new. */
static void in_what_looks_shared_all_is_finer(void **state)
{
    struct range *whole;
    struct rig rig;

    (void)state;
    rig_init(&rig);
    whole = space_find_ranked(rig.space, BASE, SLAB_RANK + 1);
    assert_int_equal(whole->claim.n_passes, CLAIM_PASSES);
    slab_find(rig.space, BASE)->claim = (struct claim){.node = -1, .looks_shared = true};
    space_rig_add(rig.space, 1, 8, BASE + 20 * M, 1);
    assert_non_null(space_find_range(rig.space, BASE + 20 * M));
    rig_deinit(&rig);
}

/* Two slabs whose halves belong to two nodes: only the groups of 8 MiB say which. */
static void rig_init_shared(struct rig *rig)
{
    *rig = (struct rig){.space = space_rig_new(ANON)};
    rig->space->min_share = SHARE;
    for (int round = 0; round < 8; round++) {
        for (uint64_t addr = BASE; addr < BASE + 64 * M; addr += 2 * M) {
            bool upper = addr % (32 * M) >= 16 * M;

            space_rig_add(rig->space, 1 + upper, upper ? 0 : 8, addr, 4);
        }
        rig_close(rig);
    }
    assert_int_equal(space_find_ranked(rig->space, BASE, 1)->claim.node, 8);
    assert_true(space_find_ranked(rig->space, BASE, 1)->claim.n_passes >= CLAIM_PASSES);
    assert_int_equal(slab_find(rig->space, BASE)->claim.node, -1);
}

/*
 * Named after the bug: ranges of a confirmed group of 8 MiB were left to a slab that stood for none
 * of their memory, and nobody looked at it any more.
 */
static void what_its_slab_does_not_speak_for_keeps_its_range(void **state)
{
    struct rig rig;

    (void)state;
    rig_init_shared(&rig);
    place(space_find_range(rig.space, BASE), 8);
    rig_close(&rig);
    assert_non_null(space_find_range(rig.space, BASE));
    rig_deinit(&rig);
}

/* Named after the same bug: what was forgotten there never came back, as its group knew its node.
 */
static void what_its_slab_does_not_speak_for_gets_its_range_back(void **state)
{
    struct rig rig;

    (void)state;
    rig_init_shared(&rig);
    space_find_range(rig.space, BASE)->residency_nsec = 1; /* it has no pages */
    for (int round = 0; round < 600 && space_find_range(rig.space, BASE); round++) {
        space_rig_add(rig.space, 1, 8, BASE + 2 * M, 4);
        space_rig_add(rig.space, 2, 0, BASE + 18 * M, 4);
        rig_close(&rig);
    }
    assert_null(space_find_range(rig.space, BASE));
    assert_true(space_find_ranked(rig.space, BASE, 1)->claim.n_passes >= CLAIM_PASSES);
    assert_int_equal(slab_find(rig.space, BASE)->claim.node, -1);
    space_rig_add(rig.space, 1, 8, BASE, 1);
    assert_non_null(space_find_range(rig.space, BASE));
    rig_deinit(&rig);
}

/*
 * Named after the bug: samples in a slab's memory were never local ones, and those that opened a
 * range told nothing of where they went until it had been looked at.
 */
static void what_a_slab_holds_is_local_or_remote(void **state)
{
    const struct access access = {.when_nsec = 1, .addr = BASE + 20 * M, .weight_sec = 1};
    struct rig rig;
    bool made = false;

    (void)state;
    rig_init(&rig);
    place(slab_find(rig.space, BASE), 8);
    space_count_fault(rig.space, &access, 8);
    assert_true(rig.space->autonuma.n_local == 1);
    rig.space->round_sec = rig.space->round_remote_sec = 0;
    assert_int_equal(space_add_access(rig.space, &access, 8, GRAIN_RANGES, &made), 0);
    assert_true(!made && rig.space->round_sec == 1 && rig.space->round_remote_sec == 0);
    assert_int_equal(space_add_access(rig.space, &access, 0, GRAIN_RANGES, &made), 0);
    assert_true(made && rig.space->round_sec == 2 && rig.space->round_remote_sec == 1);
    rig_deinit(&rig);
}

static void what_has_a_range_or_another_claim_is_left_out(void **state)
{
    uint64_t start = 0, end;
    struct range *slab;
    struct rig rig;

    (void)state;
    rig_init(&rig);
    slab = slab_find(rig.space, BASE);
    assert_int_equal(slab_bytes(rig.space, slab, 8), 16 * M);
    assert_true(slab_next(rig.space, slab, 8, 10 * M, &start, &end));
    assert_true(start == BASE + 16 * M && end == BASE + 26 * M); /* not more than asked for */
    start = end;
    assert_true(slab_next(rig.space, slab, 8, 10 * M, &start, &end));
    assert_true(start == BASE + 26 * M && end == BASE + 32 * M);
    start = end;
    assert_false(slab_next(rig.space, slab, 8, 10 * M, &start, &end));
    space_rig_add(rig.space, 2, 0, BASE + 20 * M, 3);
    assert_int_equal(slab_bytes(rig.space, slab, 8), 14 * M);
    space_find_ranked(rig.space, BASE + 20 * M, 1)->claim = (struct claim){.n_passes = 1};
    assert_int_equal(slab_bytes(rig.space, slab, 8), 8 * M);
    start = 0;
    assert_true(slab_next(rig.space, slab, 8, 32 * M, &start, &end));
    assert_true(start == BASE + 24 * M && end == BASE + 32 * M);
    rig_deinit(&rig);
}

/* Named after the bug: pages of the ranges were looked at too, and planned again in each round. */
static void only_what_it_stands_for_is_looked_at(void **state)
{
    uint16_t pages[16]; /* numbers inside of the slab */
    struct rig rig;

    (void)state;
    rig_init(&rig);
    for (unsigned turn = 0; turn < 3000; turn += 7) {
        uint64_t last = 0;

        assert_int_equal(
            slab_choose_pages(rig.space, slab_find(rig.space, BASE), PAGE, turn, pages, 16), 16);
        for (size_t i = 0; i < 16; i++) {
            uint64_t page = pages[i];

            assert_true(page >= 16 * M / PAGE && page < 32 * M / PAGE);
            assert_true(i % 8 == 0 || page - last == 2 * M / PAGE); /* spread over all pieces */
            last = page;
        }
    }
    rig_deinit(&rig);
}

static void a_slab_without_memory_of_its_own_is_not_looked_at(void **state)
{
    uint16_t pages[16]; /* numbers inside of the slab */
    struct rig rig;

    (void)state;
    rig_init(&rig);
    for (uint64_t addr = BASE; addr < BASE + 32 * M; addr += 2 * M)
        space_rig_add(rig.space, 2, 0, addr, 1);
    assert_int_equal(slab_choose_pages(rig.space, slab_find(rig.space, BASE), PAGE, 0, pages, 16),
                     0);
    rig_deinit(&rig);
}

/* Named after the bug: a thread that commutes took its memory along 120 times instead of 9. */
static void moves_back_and_forth_are_remembered_without_the_range(void **state)
{
    struct range *range;
    struct rig rig;

    (void)state;
    rig_init(&rig);
    range = space_find_range(rig.space, BASE);
    place(range, 8);
    range->moved_nsec = 7;
    range->moved_from = 3;
    range->n_returns = 4;
    range->cool_down_nsec = 99;
    rig_close(&rig);
    assert_null(space_find_range(rig.space, BASE));
    assert_int_equal(slab_find(rig.space, BASE)->n_returns, 4);
    space_rig_add(rig.space, 2, 0, BASE, 1);
    range = space_find_range(rig.space, BASE);
    assert_non_null(range);
    assert_int_equal(range->n_returns, 4);
    assert_int_equal(range->moved_from, 3);
    assert_int_equal(range->cool_down_nsec, 99);
    rig_deinit(&rig);
}

/* Named after the simulation: of 2 TiB one half was never looked at, as the table was full. */
static void what_lies_well_makes_room_in_a_full_table(void **state)
{
    struct range *slab;
    struct rig rig;

    (void)state;
    rig_init(&rig);
    slab = slab_find(rig.space, BASE);
    place(slab, 8);
    slab->moved_nsec = 7;
    slab->n_returns = 3;
    place(slab_find(rig.space, BASE + 32 * M), 0); /* still to be moved */
    rig_close(&rig);
    assert_ptr_equal(slab_find(rig.space, BASE), slab); /* there is room */
    rig.space->pressed = true;
    rig_close(&rig);
    assert_null(slab_find(rig.space, BASE));
    assert_non_null(slab_find(rig.space, BASE + 32 * M));
    assert_int_equal(space_find_ranked(rig.space, BASE, SLAB_RANK + 1)->n_returns, 3);
    space_rig_add(rig.space, 2, 0, BASE, 1); /* it disagrees: the slab is needed again */
    assert_int_equal(slab_find(rig.space, BASE)->n_returns, 3);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_agrees_makes_nothing_finer),
        cmocka_unit_test(what_lies_well_is_left_to_its_slab),
        cmocka_unit_test(what_claims_otherwise_keeps_its_range),
        cmocka_unit_test(in_what_looks_shared_all_is_finer),
        cmocka_unit_test(what_its_slab_does_not_speak_for_keeps_its_range),
        cmocka_unit_test(what_its_slab_does_not_speak_for_gets_its_range_back),
        cmocka_unit_test(what_a_slab_holds_is_local_or_remote),
        cmocka_unit_test(what_has_a_range_or_another_claim_is_left_out),
        cmocka_unit_test(only_what_it_stands_for_is_looked_at),
        cmocka_unit_test(a_slab_without_memory_of_its_own_is_not_looked_at),
        cmocka_unit_test(moves_back_and_forth_are_remembered_without_the_range),
        cmocka_unit_test(what_lies_well_makes_room_in_a_full_table),
    };

    return cmocka_run_group_tests_name("slabs", tests, NULL, NULL);
}
