/*
 * A space with 1 TiB has half a million pieces of 2 MiB: each round looks at some and goes on where
 * it stopped.
 */
#include "attribute/heat.h"

#include <errno.h>
#include <stdlib.h>

#include "attribute/groups.h"
#include "attribute/ranges.h"
#include "attribute/scans.h"
#include "attribute/space.h"
#include "attribute/vmas.h"

/* The smallest group around addr that has passed at least once; NULL: none. */
static const struct range *passed_group(const struct space *space, const struct vma *vma,
                                        uint64_t addr)
{
    uint64_t start, end;

    for (unsigned level = 0; level < GROUP_LEVELS; level++) {
        const struct range *group;

        group_bounds(vma, addr, level, &start, &end);
        HASH_FIND(hh, space->groups[level], &start, sizeof start, group);
        if (group && group->claim.n_passes)
            return group;
    }
    return NULL;
}

int heat_add(struct space *space, uint64_t addr, bool may_grow, bool *madep)
{
    const struct vma *vma = space_find_vma(space, addr);
    uint64_t start, end;

    if (!vma || vma->kind != REASON_NONE || !may_grow)
        return 0;
    range_bounds(vma, addr, &start, &end);
    if (space_find_range(space, start) || !passed_group(space, vma, addr))
        return 0;
    if (!range_insert(&space->ranges, start, end, 0))
        return -ENOMEM;
    *madep = true;
    return 0;
}

static bool is_unsampled(const struct space *space, uint64_t start)
{
    const struct range *range = space_find_range(space, start);

    return !range || !range_has_samples(range);
}

/* Of one VMA, from `addr` on. */
static size_t list_vma(struct space *space, const struct vma *vma, uint64_t addr,
                       struct sample_range *ranges, size_t limit, unsigned *n_lookedp)
{
    size_t n = 0;
    uint64_t start, end;

    for (; addr < vma->end && n < limit && *n_lookedp < HEAT_LOOKED_AT_MAX;
         addr = end, ++*n_lookedp) {
        const struct range *group = passed_group(space, vma, addr);

        range_bounds(vma, addr, &start, &end);
        if (group && is_unsampled(space, start))
            ranges[n++] = (struct sample_range){.pid = space->pid, .start = start, .end = end};
    }
    space->listed_addr = addr;
    return n;
}

size_t heat_list(struct space *space, struct sample_range *ranges, size_t limit,
                 unsigned *n_lookedp)
{
    uint64_t from = space->listed_addr;
    size_t n = 0;

    for (size_t i = 0; i < space->vmas.n_items; i++) {
        const struct vma *vma = &space->vmas.items[i];

        if (vma->end <= from || vma->kind != REASON_NONE || !scans_lets(space->scans, i))
            continue;
        n += list_vma(space, vma, vma->start > from ? vma->start : from, &ranges[n], limit - n,
                      n_lookedp);
        if (n == limit || *n_lookedp == HEAT_LOOKED_AT_MAX)
            return n;
    }
    space->listed_addr = 0;
    return n;
}

static int by_place(const void *left, const void *right)
{
    const struct sample_range *a = left, *b = right;

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

void heat_sort(struct sample_range *ranges, size_t n)
{
    if (n)
        qsort(ranges, n, sizeof *ranges, by_place);
}
