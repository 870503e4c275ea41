#include "attribute/groups.h"

#include <errno.h>

#include "attribute/thread_mask.h"
#include "attribute/vmas.h"

struct range *range_insert(struct range **ranges, uint64_t start, uint64_t end, unsigned rank)
{
    struct range *range = calloc(1, sizeof *range);

    if (!range)
        return NULL;
    range->start = start;
    range->end = end;
    range->rank = (uint8_t)rank;
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

/*
 * Does the group's own claim, or the lack of one, change what is known from those around it? Below
 * a slab it can only take back what is known: nothing but slabs keeps where memory without ranges
 * lies.
 */
static bool group_knows(const struct range *group, int node, bool known)
{
    const struct claim *claim = &group->claim;

    if (claim->shared || claim->looks_shared)
        return false;
    if (!claim->n_passes)
        return known;
    if (claim->node != node)
        return false;
    /* No slab speaks for what only 8 MiB claim: it needs its ranges. */
    return known || (claim->n_passes >= CLAIM_PASSES && group->rank > 1);
}

/* *abovep: the group that holds it; then itself, if there is or may be one. Return: 0 or -ENOMEM.
 */
static int group_get(struct range **groups, uint64_t start, uint64_t end, unsigned rank, bool make,
                     struct range **abovep, struct range **groupp)
{
    HASH_FIND(hh, *groups, &start, sizeof start, *groupp);
    if (!*groupp && !make)
        return 0;
    if (!*groupp) {
        *groupp = range_insert(groups, start, end, rank);
        if (!*groupp)
            return -ENOMEM;
        if (*abovep)
            range_hand_over(*abovep, *groupp);
    }
    *abovep = *groupp;
    return 0;
}

/* Bytes of what lies one level below. */
static uint64_t bytes_below(const struct vma *vma, uint64_t addr, unsigned level)
{
    uint64_t start, end;

    if (level)
        group_bounds(vma, addr, level - 1, &start, &end);
    else
        range_bounds(vma, addr, &start, &end);
    return end - start;
}

int groups_add(struct range *groups[GROUP_LEVELS], const struct vma *vma,
               const struct access *access, int node, unsigned slot, unsigned grain, bool *knownp)
{
    struct range *above = NULL;
    int r = 0;

    for (unsigned rank = GROUP_LEVELS; rank > 0 && !r; rank--) {
        struct range *group;
        uint64_t start, end;

        group_bounds(vma, access->addr, rank - 1, &start, &end);
        if (end - start <= bytes_below(vma, access->addr, rank - 1))
            continue;
        r = group_get(&groups[rank - 1], start, end, rank, rank >= grain && !*knownp, &above,
                      &group);
        if (!r && group) {
            r = range_add(group, access, node, slot);
            *knownp = group_knows(group, node, *knownp);
        }
    }
    return r;
}

struct range *groups_find_above(struct range *const groups[GROUP_LEVELS],
                                const struct vma_list *vmas, const struct range *range,
                                unsigned n_passes)
{
    const struct vma *vma = vma_list_find(vmas, range->start);
    uint64_t start, end;

    for (unsigned level = range->rank; vma && level < GROUP_LEVELS; level++) {
        struct range *group;

        group_bounds(vma, range->start, level, &start, &end);
        HASH_FIND(hh, groups[level], &start, sizeof start, group);
        if (group && group->claim.shared)
            return NULL;
        if (group && group->claim.n_passes >= n_passes)
            return group;
    }
    return NULL;
}

size_t groups_count_coarse(struct range *const groups[GROUP_LEVELS])
{
    size_t n = 0;

    for (unsigned level = 1; level < GROUP_LEVELS; level++)
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

/* Is the group's claim, if it has one, that of a larger one? */
static bool group_adds_nothing(const struct range *group, const struct range *above,
                               double min_share)
{
    if (!above || above->claim.n_passes < CLAIM_PASSES)
        return false;
    if (group->claim.shared || group->claim.looks_shared)
        return false;
    if (group->claim.n_passes && group->claim.node != above->claim.node)
        return false;
    return range_agrees(group, above->claim.node, min_share);
}

/* Its memory has been seen where it belongs, so that others may have its place. */
static bool slab_is_done(const struct range *slab, const struct range *above, double min_share,
                         uint64_t now)
{
    return group_adds_nothing(slab, above, min_share) && slab->cool_down_nsec <= now &&
           range_resident_share(slab, above->claim.node) == 1;
}

struct closing {
    const struct vma_list *vmas;
    double min_share;
    bool pressed;
    double elapsed_sec;
    uint64_t now;
};

static bool group_may_forget(const struct closing *closing, const struct range *group,
                             const struct range *above)
{
    bool decayed = tally_total_n(&group->rate) <= RANGE_FORGET_SAMPLES;

    if (group->bound_thread || group->moving)
        return false;
    if (group->rank == 1)
        return decayed || group_adds_nothing(group, above, closing->min_share);
    if (group->rank == 1 + SLAB_LEVEL && closing->pressed &&
        slab_is_done(group, above, closing->min_share, closing->now))
        return true;
    if (!decayed || range_moved_lately(group, closing->now))
        return false;
    return group->rank > 1 + SLAB_LEVEL || !above;
}

static void group_close_round(const struct closing *closing, struct range *group)
{
    range_close_round(group, closing->min_share, closing->elapsed_sec, closing->now);
    if (group->claim.n_passes < CLAIM_PASSES)
        group->filled = 0;
}

static void level_close_round(struct range *groups[GROUP_LEVELS], unsigned level,
                              const struct closing *closing)
{
    struct range *group, *next;

    HASH_ITER (hh, groups[level], group, next) {
        struct range *above;

        group_close_round(closing, group);
        above = groups_find_above(groups, closing->vmas, group, 1);
        if (!group_may_forget(closing, group, above))
            continue;
        if (above && level == SLAB_LEVEL)
            range_hand_over(group, above);
        group_drop(&groups[level], group);
    }
}

/* The large ones first: the others are judged by them. */
void groups_close_round(struct range *groups[GROUP_LEVELS], const struct vma_list *vmas,
                        double min_share, bool pressed, double elapsed_sec, uint64_t now)
{
    const struct closing closing = {.vmas = vmas,
                                    .min_share = min_share,
                                    .pressed = pressed,
                                    .elapsed_sec = elapsed_sec,
                                    .now = now};

    for (unsigned level = GROUP_LEVELS; level > 0; level--)
        level_close_round(groups, level - 1, &closing);
}
