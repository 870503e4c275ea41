#pragma once
/*
 * One address space: its VMAs, ranges and threads. Only bookkeeping; attribute.c decides when
 * something is read.
 */
#include "numabd/attribute.h"
#include "util/nsec.h"

/* Nothing is refreshed for a process that was not sampled for so long. */
#define SPACE_IDLE_NSEC (10 * NSEC_PER_SEC)

/* Return: 0 or -ENOMEM. */
int space_new(struct space **spacep, const struct target *target);
struct space *space_free(struct space *space);
CLEANUP_DEFINE(struct space *, space_free)

enum {
    SPACE_OUTSIDE = 1, /* the address is in no known VMA */
    SPACE_UNMOVABLE,   /* it is in a mapping of a kind that is never moved */
    SPACE_CAPPED,      /* only groups that hold it have counted it: no range could be made */
};

/*
 * Counts one access from `node` into its range, which is made if it is missing (*madep is then
 * set), and the groups that hold it. grain: what may be made (groups.h). Return: 0, one of the
 * above, or -ENOMEM.
 */
int space_add_access(struct space *space, const struct access *access, int node, unsigned grain,
                     bool *madep);

/*
 * The smallest range with so many passes that holds this one and that it agrees with, else itself.
 */
const struct range *space_find_claim(const struct space *space, const struct range *range,
                                     double min_share, unsigned n_passes);

/* Counts a sample, once however many addresses it has. Before space_add_access. */
void space_count_fault(struct space *space, const struct access *access, int node);

/*
 * Takes a new list of VMAs (which is left empty): drops ranges that are no longer inside the
 * mapping that they were learned in. *n_droppedp is their number.
 */
void space_set_vmas(struct space *space, struct vma_list *vmas, size_t *n_droppedp);

/* Takes what numa_maps told (which is left empty). */
void space_set_pages(struct space *space, struct vma_pages *pages);

/* Another program runs in the process now: everything that was learned goes. */
void space_reset(struct space *space, size_t *n_droppedp);

/* Judges all ranges and forgets those without evidence. *n_droppedp is their number. */
void space_close_round(struct space *space, double min_share, double elapsed_sec, uint64_t now,
                       size_t *n_droppedp);

/*
 * Memory that no sample has fallen into, inside groups that have passed once: ranges are made in
 * groups of 8 MiB that no slab speaks for, slabs in those that are larger than one. Where their
 * pages lie is then known when the group is confirmed and they go along. At most `limit`. Return:
 * how many were made.
 */
size_t space_fill_gaps(struct space *space, size_t limit);
size_t space_fill_slabs(struct space *space, size_t limit);

/*
 * May a move be decided in the next round: do pages of a VMA that was let through lie elsewhere
 * than a claim says, be it confirmed or not yet? Then the policy is read anew, since moves act on
 * fresh ones only.
 */
bool space_awaits_move(const struct space *space, double min_share, uint64_t now);

/* The same for one of its ranges. */
bool space_range_awaits_move(const struct space *space, const struct range *range, double min_share,
                             uint64_t now);

/* An access to the range counts for the space's remote share, if it is known where that lies. */
void space_count_share(struct space *space, const struct range *range, const struct access *access,
                       int node);

/* Whatever a thread with its own policy used stays its owner's, also after the thread slept. */
void space_mark_bound(struct space *space);
