#include "learned.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "attribute/groups.h"
#include "attribute/scans.h"
#include "attribute/slots.h"
#include "attribute/space.h"
#include "attribute/tally.h"

#define WHOLE (VM_LEVELS - 1)
#define N_BITS 64 /* for threads: those with the same one are not told apart */
/* The bits of LEARNED_BOUND. */
#define BOUND_THREADS (UINT64_C(0x0101010101010101) << LEARNED_BOUND)
/* Rounding of sums that are scaled round after round. */
#define CLOSE 1e-9

void learned_reset(struct learned *learned)
{
    *learned = (struct learned){0};
}

static const struct range *find(const struct space *space, unsigned level, size_t cell)
{
    uint64_t start = vm_address(cell);
    const struct range *range;

    if (level == 0)
        return space_find_range(space, start);
    HASH_FIND(hh, space->groups[level - 1], &start, sizeof start, range);
    return range;
}

static void forget(struct learned_cell *cells, size_t first, size_t end)
{
    memset(&cells[first], 0, (end - first) * sizeof *cells);
}

void learned_note_user(struct learned *learned, size_t cell, unsigned thread)
{
    size_t first, end;

    vm_piece(&learned->seen, cell, WHOLE, &first, &end);
    for (size_t i = first; i < end; i++)
        learned->users[i] |= UINT64_C(1) << thread % N_BITS;
}

void learned_add(struct learned *learned, size_t cell, unsigned thread, unsigned node)
{
    uint64_t bit = UINT64_C(1) << thread % N_BITS;
    size_t first, end, n_cells = 0;

    for (unsigned level = 0; level < VM_LEVELS; level++) {
        struct learned_cell *learned_cell = &learned->cells[level][cell];

        vm_piece(&learned->seen, cell, level, &first, &end);
        if (level > 0 && end - first <= n_cells)
            continue; /* no group is as large as what it holds */
        n_cells = end - first;
        if (!learned->cells[level][first].known)
            forget(learned->cells[level], first, end); /* answers about nobody's pages */
        learned->cells[level][first].known = true;
        learned_cell->n[node]++;
        learned_cell->threads |= bit;
    }
    learned_note_user(learned, cell, thread);
}

void learned_answer(struct learned *learned, size_t cell, unsigned node)
{
    learned->cells[0][cell].answers |= 1U << node;
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
            forget(cells, i, end);
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

/* Sums over the cells of a piece. */
static struct learned_cell sum(const struct learned *learned, unsigned level, size_t first)
{
    struct learned_cell total = {.known = learned->cells[level][first].known};
    size_t start, end;

    vm_piece(&learned->seen, first, level, &start, &end);
    assert_int_equal(start, first); /* a piece that is known begins where it did */
    for (size_t i = first; i < end; i++) {
        const struct learned_cell *cell = &learned->cells[level][i];

        for (unsigned node = 0; node < LEARNED_NODES; node++)
            total.n[node] += cell->n[node];
        total.threads |= cell->threads;
        total.answers |= cell->answers;
    }
    return total;
}

static double total_of(const struct learned_cell *cell)
{
    double n = 0;

    for (unsigned node = 0; node < LEARNED_NODES; node++)
        n += cell->n[node];
    return n;
}

static void decay_piece(struct learned *learned, const struct space *space, unsigned level,
                        size_t first)
{
    const struct range *range = find(space, level, first);
    const struct learned_cell total = sum(learned, level, first);
    double n = total_of(&total), factor;
    size_t start, end;

    vm_piece(&learned->seen, first, level, &start, &end);
    if (!range) {
        assert_true(n * M_SQRT1_2 <= RANGE_FORGET_SAMPLES + CLOSE);
        forget(learned->cells[level], first, end);
        return;
    }
    factor = n > 0 ? tally_total_n(&range->rate) / n : 1;
    assert_true(factor >= M_SQRT1_2 - CLOSE && factor <= 1 + CLOSE);
    for (size_t i = first; i < end; i++)
        for (unsigned node = 0; node < LEARNED_NODES; node++)
            learned->cells[level][i].n[node] *= factor;
}

/* Is there a reason for a range without samples: a group around it that has passed? */
static bool is_gap(const struct space *space, const struct range *range)
{
    const struct vma *vma = space_find_vma(space, range->start);

    for (unsigned level = 0; vma && level < GROUP_LEVELS; level++) {
        const struct range *group;
        uint64_t start, end;

        group_bounds(vma, range->start, level, &start, &end);
        HASH_FIND(hh, space->groups[level], &start, sizeof start, group);
        if (group && group->claim.n_passes)
            return true;
    }
    return false;
}

void learned_decay(struct learned *learned, const struct space *space)
{
    struct range *range, *next;

    for (unsigned level = 0; level < VM_LEVELS; level++)
        for (size_t i = 0; i < VM_CELLS; i++)
            if (learned->cells[level][i].known)
                decay_piece(learned, space, level, i);
    HASH_ITER (hh, space->ranges, range, next) {
        size_t cell = vm_cell_at(range->start);

        if (cell == VM_CELLS || learned->cells[0][cell].known)
            continue;
        assert_true(is_gap(space, range));
        learned->cells[0][cell].known = true;
    }
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
    const struct learned_cell total = sum(learned, level, first);
    const struct range *range = find(space, level, first);
    size_t start, end;

    vm_piece(&learned->seen, first, level, &start, &end);
    assert_non_null(range);
    assert_true(range->end == vm_address(end) || !vm_is_fine(first));
    for (unsigned node = 0; node < LEARNED_NODES; node++)
        assert_true(fabs(tally_n(&range->rate, nodes[node]) - total.n[node]) < CLOSE);
    assert_true(tally_total_n(&range->window) <= tally_total_n(&range->rate) + CLOSE);
    check_threads(range, total.threads, space, first_tid, counts);
    assert_true(!range->bound_thread || total.threads & BOUND_THREADS);
    counts->n_bound += range->bound_thread;
    if (level == 0)
        check_residency(range, &total, nodes);
    counts->n_compared++;
}

/* Nothing else is in a table; wide cells have ranges only for gaps. */
static void check_table(const struct learned *learned, const struct range *ranges, unsigned level,
                        struct learned_counts *counts)
{
    for (const struct range *range = ranges; range; range = range->hh.next) {
        size_t cell = vm_cell_at(range->start), last = vm_cell_of(range->end - 1);
        bool known = cell < VM_CELLS && learned->cells[level][cell].known;

        assert_true(known || (level == 0 && !vm_is_fine(vm_cell_of(range->start))));
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

void learned_check(const struct learned *learned, const struct space *space,
                   const int nodes[LEARNED_NODES], pid_t first_tid, struct learned_counts *counts)
{
    for (unsigned level = 0; level < VM_LEVELS; level++) {
        const struct range *ranges = level ? space->groups[level - 1] : space->ranges;

        for (size_t i = 0; i < VM_CELLS; i++)
            if (learned->cells[level][i].known)
                check_piece(learned, space, level, i, nodes, first_tid, counts);
        check_table(learned, ranges, level, counts);
    }
    check_users(learned, space, first_tid);
}
