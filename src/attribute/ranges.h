#pragma once
/*
 * Ranges: evidence about up to 2 MiB of one VMA.
 */
#include "attribute/tally.h"

/* Passes needed before a claim is acted on: the second one on fresh samples only. */
#define CLAIM_PASSES 2
/* Width of the bound: one false pass in about 700 windows of an evenly shared range. */
#define CLAIM_Z 3.0
/*
 * So many samples of a source that is certain of thread and address (write_fault: one fault for
 * each 2 MiB of a huge page and window, so that 14 take as many seconds) pass too, if nothing
 * remembered speaks of another thread. In memory that two threads write evenly, the two passes are
 * wrong once in 2^9.
 */
#define CLAIM_EXACT 5
/*
 * The same for calling a range shared before CLAIM_Z is sure of it, which takes 220 samples of even
 * use; with 2 it takes 97. That is only a label: it neither moves anything nor ends a claim, and is
 * judged anew in each round, so that one wrong judgement in 40 does no harm.
 */
#define LOOKS_SHARED_Z 2.0

struct range *range_free(struct range *range);

/* The aligned range around addr, cut at the VMA's borders. */
void range_bounds(const struct vma *vma, uint64_t addr, uint64_t *startp, uint64_t *endp);

/* The same for the group of a level (0: 8 MiB ... GROUP_LEVELS - 1: the whole VMA). */
void group_bounds(const struct vma *vma, uint64_t addr, unsigned level, uint64_t *startp,
                  uint64_t *endp);

/*
 * Counts an access from `node`. Another address of the sample that was counted last (a sample's
 * come one after the other) brings its time but is no evidence of its own.
 * Return: 0 or -ENOMEM.
 */
int range_add(struct range *range, const struct access *access, int node, unsigned slot);

/*
 * Ends a round of `elapsed_sec`. When the lower Wilson bound of the busiest node's share of the
 * window exceeds min_share, that is one pass for the claim and the window starts afresh;
 * CLAIM_EXACT certain samples of one thread pass too. Else the window decays with a half-life of
 * two rounds or the time for 32 samples, at most 60 s. A claim ends when another node passes, or
 * when the upper bound of its own share falls below min_share (the range is then shared). A range
 * without a claim looks shared as long as that bound, with LOOKS_SHARED_Z, is below min_share for
 * every node in its history.
 */
void range_close_round(struct range *range, double min_share, double elapsed_sec, uint64_t now);

/* FEW_SAMPLES, UNCONFIRMED, SHARED, or NONE when the claim may be acted on. */
enum reason range_evidence(const struct range *range);

/* A mask window ends. */
void range_rotate_mask(struct range *range);

bool range_has_samples(const struct range *range);

/* Do the range's own samples, if it has any, allow what a group that holds it claims? */
bool range_agrees(const struct range *range, int node, double min_share);

/*
 * The range with the claim and the rate of a group that holds it, the rate by its part of the
 * group, and the group's threads where no sample fell into the range itself. A view: it points into
 * both and is never freed.
 */
struct range range_view(const struct range *range, const struct range *evidence);

/* Who goes back within the longest horizon (decide.h) bounces. */
#define RETURN_NSEC (600 * NSEC_PER_SEC)
bool range_moved_lately(const struct range *range, uint64_t now);
/* Its pages moved from a node to another: counts moves back and forth. */
void range_note_move(struct range *range, int from, int to, uint64_t now);

/*
 * A range is forgotten, and its memory left to what holds it, or made inside of that: `to` takes
 * over when memory of `from` moved last, and from where, if that was later than its own, so that
 * what moves back and forth is known either way.
 */
void range_hand_over(const struct range *from, struct range *to);

/* Access-seconds per second from the node. */
double range_rate(const struct range *range, int node);

/* Share of the sampled pages that lie on the node, 0 to 1; -1 when residency is unknown. */
double range_resident_share(const struct range *range, int node);
