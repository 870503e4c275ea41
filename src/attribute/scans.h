#pragma once
/*
 * Scans: the passes over one address space, and beside each of its VMAs what they need to know.
 */
#include "attribute/scan_filter.h"
#include "attribute/vmas.h"

struct vma_scan {
    struct scan_state state;
    enum scan_verdict verdict; /* of the last pass */
    bool left_over;            /* this pass has no budget for the rest of it */
    uint64_t finished_nsec;    /* when the last pass began that scanned all of it; 0: none */
    uint64_t moved_bytes;      /* of the VMA; goes on where its start stays */
    bool watched;              /* in scans.watched; else its verdict holds until it is woken */
};

struct scan_counts {
    uint64_t n_noted;  /* samples in the masks */
    uint64_t n_shared; /* of those, by threads whose bit stands for another one too */
    uint64_t n_passes;
    uint64_t n[SCAN_VERDICT_COUNT]; /* VMAs by verdict, once a pass */
    uint64_t scanned_bytes;         /* of VMAs whose scan was finished */
};

struct scans {
    struct scan_filter filter;
    unsigned n_words;       /* of the masks */
    struct vma_scan *items; /* [n_items] in the order of the VMAs */
    size_t n_items;         /* as many as VMAs; 0 where memory was short: all are let through */
    uint32_t *watched;      /* [n_watched] of n_items: those that a pass looks at, in no order */
    size_t n_watched;
    size_t n_resting[SCAN_VERDICT_COUNT]; /* the others, by verdict */
    int64_t oldest_pass;                  /* no complete_pass of the others is older */
    struct scan_pass pass;
    uint64_t pass_nsec; /* when it began */
    struct scan_counts counts;
};

/* n_words: of a mask with a bit for each slot. Return: 0 or -ENOMEM. */
int scans_new(struct scans **scansp, enum scan_filter_kind kind, unsigned n_words);
struct scans *scans_free(struct scans *scans);
CLEANUP_DEFINE(struct scans *, scans_free)

/* No VMAs, no passes yet; the counters go on. */
void scans_reset(struct scans *scans);

/*
 * The VMAs have changed from `before`, which the items go with, to `after`. What was learned goes
 * to where the same mapping lies; without memory everything is forgotten.
 */
void scans_follow(struct scans *scans, const struct vma_list *before, const struct vma_list *after,
                  uint64_t now);

/* A thread used the VMA with this index; is its slot shared? Return: 0 or -ENOMEM. */
int scans_note(struct scans *scans, size_t index, pid_t tid, unsigned slot, bool shared);

/* So much of the VMA with this index was moved. */
void scans_note_moved(struct scans *scans, size_t index, uint64_t moved_bytes);

/* The next mask window begins. */
void scans_rotate(struct scans *scans);

/* A pass begins: each VMA gets its verdict. */
void scans_begin_pass(struct scans *scans, const struct vma_list *vmas, const struct scan_who *who,
                      uint64_t now);
/* May the VMA be worked on? Between passes what the last one said holds. */
bool scans_lets(const struct scans *scans, size_t index);
/* There is work left in a VMA that was let through. */
void scans_leave_over(struct scans *scans, size_t index);
/* What was let through and not left over has been scanned. */
void scans_end_pass(struct scans *scans, const struct vma_list *vmas);

/* Adds up. */
void scan_counts_add(struct scan_counts *counts, const struct scan_counts *more);
