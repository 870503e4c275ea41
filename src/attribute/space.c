/*
 * An address space as numabd knows it. Ranges lie in a hash by their start and are found through
 * the VMA of the address, so that no range ever crosses a VMA's border.
 */
#include "attribute/space.h"

#include <errno.h>

#include "attribute/forget.h"
#include "attribute/groups.h"
#include "attribute/scans.h"
#include "attribute/slabs.h"
#include "attribute/slots.h"
#include "attribute/space_scan.h"
#include "attribute/tally.h"
#include "attribute/thread_mask.h"
#include "attribute/threads.h"
#include "attribute/vma_pages.h"
#include "attribute/vmas.h"
#include "util/nsec.h"

/* A remote share needs this many accesses: its standard error is then at most 9 %. */
#define SHARE_MIN_ACCESSES 32.0

int space_new(struct space **spacep, const struct target *target)
{
    CLEANUP(space_freep) struct space *space = calloc(1, sizeof *space);
    int r;

    if (!space)
        return -ENOMEM;
    space->maps_fd = -1;
    r = space_set_filter(space, SCAN_FILTER_NUMABD, THREAD_MASK_BITS);
    if (r < 0)
        return r;
    space->pid = target->pid;
    space->start_ticks = target->process.start_ticks;
    space->rss_bytes = target->process.rss_bytes;
    space->n_threads = target->process.n_threads;
    space->mask_window_nsec = MASK_WINDOW_NSEC;
    space->maps_wanted = true;
    space->remote_first_permyriad = space->remote_permyriad = -1;
    space->benefit = BENEFIT_START;
    *spacep = TAKE(space);
    return 0;
}

static void space_drop_range(struct space *space, struct range *range)
{
    HASH_DEL(space->ranges, range);
    range_free(range);
}

static void space_drop_ranges(struct space *space)
{
    struct range *range, *next;

    HASH_ITER (hh, space->ranges, range, next)
        space_drop_range(space, range);
    groups_drop(space->groups);
}

struct space *space_free(struct space *space)
{
    if (!space)
        return NULL;
    space_drop_ranges(space);
    if (space->slots)
        threads_drop(space);
    slots_free(space->slots);
    scans_free(space->scans);
    vma_list_deinit(&space->vmas);
    vma_pages_deinit(&space->pages);
    tally_deinit(&space->totals);
    fd_close(space->maps_fd);
    free(space);
    return NULL;
}

struct range *space_find_range(const struct space *space, uint64_t start)
{
    struct range *range;

    HASH_FIND(hh, space->ranges, &start, sizeof start, range);
    return range;
}

struct range *space_find_ranked(const struct space *space, uint64_t addr, unsigned rank)
{
    const struct vma *vma = space_find_vma(space, addr);
    uint64_t start, end;
    struct range *group;

    if (!vma)
        return NULL;
    if (!rank) {
        range_bounds(vma, addr, &start, &end);
        return space_find_range(space, start);
    }
    group_bounds(vma, addr, rank - 1, &start, &end);
    HASH_FIND(hh, space->groups[rank - 1], &start, sizeof start, group);
    return group;
}

const struct vma *space_find_vma(const struct space *space, uint64_t addr)
{
    return vma_list_find(&space->vmas, addr);
}

const struct range *space_find_claim(const struct space *space, const struct range *range,
                                     double min_share, unsigned n_passes)
{
    const struct range *group;

    if (range->claim.shared || range->claim.n_passes >= n_passes)
        return range;
    group = groups_find_above(space->groups, &space->vmas, range, n_passes);
    return group && range_agrees(range, group->claim.node, min_share) ? group : range;
}

const struct range *space_find_evidence(const struct space *space, const struct range *range,
                                        double min_share)
{
    return space_find_claim(space, range, min_share, CLAIM_PASSES);
}

/* Where the hardware told which memory answered, that is exact, and a cache hit needed none. */
static double local_share(const struct range *range, const struct access *access, int node)
{
    switch (access->locality) {
    case ACCESS_LOCALITY_LOCAL:
        return 1;
    case ACCESS_LOCALITY_REMOTE:
        return 0;
    case ACCESS_LOCALITY_CACHE:
        return -1;
    default:
        return range_resident_share(range, node);
    }
}

/* What tells best where an access's memory lies: its range, or its slab while that is not known. */
static const struct range *find_placed(const struct range *range, const struct range *slab)
{
    return slab && (!range || !range->residency_nsec) ? slab : range;
}

void space_count_fault(struct space *space, const struct access *access, int node)
{
    const struct range *range;
    double local;

    if (access->when_nsec == space->sampled_nsec && access->tid == space->sampled_tid)
        return;
    space->autonuma.n_hint_faults++;
    range = find_placed(space_find_ranked(space, access->addr, 0), slab_find(space, access->addr));
    local = range ? local_share(range, access, node) : -1;
    if (local > 0)
        space->autonuma.n_local += local;
}

void space_count_share(struct space *space, const struct range *range, const struct access *access,
                       int node)
{
    double local = range ? local_share(range, access, node) : -1, sec = access->weight_sec;

    if (local < 0)
        return;
    space->round_n += 1;
    space->round_sec += sec;
    space->round_remote_sec += sec * (1 - local);
}

/* The range of an access, which is made if it may be; NULL: it may not. Return: 0 or -ENOMEM. */
static int space_get_range(struct space *space, const struct vma *vma, uint64_t addr,
                           const struct range *slab, unsigned grain, struct range **rangep,
                           bool *madep)
{
    uint64_t start, end;

    range_bounds(vma, addr, &start, &end);
    *rangep = space_find_range(space, start);
    if (*rangep || grain > GRAIN_RANGES)
        return 0;
    *rangep = range_insert(&space->ranges, start, end, 0);
    if (!*rangep)
        return -ENOMEM;
    if (slab)
        range_hand_over(slab, *rangep);
    *madep = true;
    return 0;
}

/* Counts it into all that holds it. */
static int space_count_access(struct space *space, const struct vma *vma,
                              const struct access *access, int node, unsigned slot, unsigned grain,
                              bool *madep)
{
    bool known = false;
    struct range *range, *slab;
    int r = groups_add(space->groups, vma, access, node, slot, grain, &known);

    if (r)
        return r;
    slab = slab_find(space, access->addr);
    known = known && !space->ranges_only;
    r = space_get_range(space, vma, access->addr, slab, known ? GRAIN_NONE : grain, &range, madep);
    if (r)
        return r;
    space_count_share(space, find_placed(range, slab), access, node);
    if (range)
        r = range_add(range, access, node, slot);
    return r || range || known ? r : SPACE_CAPPED;
}

int space_add_access(struct space *space, const struct access *access, int node, unsigned grain,
                     bool *madep)
{
    const struct vma *vma = vma_list_find(&space->vmas, access->addr);
    struct thread *thread;

    if (!vma)
        return SPACE_OUTSIDE;
    if (vma->kind != REASON_NONE)
        return SPACE_UNMOVABLE;
    thread = threads_note(space, access);
    if (!thread || space_note_user(space, vma, thread) < 0)
        return -ENOMEM;
    thread->node = node;
    return space_count_access(space, vma, access, node, thread->slot, grain, madep);
}

void space_set_vmas(struct space *space, struct vma_list *vmas, size_t *n_droppedp)
{
    struct range *range, *next;
    size_t n_dropped = 0;

    vma_list_inherit(vmas, &space->vmas);
    scans_follow(space->scans, &space->vmas, vmas, space->maps_nsec);
    HASH_ITER (hh, space->ranges, range, next) {
        if (range_keep(range, GROUP_LEVELS, &space->vmas, vmas))
            continue;
        space_drop_range(space, range);
        n_dropped++;
    }
    groups_keep(space->groups, &space->vmas, vmas);
    vma_list_deinit(&space->vmas);
    space->vmas = *vmas;
    *vmas = (struct vma_list){0};
    space->maps_known = true;
    *n_droppedp = n_dropped;
}

void space_set_pages(struct space *space, struct vma_pages *pages)
{
    vma_pages_deinit(&space->pages);
    space->pages = *pages;
    *pages = (struct vma_pages){0};
}

void space_reset(struct space *space, size_t *n_droppedp)
{
    *n_droppedp = HASH_COUNT(space->ranges);
    space_drop_ranges(space);
    threads_drop(space);
    space_forget_scans(space);
    vma_list_deinit(&space->vmas);
    vma_pages_deinit(&space->pages);
    tally_clear(&space->totals);
    space->maps_fd = fd_close(space->maps_fd);
    space->maps_known = space->maps_taken = space->totals_known = space->denied = false;
    space->no_pagemap = false;
    /* What is out is about the old program, and is dropped when it returns. */
    space->maps_pending = space->policy_pending = space->residency_pending = false;
    space->maps_wanted = true;
    space->maps_nsec = space->policy_nsec = space->policy_read_nsec = 0;
    space->round_n = space->round_sec = space->round_remote_sec = 0;
    space->remote_first_permyriad = space->remote_permyriad = -1;
    space->pace = (struct pace){0};
    space->benefit = BENEFIT_START;
    space->benefit.moved_bytes = space->moved_bytes;
    space->memory_bound_known = false;
    space->listed_addr = 0;
}

static void space_close_share(struct space *space)
{
    if (space->round_n < SHARE_MIN_ACCESSES || space->round_sec <= 0)
        return;
    space->share_sec = space->round_sec;
    space->remote_permyriad = (int)(10000 * space->round_remote_sec / space->round_sec + 0.5);
    if (space->remote_first_permyriad < 0)
        space->remote_first_permyriad = space->remote_permyriad;
    space->round_n = space->round_sec = space->round_remote_sec = 0;
}

/* Samples of this round stay in a mask for the decision, however long the round was. */
static void space_end_window(struct space *space, uint64_t now)
{
    /* The first one begins with the first round. */
    if (!space->mask_nsec)
        space->mask_nsec = now;
    if (now - space->mask_nsec < space->mask_window_nsec)
        return;
    space_rotate_masks(space);
    space->mask_nsec = now;
}

void space_mark_bound(struct space *space)
{
    struct range *range, *next;

    HASH_ITER (hh, space->ranges, range, next)
        range->bound_thread |= thread_mask_overlaps(&range->threads, &space->own_policy);
    groups_mark_bound(space->groups, &space->own_policy);
}

static void space_forget(struct space *space, struct range *range)
{
    struct range *slab = slab_find(space, range->start);

    if (slab)
        range_hand_over(range, slab);
    space_drop_range(space, range);
}

void space_close_round(struct space *space, double min_share, double elapsed_sec, uint64_t now,
                       size_t *n_droppedp)
{
    struct range *range, *next;
    size_t n_dropped = 0;

    space_close_share(space);
    space_mark_bound(space);
    space_end_window(space, now);
    threads_close_round(space, now);
    groups_close_round(space->groups, &space->vmas, min_share, space->pressed, elapsed_sec, now);
    HASH_ITER (hh, space->ranges, range, next) {
        range_close_round(range, min_share, elapsed_sec, now);
        if (!space_may_forget(space, range, min_share, now))
            continue;
        space_forget(space, range);
        n_dropped++;
    }
    *n_droppedp = n_dropped;
}

/* Does the slab around a group of 8 MiB speak for it too? */
static bool slab_covers(const struct space *space, const struct range *group)
{
    const struct range *slab = slab_find(space, group->start);

    return slab && slab->claim.n_passes && slab->claim.node == group->claim.node;
}

/* Makes the ranges of one group of 8 MiB, or the slabs of a large one, that are not there yet. */
static size_t space_fill_group(struct space *space, struct range *group, size_t limit)
{
    const struct vma *vma = space_find_vma(space, group->start);
    uint64_t addr = group->filled > group->start ? group->filled : group->start, start, end;
    bool slabs = group->rank > SLAB_RANK && !space->ranges_only;
    size_t n_made = 0;

    for (; vma && addr < group->end && n_made < limit; addr = end) {
        struct range *made;

        if (slabs)
            group_bounds(vma, addr, SLAB_LEVEL, &start, &end);
        else
            range_bounds(vma, addr, &start, &end);
        if (space_find_ranked(space, start, slabs ? SLAB_RANK : 0))
            continue;
        made = range_insert(slabs ? &space->groups[SLAB_LEVEL] : &space->ranges, start, end,
                            slabs ? SLAB_RANK : 0);
        if (!made)
            break;
        if (slabs)
            range_hand_over(group, made);
        n_made++;
    }
    group->filled = addr;
    return n_made;
}

static size_t space_fill_level(struct space *space, unsigned level, size_t limit)
{
    struct range *group, *next;
    size_t n_made = 0;

    HASH_ITER (hh, space->groups[level], group, next) {
        if (group->claim.n_passes && group->filled < group->end && n_made < limit &&
            (level || space->ranges_only || !slab_covers(space, group)))
            n_made += space_fill_group(space, group, limit - n_made);
    }
    return n_made;
}

size_t space_fill_gaps(struct space *space, size_t limit)
{
    size_t n_made = space_fill_level(space, 0, limit);

    for (unsigned level = 1; space->ranges_only && level < GROUP_LEVELS; level++)
        n_made += space_fill_level(space, level, limit - n_made);
    return n_made;
}

size_t space_fill_slabs(struct space *space, size_t limit)
{
    size_t n_made = 0;

    for (unsigned level = SLAB_LEVEL + 1; !space->ranges_only && level < GROUP_LEVELS; level++)
        n_made += space_fill_level(space, level, limit - n_made);
    return n_made;
}

bool space_range_awaits_move(const struct space *space, const struct range *range, double min_share,
                             uint64_t now)
{
    const struct claim *claim = &space_find_claim(space, range, min_share, 1)->claim;
    double share = claim->n_passes ? range_resident_share(range, claim->node) : 1;

    return share >= 0 && share < 1 && range->cool_down_nsec <= now &&
           space_lets(space, range->start);
}

bool space_awaits_move(const struct space *space, double min_share, uint64_t now)
{
    struct range *range, *next;

    HASH_ITER (hh, space->ranges, range, next)
        if (space_range_awaits_move(space, range, min_share, now))
            return true;
    HASH_ITER (hh, space->groups[SLAB_LEVEL], range, next)
        if (space_range_awaits_move(space, range, min_share, now))
            return true;
    return false;
}

void space_apply_move(struct space *space, uint64_t start, struct range *range,
                      const struct tally *before, const struct tally *after, uint64_t page_bytes,
                      uint64_t now)
{
    uint64_t moved_bytes = 0;

    for (size_t i = 0; i < before->n_entries; i++)
        (void)tally_add(&space->totals, before->entries[i].node, -before->entries[i].n, 0);
    for (size_t i = 0; i < after->n_entries; i++) {
        const struct tally_entry *entry = &after->entries[i];
        double arrived = entry->n - tally_n(before, entry->node);

        (void)tally_add(&space->totals, entry->node, entry->n, 0);
        if (arrived > 0)
            moved_bytes += (uint64_t)arrived * page_bytes;
    }
    space->moved_bytes += moved_bytes;
    space_note_moved(space, start, before, after, moved_bytes);
    /* A slab is believed to lie as the last part of it that moved: it is asked for anew soon. */
    if (range && !tally_copy(&range->residency, after))
        range->residency_nsec = now;
}
