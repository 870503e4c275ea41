#pragma once
/*
 * A space's passes: its threads and VMAs put before the scan filter.
 */
#include "attribute/scan_filter.h"
#include "numabd/attribute.h"

struct vma_scan;

/* mask_window until the configuration is known: Linux' VMA_PID_RESET_PERIOD. */
#define MASK_WINDOW_NSEC (4 * NSEC_PER_SEC)

/*
 * From now on this filter with masks of this width (rounded as slots_new does). If that is another
 * one, threads and masks are forgotten, but not whose memory is its owner's to place.
 * Return: 0, or -ENOMEM with everything as it was.
 */
int space_set_filter(struct space *space, enum scan_filter_kind kind, unsigned mask_bits);

/* Another program runs in it: the first pass is still to come. */
void space_forget_scans(struct space *space);

/* The thread used the VMA. Return: 0 or -ENOMEM. */
int space_note_user(struct space *space, const struct vma *vma, const struct thread *thread);

/* Pages of the VMA that holds addr moved. */
void space_note_moved(struct space *space, uint64_t addr, const struct tally *before,
                      const struct tally *after, uint64_t moved_bytes);

/* What is known beside its scans of the VMA with this index; NULL: nothing. */
const struct vma_scan *space_scan_of(const struct space *space, size_t index);

/* A mask window ends. */
void space_rotate_masks(struct space *space);

/*
 * A pass begins, and ends when its budget is spent; in between, work for which there was none is
 * left over.
 */
void space_begin_pass(struct space *space, uint64_t now);
void space_leave_over(struct space *space, uint64_t addr);
void space_end_pass(struct space *space);
