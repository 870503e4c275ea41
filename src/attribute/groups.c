#include "attribute/groups.h"

#include <errno.h>

#include "attribute/thread_mask.h"
#include "attribute/vmas.h"

struct range *range_insert(struct range **ranges, uint64_t start, uint64_t end)
{
    struct range *range = calloc(1, sizeof *range);

    if (!range)
        return NULL;
    range->start = start;
    range->end = end;
    range->claim.node = -1;
    range->observed_node = -1;
    range->verdict = REASON_FEW_SAMPLES;
    HASH_ADD(hh, *ranges, start, sizeof range->start, range);
    return range;
}

static void group_drop(struct range **groups, struct range *group)
{
    HASH_DEL(*groups, group);
    range_free(group);
}

int groups_add(struct range *groups[GROUP_LEVELS], const struct vma *vma, uint64_t bytes,
               const struct access *access, int node, unsigned slot, unsigned grain)
{
    uint64_t start, end;
    int r = 0;

    for (unsigned level = 0; level < GROUP_LEVELS && !r; level++) {
        struct range *group;

        group_bounds(vma, access->addr, level, &start, &end);
        if (end - start <= bytes)
            continue;
        bytes = end - start;
        HASH_FIND(hh, groups[level], &start, sizeof start, group);
        if (!group && level + 1 < grain)
            continue;
        if (!group)
            group = range_insert(&groups[level], start, end);
        r = group ? range_add(group, access, node, slot) : -ENOMEM;
    }
    return r;
}

size_t groups_count(struct range *const groups[GROUP_LEVELS])
{
    size_t n = 0;

    for (unsigned level = 0; level < GROUP_LEVELS; level++)
        n += HASH_COUNT(groups[level]);
    return n;
}

void groups_drop(struct range *groups[GROUP_LEVELS])
{
    struct range *group, *next;

    for (unsigned level = 0; level < GROUP_LEVELS; level++) {
        HASH_ITER (hh, groups[level], group, next)
            group_drop(&groups[level], group);
    }
}

bool range_keep(struct range *range, unsigned level, const struct vma_list *before,
                const struct vma_list *after)
{
    const struct vma *old = vma_list_find(before, range->start);
    const struct vma *vma = vma_list_find(after, range->start);
    uint64_t start, end;

    if (!old || !vma || !vma_is_same_mapping(old, vma))
        return false;
    if (level == GROUP_LEVELS)
        range_bounds(vma, range->start, &start, &end);
    else
        group_bounds(vma, range->start, level, &start, &end);
    if (start != range->start || end < range->end)
        return false;
    if (end != range->end) {
        range->end = end;
        range->residency_nsec = 0;
        range->filled = false;
    }
    return true;
}

void groups_keep(struct range *groups[GROUP_LEVELS], const struct vma_list *before,
                 const struct vma_list *after)
{
    struct range *group, *next;

    for (unsigned level = 0; level < GROUP_LEVELS; level++) {
        HASH_ITER (hh, groups[level], group, next) {
            if (!range_keep(group, level, before, after))
                group_drop(&groups[level], group);
        }
    }
}

void groups_rotate_masks(struct range *groups[GROUP_LEVELS])
{
    struct range *group, *next;

    for (unsigned level = 0; level < GROUP_LEVELS; level++) {
        HASH_ITER (hh, groups[level], group, next)
            range_rotate_mask(group);
    }
}

void groups_mark_bound(struct range *groups[GROUP_LEVELS], const struct thread_mask *own_policy)
{
    struct range *group, *next;

    for (unsigned level = 0; level < GROUP_LEVELS; level++) {
        HASH_ITER (hh, groups[level], group, next)
            group->bound_thread |= thread_mask_overlaps(&group->threads, own_policy);
    }
}

void groups_close_round(struct range *groups[GROUP_LEVELS], double min_share, double elapsed_sec,
                        uint64_t now)
{
    struct range *group, *next;

    for (unsigned level = 0; level < GROUP_LEVELS; level++) {
        HASH_ITER (hh, groups[level], group, next) {
            range_close_round(group, min_share, elapsed_sec, now);
            if (group->claim.n_passes < CLAIM_PASSES)
                group->filled = false;
            if (!group->bound_thread && tally_total_n(&group->rate) <= RANGE_FORGET_SAMPLES)
                group_drop(&groups[level], group);
        }
    }
}
