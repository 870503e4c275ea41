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
struct range *range_insert(struct range **ranges, uint64_t start, uint64_t end);

/*
 * Is what was learned still about the same mapping? A group's or (level == GROUP_LEVELS) a range's
 * bounds are lengthened where its VMA grew.
 */
bool range_keep(struct range *range, unsigned level, const struct vma_list *before,
                const struct vma_list *after);

/*
 * Adds an access to all groups of its VMA that are larger than `bytes`, those of its range; missing
 * ones are made only from `grain` on. Return: 0 or -ENOMEM.
 */
int groups_add(struct range *groups[GROUP_LEVELS], const struct vma *vma, uint64_t bytes,
               const struct access *access, int node, unsigned slot, unsigned grain);

size_t groups_count(struct range *const groups[GROUP_LEVELS]);

/* The verbs of ranges, for all groups of a space. */
void groups_drop(struct range *groups[GROUP_LEVELS]);
void groups_keep(struct range *groups[GROUP_LEVELS], const struct vma_list *before,
                 const struct vma_list *after);
void groups_rotate_masks(struct range *groups[GROUP_LEVELS]);
/* Groups that a thread of `own_policy` used are its owner's from now on. */
void groups_mark_bound(struct range *groups[GROUP_LEVELS], const struct thread_mask *own_policy);
void groups_close_round(struct range *groups[GROUP_LEVELS], double min_share, double elapsed_sec,
                        uint64_t now);
