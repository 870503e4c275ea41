#pragma once
/*
 * Benefit: did moving a process's memory do it good? Pure.
 *
 * What is compared are an episode's sides: the rounds before its first move, and those after its
 * last one. Two things are measured: the remote share, in the sampler's own unit, and, where a
 * source counts them, cycles per instruction. Only the latter tells whether the process got faster.
 */
#include <stdbool.h>
#include <stdint.h>

/* Rounds averaged on each side; the first ones after a move still pay for it (TLB, caches). */
#define BENEFIT_ROUNDS 5
#define BENEFIT_SETTLE_ROUNDS 3
/* Episodes that moved less than a 32nd of the resident memory are too small to show. */
#define BENEFIT_LEAST_DIVISOR 32
/* Cycles per instruction must fall by 1 %: less is within what they scatter by themselves. */
#define BENEFIT_LEAST_GAIN 0.01
/* A process that gained nothing is left alone for so long, doubled each time. */
#define BENEFIT_PAUSE_NSEC (30 * UINT64_C(1000000000))
#define BENEFIT_PAUSE_MAX_NSEC (600 * UINT64_C(1000000000))

struct benefit_mean {
    double sum;
    unsigned n;
};

enum benefit_verdict {
    BENEFIT_NONE_YET,     /* no episode has ended */
    BENEFIT_UNMEASURABLE, /* one has, but nothing here counts cycles and instructions */
    BENEFIT_GAINED,
    BENEFIT_NOTHING, /* it ended, and the process is no faster */
};

struct benefit {
    struct benefit_mean cpi, next_cpi; /* before the episode; after its last move */
    uint64_t moved_bytes;              /* of the process, at the last round */
    uint64_t episode_bytes;            /* moved in this episode; 0: none is on */
    unsigned n_still;                  /* rounds since its last move */
    int remote_start_permyriad;        /* remote share when it began, -1 = unknown */
    int remote_seen_permyriad;         /* the last that was known, -1 = none */
    /* of the last episode that ended */
    enum benefit_verdict verdict;
    int remote_before_permyriad, remote_after_permyriad; /* -1 = unknown */
    double cpi_before, cpi_after;                        /* 0 = not measured */
    uint64_t pause_nsec;                                 /* 0: the last one gained */
    uint64_t until_nsec;                                 /* no move before */
};

#define BENEFIT_START                                                                              \
    ((struct benefit){.remote_start_permyriad = -1,                                                \
                      .remote_seen_permyriad = -1,                                                 \
                      .remote_before_permyriad = -1,                                               \
                      .remote_after_permyriad = -1})

struct benefit_facts {
    uint64_t now;
    uint64_t moved_bytes; /* of the process, since it was found */
    uint64_t rss_bytes;
    int remote_permyriad; /* -1 = unknown */
    double cpi;           /* cycles per instruction since the last round, 0 = not measured */
};

/* Once a round. */
void benefit_judge(struct benefit *benefit, const struct benefit_facts *facts);

/* Is the process left alone, because moving its memory did it no good? */
bool benefit_is_paused(const struct benefit *benefit, uint64_t now);
