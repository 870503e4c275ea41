/*
 * Ranges, groups and VMAs have masks of the same threads, with the same windows. Those of VMAs say
 * what is worth a scan, those of ranges whose memory it is.
 */
#include "attribute/space_scan.h"

#include <errno.h>

#include "attribute/groups.h"
#include "attribute/scans.h"
#include "attribute/slots.h"
#include "attribute/space.h"
#include "attribute/threads.h"
#include "attribute/vma_pages.h"
#include "attribute/vmas.h"

static bool space_has_filter(const struct space *space, enum scan_filter_kind kind, unsigned bits)
{
    return space->slots && space->slots->n_bits == slots_round(bits) &&
           space->scans->filter.kind == kind;
}

/* Their bits are those of slots that are no more. */
static void space_clear_range_masks(struct space *space)
{
    for (unsigned window = 0; window < SLOTS_WINDOWS; window++) {
        struct range *range, *next;

        HASH_ITER (hh, space->ranges, range, next)
            range_rotate_mask(range);
        groups_rotate_masks(space->groups);
    }
}

int space_set_filter(struct space *space, enum scan_filter_kind kind, unsigned mask_bits)
{
    CLEANUP(slots_freep) struct slots *slots = NULL;
    CLEANUP(scans_freep) struct scans *scans = NULL;

    if (space_has_filter(space, kind, mask_bits))
        return 0;
    if (slots_new(&slots, mask_bits) < 0 || scans_new(&scans, kind, slots->n_words) < 0)
        return -ENOMEM;
    scans_follow(scans, &(struct vma_list){0}, &space->vmas, space->maps_nsec);
    if (space->slots) {
        scans->counts = space->scans->counts;
        space_mark_bound(space);
        threads_drop(space);
        space_clear_range_masks(space);
    }
    slots_free(space->slots);
    scans_free(space->scans);
    space->slots = TAKE(slots);
    space->scans = TAKE(scans);
    return 0;
}

void space_forget_scans(struct space *space)
{
    scans_reset(space->scans);
    space->pass_tid = 0;
}

static size_t index_of(const struct space *space, const struct vma *vma)
{
    return (size_t)(vma - space->vmas.items);
}

int space_note_user(struct space *space, const struct vma *vma, const struct thread *thread)
{
    return scans_note(space->scans, index_of(space, vma), thread->tid, thread->slot,
                      slots_is_shared(space->slots, thread->slot));
}

void space_note_moved(struct space *space, uint64_t addr, const struct tally *before,
                      const struct tally *after, uint64_t moved_bytes)
{
    const struct vma *vma = space_find_vma(space, addr);

    if (!vma)
        return;
    vma_pages_move(&space->pages, vma->start, before, after);
    scans_note_moved(space->scans, index_of(space, vma), moved_bytes);
}

const struct vma_scan *space_scan_of(const struct space *space, size_t index)
{
    return index < space->scans->n_items ? &space->scans->items[index] : NULL;
}

void space_rotate_masks(struct space *space)
{
    struct range *range, *next;

    HASH_ITER (hh, space->ranges, range, next)
        range_rotate_mask(range);
    groups_rotate_masks(space->groups);
    scans_rotate(space->scans);
    slots_rotate(space->slots);
    threads_rotate(space);
}

/* The bit of the thread whose pass it is, in turns; none where no thread is at work. */
static void choose_passer(struct space *space, uint64_t *bits)
{
    const struct thread *thread = threads_next_active(space, space->pass_tid);
    unsigned bit;

    if (!thread)
        return;
    bit = scan_filter_bit(&space->scans->filter, thread->tid, thread->slot);
    bits[bit / 64] |= UINT64_C(1) << (bit % 64);
    space->pass_tid = thread->tid;
}

void space_begin_pass(struct space *space, uint64_t now)
{
    uint64_t one[SLOTS_MAX / 64] = {0};
    struct scan_who who = {.bits = space->slots->active, .n_threads = space->n_threads};

    if (space->scans->filter.kind != SCAN_FILTER_NUMABD) {
        choose_passer(space, one);
        who.bits = one;
    }
    scans_begin_pass(space->scans, &space->vmas, &who, now);
}

void space_leave_over(struct space *space, uint64_t addr)
{
    const struct vma *vma = space_find_vma(space, addr);

    if (vma)
        scans_leave_over(space->scans, index_of(space, vma));
}

void space_end_pass(struct space *space)
{
    scans_end_pass(space->scans, &space->vmas);
}

bool space_lets_vma(const struct space *space, const struct vma *vma)
{
    return vma && scans_lets(space->scans, index_of(space, vma));
}

bool space_lets(const struct space *space, uint64_t addr)
{
    return space_lets_vma(space, space_find_vma(space, addr));
}
