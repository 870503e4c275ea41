#include "learned.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "attribute/ranges.h"
#include "attribute/scans.h"
#include "attribute/slots.h"
#include "attribute/space.h"
#include "attribute/tally.h"
#include "learned_pieces.h"

#define N_BITS 64 /* for threads: those with the same one are not told apart */
/* The bits of LEARNED_BOUND. */
#define BOUND_THREADS (UINT64_C(0x0101010101010101) << LEARNED_BOUND)

void learned_reset(struct learned *learned)
{
    *learned = (struct learned){0};
}

/* A group that is no larger than what it holds is not made for a sample. */
static bool is_larger(const struct learned *learned, unsigned level, size_t cell)
{
    size_t first, end, first_below, end_below;

    vm_piece(&learned->seen, cell, level, &first, &end);
    vm_piece(&learned->seen, cell, level - 1, &first_below, &end_below);
    return end - first > end_below - first_below;
}

/*
 * Is an access from `node` what a confirmed group of 32 MiB or more said, and no smaller one around
 * it denied?
 */
static bool is_told(const struct learned_claim *claim, unsigned level, unsigned node, bool told)
{
    if (claim->shared || claim->looks_shared)
        return false;
    if (!claim->n_passes)
        return told;
    return claim->node == node && (told || (level >= SLAB && claim->n_passes >= CLAIM_PASSES));
}

void learned_note_user(struct learned *learned, size_t cell, unsigned thread)
{
    size_t first, end;

    vm_piece(&learned->seen, cell, WHOLE, &first, &end);
    for (size_t i = first; i < end; i++)
        learned->users[i] |= UINT64_C(1) << thread % N_BITS;
}

/* What is there counts it; what is not is made, unless it is told already. Return: was it told? */
static bool add_level(struct learned *learned, unsigned level, size_t cell, uint64_t bit,
                      unsigned node, bool told)
{
    const struct learned_cell *piece = piece_around(learned, level, cell);
    struct learned_cell *learned_cell = &learned->cells[level][cell];

    if (!piece->known && told)
        return true;
    if (!piece->known)
        piece_make(learned, level, cell);
    learned_cell->n[node]++;
    learned_cell->threads |= bit;
    return is_told(&piece->claim, level, node, told);
}

void learned_add(struct learned *learned, size_t cell, unsigned thread, unsigned node,
                 struct learned_counts *counts)
{
    uint64_t bit = UINT64_C(1) << thread % N_BITS;
    bool told = false;

    for (unsigned level = WHOLE; level > 0; level--)
        if (is_larger(learned, level, cell))
            told = add_level(learned, level, cell, bit, node, told);
    add_level(learned, 0, cell, bit, node, told);
    counts->n_told += !piece_around(learned, 0, cell)->known;
    learned_note_user(learned, cell, thread);
}

void learned_touch(struct learned *learned, size_t cell)
{
    if (vm_is_movable(&learned->seen.cells[cell]) && !piece_around(learned, 0, cell)->known &&
        piece_in_passed(learned, 1, cell))
        piece_make(learned, 0, cell);
}

void learned_answer(struct learned *learned, size_t cell, unsigned node)
{
    learned->cells[0][cell].answers |= 1U << node;
    learned->cells[SLAB][cell].answers |= 1U << node;
}

/* Do all cells of the piece still lie in one piece that begins with it? */
static bool survives(const struct learned *learned, const struct vm *vm, unsigned level,
                     size_t first, size_t end)
{
    size_t new_first, new_end;

    vm_piece(vm, first, level, &new_first, &new_end);
    if (new_first != first || new_end < end)
        return false;
    for (size_t i = first; i < end; i++)
        if (!vm_looks_same(&learned->seen.cells[i], &vm->cells[i]))
            return false;
    return true;
}

static void follow_level(struct learned *learned, const struct vm *vm, unsigned level,
                         struct learned_counts *counts)
{
    struct learned_cell *cells = learned->cells[level];
    size_t first, end;

    for (size_t i = 0; i < VM_CELLS; i = end) {
        bool known = cells[i].known;

        vm_piece(&learned->seen, i, level, &first, &end);
        if (!known || !survives(learned, vm, level, i, end)) {
            counts->n_dropped += known;
            piece_forget(learned, level, i);
            continue;
        }
        counts->n_kept++;
        for (size_t j = i; j < end; j++)
            counts->n_fooled += learned->seen.cells[j].serial != vm->cells[j].serial;
    }
}

/* A VMA's mask holds for all of what it consists of, and for all parts. */
static void follow_users(struct learned *learned, const struct vm *vm)
{
    size_t first, end;

    for (size_t i = 0; i < VM_CELLS; i = end) {
        uint64_t users = 0;

        vm_piece(vm, i, WHOLE, &first, &end);
        for (size_t j = i; j < end; j++)
            if (vm_looks_same(&learned->seen.cells[j], &vm->cells[j]) ||
                vm_shares_same(&learned->seen.cells[j], &vm->cells[j]))
                users |= learned->users[j];
        for (size_t j = i; j < end; j++)
            learned->users[j] = users;
    }
}

void learned_follow(struct learned *learned, const struct vm *vm, struct learned_counts *counts)
{
    for (unsigned level = 0; level < VM_LEVELS; level++)
        follow_level(learned, vm, level, counts);
    follow_users(learned, vm);
    learned->seen = *vm;
}

struct learned_claim learned_claim_of(const struct range *range, const int nodes[LEARNED_NODES])
{
    const struct claim *claim = &range->claim;
    struct learned_claim learned = {
        .n_passes = claim->n_passes, .shared = claim->shared, .looks_shared = claim->looks_shared};

    while (learned.node < LEARNED_NODES && nodes[learned.node] != claim->node)
        learned.node++;
    assert_true(!claim->n_passes || learned.node < LEARNED_NODES);
    return learned;
}

/* Claims change in rounds only, and go with what they are about. */
static void check_claim(const struct range *range, const struct learned_claim *claim,
                        const int nodes[LEARNED_NODES])
{
    const struct learned_claim store = learned_claim_of(range, nodes);

    assert_int_equal(store.n_passes, claim->n_passes);
    assert_int_equal(store.shared, claim->shared);
    assert_int_equal(store.looks_shared, claim->looks_shared);
    assert_true(!store.n_passes || store.node == claim->node);
}

/* What queries said of it is what they said of its pages while they were this piece's. */
static void check_residency(const struct range *range, const struct learned_cell *total,
                            const int nodes[LEARNED_NODES])
{
    for (size_t i = 0; i < range->residency.n_entries; i++) {
        bool named = false;

        for (unsigned node = 0; node < LEARNED_NODES; node++)
            named |= range->residency.entries[i].node == nodes[node] && total->answers >> node & 1;
        assert_true(!range->residency_nsec || named);
    }
}

static bool has_thread(uint64_t threads, const struct thread *thread, pid_t first_tid)
{
    return threads >> (thread->tid - first_tid) % N_BITS & 1;
}

/* Whose bits a mask holds, of threads that have their bit for themselves. */
static void check_threads(const struct range *range, uint64_t threads, const struct space *space,
                          pid_t first_tid, struct learned_counts *counts)
{
    struct thread *thread, *next;

    HASH_ITER (hh, space->threads, thread, next) {
        bool bit = range->threads.words[thread->slot / 64] >> (thread->slot % 64) & 1;

        if (!bit || slots_is_shared(space->slots, thread->slot))
            continue;
        assert_true(has_thread(threads, thread, first_tid));
        counts->n_bits++;
    }
}

static void check_piece(const struct learned *learned, const struct space *space, unsigned level,
                        size_t first, const int nodes[LEARNED_NODES], pid_t first_tid,
                        struct learned_counts *counts)
{
    const struct learned_cell total = piece_sum(learned, level, first);
    const struct range *range = piece_find(space, level, first);
    size_t start, end;

    vm_piece(&learned->seen, first, level, &start, &end);
    assert_non_null(range);
    assert_true(range->end == vm_address(end) || !vm_is_fine(first));
    for (unsigned node = 0; node < LEARNED_NODES; node++)
        assert_true(fabs(tally_n(&range->rate, nodes[node]) - total.n[node]) < CLOSE);
    assert_true(tally_total_n(&range->window) <= tally_total_n(&range->rate) + CLOSE);
    check_threads(range, total.threads, space, first_tid, counts);
    assert_true(!range->bound_thread || total.threads & (BOUND_THREADS | learned->sharers));
    counts->n_bound += range->bound_thread;
    check_claim(range, &total.claim, nodes);
    if (level == 0 || level == SLAB)
        check_residency(range, &total, nodes);
    counts->n_compared++;
}

/* Nothing else is in a table; in the middle of wide cells are only ranges and slabs for gaps. */
static void check_table(const struct learned *learned, const struct range *ranges, unsigned level,
                        struct learned_counts *counts)
{
    for (const struct range *range = ranges; range; range = range->hh.next) {
        size_t cell = vm_cell_at(range->start), last = vm_cell_of(range->end - 1);
        bool known = cell < VM_CELLS && learned->cells[level][cell].known;

        assert_true(known || (cell == VM_CELLS && (level == 0 || level == SLAB)));
        assert_true(known || tally_total_n(&range->rate) == 0);
        assert_true(last < VM_CELLS && vm_is_movable(&learned->seen.cells[last]));
        counts->n_gaps += tally_total_n(&range->rate) == 0;
    }
}

static void check_users(const struct learned *learned, const struct space *space, pid_t first_tid)
{
    for (size_t i = 0; i < space->scans->n_items; i++) {
        const struct recent *recent = &space->scans->items[i].state.recent;
        size_t cell = vm_cell_at(space->vmas.items[i].start);
        struct thread *thread, *next;

        HASH_ITER (hh, space->threads, thread, next) {
            if (!recent_has(recent, thread->slot) || slots_is_shared(space->slots, thread->slot))
                continue;
            assert_true(has_thread(learned->users[cell], thread, first_tid));
        }
    }
}

/* What a thread used that shares its slot may be taken for its partner's. */
static void note_sharers(struct learned *learned, const struct space *space, pid_t first_tid)
{
    struct thread *thread, *next;

    HASH_ITER (hh, space->threads, thread, next)
        if (slots_is_shared(space->slots, thread->slot))
            learned->sharers |= UINT64_C(1) << (thread->tid - first_tid) % N_BITS;
}

void learned_check(struct learned *learned, const struct space *space,
                   const int nodes[LEARNED_NODES], pid_t first_tid, struct learned_counts *counts)
{
    note_sharers(learned, space, first_tid);
    for (unsigned level = 0; level < VM_LEVELS; level++) {
        const struct range *ranges = level ? space->groups[level - 1] : space->ranges;

        for (size_t i = 0; i < VM_CELLS; i++)
            if (learned->cells[level][i].known)
                check_piece(learned, space, level, i, nodes, first_tid, counts);
        check_table(learned, ranges, level, counts);
    }
    check_users(learned, space, first_tid);
}
