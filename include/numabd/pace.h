#pragma once
/*
 * Pace: how closely does a process need to be watched? Pure.
 *
 * A new one is learned fast. It is stable when nothing was moved or planned for PACE_QUIET_NSEC and
 * its remote share is known, and stays so until something says that it entered another phase, or
 * that its threads or memory were placed anew: then it counts as new again.
 */
#include <stdbool.h>
#include <stdint.h>

#define PACE_QUIET_NSEC (10 * UINT64_C(1000000000))
/* Two windows of evidence and a policy need three to five rounds. */
#define PACE_NEW_NSEC (5 * UINT64_C(1000000000))
/* A remote share so far above its lowest, in permyriad: twice the standard error of 32 accesses. */
#define PACE_REMOTE_RISE 1800
#define PACE_GROWTH_DIVISOR 8 /* threads or resident memory changed by more than an eighth */
#define PACE_OUTSIDE_MOST 4   /* accesses outside all known mappings, in a round */

enum pace_level {
    PACE_NEW,
    PACE_USUAL,
    PACE_STABLE,
};

struct pace {
    bool stable;
    uint64_t since_nsec; /* when it was new last */
    uint64_t quiet_nsec; /* since when nothing happened; 0: not seen yet */
    /* what it looked like when it became stable */
    int remote_permyriad;
    unsigned n_threads;
    uint64_t rss_bytes;
    uint64_t n_outside;
};

struct pace_facts {
    uint64_t now;
    bool acted;           /* moves were planned in this round */
    uint64_t moved_nsec;  /* last move, 0 = never */
    int remote_permyriad; /* -1 = unknown */
    unsigned n_threads;
    uint64_t rss_bytes;
    uint64_t n_outside; /* since the start */
};

/* Call it once a round. */
enum pace_level pace_judge(struct pace *pace, const struct pace_facts *facts);
