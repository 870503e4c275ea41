/*
 * A sample that agrees with what a confirmed group says makes nothing finer, so that decided memory
 * is left to its slabs; those that disagree open ranges again, which then keep their own. A slab is
 * one group of many that overlap (8 MiB to the whole VMA), and only it is looked at and moved.
 */
#include "attribute/slabs.h"

#include "attribute/groups.h"

struct range *slab_find(const struct space *space, uint64_t addr)
{
    return space_find_ranked(space, addr, SLAB_RANK);
}

/*
 * Does the group of 8 MiB around addr, if there is one, let its memory go along? By the same claims
 * that say whether a sample makes a range (groups.c): what neither stood for would be lost.
 */
static bool small_agrees(const struct space *space, uint64_t addr, int node)
{
    const struct range *small = space_find_ranked(space, addr, 1);

    if (!small)
        return true;
    if (small->claim.shared || small->claim.looks_shared)
        return false;
    return !small->claim.n_passes || small->claim.node == node;
}

bool slab_speaks(const struct space *space, uint64_t addr, int node)
{
    const struct range *slab = slab_find(space, addr);

    return slab && small_agrees(space, addr, node) &&
           space_find_evidence(space, slab, space->min_share)->claim.node == node;
}

/* The end of the 2 MiB around addr, inside the slab. */
static uint64_t piece_end(const struct range *slab, uint64_t addr)
{
    uint64_t end = (addr & ~(RANGE_BYTES - 1)) + RANGE_BYTES;

    return end < slab->end && end > addr ? end : slab->end;
}

bool slab_next(const struct space *space, const struct range *slab, int node, uint64_t limit,
               uint64_t *startp, uint64_t *endp)
{
    uint64_t addr = *startp > slab->start ? *startp : slab->start, start = 0;
    bool found = false;

    while (addr < slab->end) {
        uint64_t end = piece_end(slab, addr);
        bool mine = !space_find_range(space, addr) && small_agrees(space, addr, node);

        if (found && (!mine || end - start > limit))
            break;
        if (mine && !found) {
            found = true;
            start = addr;
        }
        addr = end;
    }
    *startp = start;
    *endp = addr;
    return found;
}

uint64_t slab_bytes(const struct space *space, const struct range *slab, int node)
{
    uint64_t bytes = 0, start = slab->start, end;

    while (slab_next(space, slab, node, UINT64_MAX, &start, &end)) {
        bytes += end - start;
        start = end;
    }
    return bytes;
}

int slab_node(const struct space *space, const struct range *slab)
{
    const struct range *evidence = space_find_evidence(space, slab, space->min_share);

    if (!evidence->claim.n_passes)
        evidence = groups_find_above(space->groups, &space->vmas, slab, 1);
    return evidence ? evidence->claim.node : -1;
}

static size_t slab_pieces(const struct space *space, const struct range *slab, int node,
                          uint64_t *starts)
{
    uint64_t start = slab->start, end;
    size_t n = 0;

    while (slab_next(space, slab, node, RANGE_BYTES, &start, &end)) {
        starts[n++] = start;
        start = end;
    }
    return n;
}

size_t slab_choose_pages(const struct space *space, const struct range *slab, uint64_t page_bytes,
                         unsigned turn, uint16_t *pages, size_t n)
{
    /* One more where the slab begins inside of 2 MiB. */
    uint64_t starts[(RANGE_BYTES << 2 * (SLAB_LEVEL + 1)) / RANGE_BYTES + 1];
    size_t n_pieces = slab_pieces(space, slab, slab_node(space, slab), starts);

    for (size_t i = 0; n_pieces && i < n; i++) {
        uint64_t start = starts[i % n_pieces], end = piece_end(slab, start);
        uint64_t n_pages = (end - start) / page_bytes, per = (n + n_pieces - 1) / n_pieces;
        uint64_t page = n_pages ? (n_pages * (i / n_pieces) / per + turn) % n_pages : 0;

        pages[i] = (uint16_t)((start - slab->start) / page_bytes + page);
    }
    return n_pieces ? n : 0;
}
