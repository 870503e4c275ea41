#pragma once
/*
 * The scan filter: which VMAs are worth work beyond samples in a pass over an address space. Pure.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attribute/recent.h"
#include "numabd/reason.h"
#include "util/nsec.h"

/* In the order of the names that numabd.conf knows; all but the first are for comparison. */
enum scan_filter_kind {
    SCAN_FILTER_NUMABD,
    SCAN_FILTER_NONE,   /* every VMA in every pass */
    SCAN_FILTER_RFC4,   /* "sched/numa: Enhance vma scanning" of January 2023 */
    SCAN_FILTER_KERNEL, /* Linux 6.12: one thread a pass, 64 hashed bits */
};

/* Linux' scan_delay: what lives shorter than this is not worth a scan. */
#define SCAN_NEW_VMA_NSEC NSEC_PER_SEC
/* Scans that each VMA gets whoever uses it. */
#define SCAN_FREE_PASSES 2
/* SCAN_FILTER_RFC4 remembers so many threads; where all places are taken, it lets any pass. */
#define SCAN_RFC4_THREADS 4
/* SCAN_FILTER_KERNEL has so many bits, as log2: BITS_PER_LONG. */
#define SCAN_KERNEL_BITS_LOG2 6

/*
 * X(constant, name, meaning). Those that skip have the names of Linux' tracepoint
 * sched_skip_vma_numa, and so has ignore_pid_inactive, which there too means that it is scanned.
 */
#define SCAN_VERDICTS(X)                                                                           \
    X(UNJUDGED, "unjudged", "new since the last pass")                                             \
    /* it is scanned */                                                                            \
    X(UNFILTERED, "unfiltered", "no filter is in use")                                             \
    X(FIRST_PASSES, "first_passes", "its first two scans are free")                                \
    X(ACTIVE, "pid_active", "a thread at work used it lately")                                     \
    X(UNFINISHED, "ignore_pid_inactive", "its scan was begun and not finished")                    \
    X(STARVED, "starved", "not scanned for more passes than there are threads")                    \
    X(NO_ALTERNATIVE, "no_alternative", "nothing else was to be scanned")                          \
    /* it is skipped */                                                                            \
    X(UNSUITABLE, "unsuitable", "memory of this kind is not moved")                                \
    X(SHARED_RO, "shared_ro", "read-only file mapping")                                            \
    X(INACCESSIBLE, "inaccessible", "PROT_NONE")                                                   \
    X(DELAY, "scan_delay", "younger than a second")                                                \
    X(COMPLETED, "seq_completed", "done in this pass")                                             \
    X(INACTIVE, "pid_inactive", "no thread at work used it lately")

enum scan_verdict {
#define X(constant, name, text) SCAN_##constant,
    SCAN_VERDICTS(X)
#undef X
    SCAN_VERDICT_COUNT
};

struct scan_filter {
    enum scan_filter_kind kind;
};

/* A pass over an address space. */
struct scan_pass {
    int64_t number;    /* 0 for the first */
    size_t n_scanned;  /* VMAs in it so far */
    size_t n_inactive; /* skipped only because no thread at work used them */
    uint64_t turn;     /* address from which on the next one without alternative is looked for */
};

/* One VMA: who used it, and what scans have seen of it. */
struct scan_state {
    enum reason kind;     /* NONE, or why memory of its kind is left alone */
    struct recent recent; /* owned */
    uint64_t born_nsec;   /* when it was first seen */
    int64_t first_pass;   /* the first one that could meet it */
    int64_t
        complete_pass;   /* the last one that ended with all of it scanned; first_pass - 1: none */
    unsigned n_complete; /* how often all of it was scanned */
    bool begun;          /* and not finished */
};

/* Who makes the pass. */
struct scan_who {
    /*
     * Bits in the width of the masks: all threads with samples in this window (numabd), or the one
     * whose pass it is (kernel, rfc4).
     */
    const uint64_t *bits;
    unsigned n_threads; /* live ones of the process */
};

/* n_words: of its masks; pass: the number of the next one. */
void scan_state_init(struct scan_state *state, enum reason kind, unsigned n_words, int64_t pass,
                     uint64_t now);
void scan_state_deinit(struct scan_state *state);
/*
 * What was learned of one VMA holds for all of it and for its parts, of the same kind: *state takes
 * it over, the masks too.
 */
void scan_state_inherit(struct scan_state *state, const struct scan_state *before);
/* The same for a VMA made of several: as old as the oldest, as little scanned as the least. */
void scan_state_merge(struct scan_state *state, const struct scan_state *before);
void scan_state_begin(struct scan_state *state);
/* The budget was enough for the rest of it. */
void scan_state_finish(struct scan_state *state, const struct scan_pass *pass);

enum scan_verdict scan_filter_judge(const struct scan_filter *filter, const struct scan_pass *pass,
                                    const struct scan_state *state, const struct scan_who *who,
                                    uint64_t now);

/*
 * Will the verdict stay what it is until a thread uses the VMA, or until it starves, which is not
 * before a pass `n_threads` behind its last complete one?
 */
bool scan_state_rests(const struct scan_state *state, enum scan_verdict verdict);
bool scan_filter_starves(const struct scan_pass *pass, int64_t complete_pass, unsigned n_threads);

/* Counts a verdict; ends the pass: the next one begins. */
void scan_pass_count(struct scan_pass *pass, enum scan_verdict verdict);
void scan_pass_end(struct scan_pass *pass);

/* All VMAs were judged: is one of the inactive to be scanned nevertheless? */
bool scan_filter_wants_one(const struct scan_filter *filter, const struct scan_pass *pass);

/* Is it scanned? */
bool scan_verdict_lets(enum scan_verdict verdict);
/* Static strings, "unknown" outside the range. */
const char *scan_verdict_name(enum scan_verdict verdict);
const char *scan_verdict_text(enum scan_verdict verdict);

/* Words of a mask of this filter, where numabd's own has n_words. */
unsigned scan_filter_words(const struct scan_filter *filter, unsigned n_words);
/* The bit of a thread in the masks: its slot, or a hash of its id. */
unsigned scan_filter_bit(const struct scan_filter *filter, pid_t tid, unsigned slot);
/* May another thread be remembered; are threads ever forgotten? */
bool scan_filter_remembers(const struct scan_filter *filter, const struct recent *recent);
bool scan_filter_forgets(const struct scan_filter *filter);
