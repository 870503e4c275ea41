#include "learned_pieces.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <string.h>

#include "attribute/space.h"

const struct range *piece_find(const struct space *space, unsigned level, size_t first)
{
    uint64_t start = vm_address(first);
    const struct range *range;

    if (level == 0)
        return space_find_range(space, start);
    HASH_FIND(hh, space->groups[level - 1], &start, sizeof start, range);
    return range;
}

struct learned_cell *piece_around(struct learned *learned, unsigned level, size_t cell)
{
    size_t first, end;

    vm_piece(&learned->seen, cell, level, &first, &end);
    return &learned->cells[level][first];
}

void piece_forget(struct learned *learned, unsigned level, size_t first)
{
    size_t start, end;

    vm_piece(&learned->seen, first, level, &start, &end);
    memset(&learned->cells[level][first], 0, (end - first) * sizeof *learned->cells[level]);
}

void piece_make(struct learned *learned, unsigned level, size_t cell)
{
    size_t first, end;

    vm_piece(&learned->seen, cell, level, &first, &end);
    piece_forget(learned, level, first); /* answers about nobody's pages */
    learned->cells[level][first].known = true;
}

struct learned_cell piece_sum(const struct learned *learned, unsigned level, size_t first)
{
    struct learned_cell sum = learned->cells[level][first];
    size_t start, end;

    vm_piece(&learned->seen, first, level, &start, &end);
    assert_int_equal(start, first); /* a piece that is known begins where it did */
    for (size_t i = first + 1; i < end; i++) {
        const struct learned_cell *cell = &learned->cells[level][i];

        for (unsigned node = 0; node < LEARNED_NODES; node++)
            sum.n[node] += cell->n[node];
        sum.threads |= cell->threads;
        sum.answers |= cell->answers;
    }
    return sum;
}

double piece_total(const struct learned_cell *sum)
{
    double n = 0;

    for (unsigned node = 0; node < LEARNED_NODES; node++)
        n += sum->n[node];
    return n;
}

const struct learned_cell *piece_above(struct learned *learned, unsigned level, size_t cell,
                                       unsigned n_passes)
{
    while (++level < VM_LEVELS) {
        const struct learned_cell *piece = piece_around(learned, level, cell);

        if (!piece->known || piece->gone)
            continue;
        if (piece->claim.shared)
            return NULL;
        if (piece->claim.n_passes >= n_passes)
            return piece;
    }
    return NULL;
}

bool piece_in_passed(struct learned *learned, unsigned level, size_t cell)
{
    for (; level < VM_LEVELS; level++) {
        const struct learned_cell *piece = piece_around(learned, level, cell);

        if (piece->known && !piece->gone && piece->claim.n_passes)
            return true;
    }
    return false;
}
