#pragma once
/*
 * Groups: ranges of 8 to 512 MiB and whole VMAs that hold the 2 MiB ranges, so that memory with few
 * samples for each 2 MiB is judged where there are enough.
 */
#include "attribute/ranges.h"

/* A range with less decayed evidence than this is forgotten. */
#define RANGE_FORGET_SAMPLES 0.1

/*
 * The finest grain that may still be made: everything from ranges on, groups of level g - 1 and
 * those above, or nothing.
 */
#define GRAIN_RANGES 0
#define GRAIN_NONE (GROUP_LEVELS + 1)

/* Puts a new empty range into a table by its start; NULL without memory. */
struct range *range_insert(struct range **ranges, uint64_t start, uint64_t end, unsigned rank);

/*
 * Is what was learned still about the same mapping? A group's or (level == GROUP_LEVELS) a range's
 * bounds are lengthened where its VMA grew.
 */
bool range_keep(struct range *range, unsigned level, const struct vma_list *before,
                const struct vma_list *after);

/*
 * Adds an access to all groups of its VMA that are larger than what they hold; missing ones are
 * made only from `grain` on, and none below a group of 32 MiB or more that is confirmed for this
 * node
 * (*knownp: there is one): the access says nothing new. Return: 0 or -ENOMEM.
 */
int groups_add(struct range *groups[GROUP_LEVELS], const struct vma *vma,
               const struct access *access, int node, unsigned slot, unsigned grain, bool *knownp);

/*
 * The smallest group with at least n_passes that holds the range or group; NULL: there is none, or
 * a smaller one is shared.
 */
struct range *groups_find_above(struct range *const groups[GROUP_LEVELS],
                                const struct vma_list *vmas, const struct range *range,
                                unsigned n_passes);

/* All but those of 8 MiB. */
size_t groups_count_coarse(struct range *const groups[GROUP_LEVELS]);

/* The verbs of ranges, for all groups of a space. */
void groups_drop(struct range *groups[GROUP_LEVELS]);
void groups_keep(struct range *groups[GROUP_LEVELS], const struct vma_list *before,
                 const struct vma_list *after);
void groups_rotate_masks(struct range *groups[GROUP_LEVELS]);
/* Groups that a thread of `own_policy` used are its owner's from now on. */
void groups_mark_bound(struct range *groups[GROUP_LEVELS], const struct thread_mask *own_policy);
/*
 * Judges all groups and forgets those without evidence, but no slab that a claim is about, and
 * those of 8 MiB that add nothing to what a larger one says.
 */
void groups_close_round(struct range *groups[GROUP_LEVELS], const struct vma_list *vmas,
                        double min_share, bool pressed, double elapsed_sec, uint64_t now);
