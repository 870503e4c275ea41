/*
 * What a round makes of the model. How evidence decays and how it is judged have tests of their
 * own: the factors and the claims are taken over from the store. What follows from them is the
 * model's: which pieces go, which stay, and which come without a sample.
 */
#include "learned.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <math.h>

#include "attribute/groups.h"
#include "attribute/space.h"
#include "attribute/tally.h"
#include "learned_pieces.h"

/* Two half-lives are no shorter than two rounds. */
#define DECAY_MOST M_SQRT1_2
/* With less, what a piece's own samples say does not count. */
#define FEW_SAMPLES 0.5

struct closing {
    struct learned *learned;
    const struct space *space;
    const int *nodes;
    struct learned_counts *counts;
};

typedef void piece_verb(const struct closing *closing, unsigned level, size_t first);

static void for_each_known(const struct closing *closing, piece_verb *verb)
{
    for (unsigned level = 0; level < VM_LEVELS; level++)
        for (size_t i = 0; i < VM_CELLS; i++)
            if (closing->learned->cells[level][i].known)
                verb(closing, level, i);
}

static void look(const struct closing *closing, unsigned level, size_t first)
{
    const struct range *range = piece_find(closing->space, level, first);
    struct learned_cell *piece = &closing->learned->cells[level][first];

    assert_non_null(range);
    piece->bound = range->bound_thread;
    piece->empty = range->residency_nsec && tally_total_n(&range->residency) <= 0;
    for (unsigned node = 0; node < LEARNED_NODES; node++)
        piece->all_on[node] = range_resident_share(range, closing->nodes[node]) == 1;
}

void learned_look(struct learned *learned, const struct space *space,
                  const int nodes[LEARNED_NODES])
{
    for_each_known(&(struct closing){.learned = learned, .space = space, .nodes = nodes}, look);
}

static void scale(struct learned *learned, unsigned level, size_t first, double factor)
{
    size_t start, end;

    vm_piece(&learned->seen, first, level, &start, &end);
    for (size_t i = first; i < end; i++)
        for (unsigned node = 0; node < LEARNED_NODES; node++)
            learned->cells[level][i].n[node] *= factor;
}

/* What was made since the round ended has seen no time yet: the old one went. */
static void take_over(const struct closing *closing, unsigned level, size_t first)
{
    const struct range *range = piece_find(closing->space, level, first);
    struct learned_cell *piece = &closing->learned->cells[level][first];
    const struct learned_cell sum = piece_sum(closing->learned, level, first);
    double n = piece_total(&sum), factor;

    piece->gone = !range || range->rate_sec <= 0;
    if (piece->gone)
        return;
    factor = n > 0 ? tally_total_n(&range->rate) / n : 1;
    assert_true(factor >= DECAY_MOST - CLOSE && factor <= 1 + CLOSE);
    scale(closing->learned, level, first, factor);
    piece->claim = learned_claim_of(range, closing->nodes);
    piece->bound = range->bound_thread;
}

/* The piece as it was judged. Of one that has gone, n is the least and the claim the last known. */
struct judged {
    struct learned_cell sum;
    double n;
    double slack; /* of one that has gone in favour of that, else against it */
};

static struct judged judged_of(const struct closing *closing, unsigned level, size_t first)
{
    struct judged judged = {.sum = piece_sum(closing->learned, level, first)};

    judged.n = piece_total(&judged.sum) * (judged.sum.gone ? DECAY_MOST : 1);
    judged.slack = judged.sum.gone ? CLOSE : -CLOSE;
    return judged;
}

static bool is_decayed(const struct judged *judged)
{
    return judged->n <= RANGE_FORGET_SAMPLES + judged->slack;
}

/*
 * Does it say nothing but what the claim of a larger one does? A claim of its own that ended in
 * this very round is not known any more where it has gone.
 */
static bool says_the_same(const struct closing *closing, const struct judged *judged,
                          const struct learned_cell *above)
{
    const struct learned_claim *own = &judged->sum.claim;
    double n = piece_total(&judged->sum);

    if (!above)
        return false;
    if (!judged->sum.gone &&
        (own->shared || own->looks_shared || (own->n_passes && own->node != above->claim.node)))
        return false;
    return judged->n < FEW_SAMPLES + judged->slack ||
           judged->sum.n[above->claim.node] / n > closing->space->min_share - judged->slack;
}

/* Do the samples of the piece around the cell, if there are any, allow that it belongs to `node`?
 */
static bool allows(const struct closing *closing, unsigned level, size_t cell, unsigned node)
{
    struct learned_cell *piece = piece_around(closing->learned, level, cell);
    const struct learned_cell sum =
        piece_sum(closing->learned, level, (size_t)(piece - closing->learned->cells[level]));
    double n = piece_total(&sum);

    return n < FEW_SAMPLES || sum.n[node] / n > closing->space->min_share;
}

/* Does the group of 8 MiB around the cell, if there is one, let it go along with its slab? */
static bool small_goes_along(const struct closing *closing, size_t cell, unsigned node)
{
    const struct learned_cell *small = piece_around(closing->learned, 1, cell);

    if (!small->known || small->gone)
        return true;
    return !small->claim.shared && !small->claim.looks_shared &&
           (!small->claim.n_passes || small->claim.node == node);
}

/* Is the memory around the cell its slab's where it has no range, to be moved to `node`? */
static bool slab_speaks(const struct closing *closing, size_t cell, unsigned node)
{
    const struct learned_cell *slab = piece_around(closing->learned, SLAB, cell);
    const struct learned_cell *above = piece_above(closing->learned, SLAB, cell, CLAIM_PASSES);
    const struct learned_claim *claim = &slab->claim;

    if (!slab->known || slab->gone || !small_goes_along(closing, cell, node))
        return false;
    if (!claim->shared && claim->n_passes < CLAIM_PASSES && above &&
        allows(closing, SLAB, cell, above->claim.node))
        claim = &above->claim;
    return claim->n_passes && claim->node == node;
}

/* A range that lies where a confirmed group says is its slab's, if that speaks for it. */
static bool is_settled(const struct closing *closing, const struct judged *judged, size_t first)
{
    const struct learned_cell *above = piece_above(closing->learned, 0, first, CLAIM_PASSES);

    return says_the_same(closing, judged, above) && judged->sum.all_on[above->claim.node] &&
           slab_speaks(closing, first, above->claim.node);
}

static bool range_goes(const struct closing *closing, const struct judged *judged, size_t first)
{
    const struct learned_claim *own = &judged->sum.claim;

    if (is_settled(closing, judged, first))
        return true;
    return is_decayed(judged) && (judged->sum.empty || own->shared || own->n_passes ||
                                  !piece_above(closing->learned, 0, first, 1));
}

/* A group of 8 MiB is left to the next one that has passed, if that is confirmed. */
static bool is_superfluous(const struct closing *closing, const struct judged *judged, size_t first)
{
    const struct learned_cell *above = piece_above(closing->learned, 1, first, 1);

    return above && above->claim.n_passes >= CLAIM_PASSES && says_the_same(closing, judged, above);
}

static bool piece_goes(const struct closing *closing, const struct judged *judged, unsigned level,
                       size_t first)
{
    if (judged->sum.bound)
        return false;
    if (level == 0)
        return range_goes(closing, judged, first);
    if (level == 1 && is_superfluous(closing, judged, first))
        return true;
    return is_decayed(judged) && (level != SLAB || !piece_above(closing->learned, SLAB, first, 1));
}

static void judge(const struct closing *closing, unsigned level, size_t first)
{
    const struct judged judged = judged_of(closing, level, first);

    assert_int_equal(piece_goes(closing, &judged, level, first), judged.sum.gone);
    closing->counts->n_left_to_larger += judged.sum.gone && !is_decayed(&judged);
}

static void forget_gone(const struct closing *closing, unsigned level, size_t first)
{
    if (closing->learned->cells[level][first].gone)
        piece_forget(closing->learned, level, first);
}

/* Does the slab around a group of 8 MiB speak for it too? */
static bool is_covered(const struct closing *closing, size_t cell)
{
    const struct learned_cell *small = piece_around(closing->learned, 1, cell);
    const struct learned_cell *slab = piece_around(closing->learned, SLAB, cell);

    return slab->known && slab->claim.n_passes && slab->claim.node == small->claim.node;
}

/* May memory around the cell that no sample fell into get a range, or a slab? */
static bool is_gap(const struct closing *closing, unsigned level, size_t cell)
{
    const struct learned_cell *small = piece_around(closing->learned, 1, cell);

    if (level == SLAB)
        return piece_in_passed(closing->learned, SLAB + 1, cell);
    return small->known && small->claim.n_passes && !is_covered(closing, cell);
}

/* What came without a sample. In the middle of a cell, only that there is a reason for it. */
static void make_gaps(const struct closing *closing, const struct range *ranges, unsigned level)
{
    for (const struct range *range = ranges; range; range = range->hh.next) {
        size_t cell = vm_cell_at(range->start), around = vm_cell_of(range->start);

        if (cell == VM_CELLS)
            assert_true(piece_in_passed(closing->learned, level + 1, around));
        if (cell == VM_CELLS || closing->learned->cells[level][cell].known)
            continue;
        assert_true(range->rate_sec <= 0 && is_gap(closing, level, cell));
        piece_make(closing->learned, level, cell);
        closing->counts->n_slabs += level == SLAB;
    }
}

static void assert_filled(const struct closing *closing, unsigned level, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        assert_true(piece_around(closing->learned, level, i)->known);
}

/* A group that has just passed has all of them; later some may have been left to larger ones. */
static void check_filled(const struct closing *closing, unsigned level, size_t first)
{
    const struct learned_cell *piece = &closing->learned->cells[level][first];
    size_t start, end;

    vm_piece(&closing->learned->seen, first, level, &start, &end);
    if (piece->claim.n_passes != 1)
        return;
    if (level == 1 && !is_covered(closing, first))
        assert_filled(closing, 0, first, end);
    else if (level > SLAB)
        assert_filled(closing, SLAB, first, end);
}

void learned_round(struct learned *learned, const struct space *space,
                   const int nodes[LEARNED_NODES], struct learned_counts *counts)
{
    const struct closing closing = {
        .learned = learned, .space = space, .nodes = nodes, .counts = counts};

    for_each_known(&closing, take_over);
    for_each_known(&closing, judge);
    for_each_known(&closing, forget_gone);
    make_gaps(&closing, space->groups[SLAB - 1], SLAB);
    make_gaps(&closing, space->ranges, 0);
    for_each_known(&closing, check_filled);
}
