#pragma once
/*
 * Retry: when something that failed is tried again: after 1 s, then twice as long each time, at
 * most 10 min. Nobody waits for it, and a permission that is given later is noticed.
 */
#include <stdbool.h>
#include <stdint.h>

#include "util/nsec.h"

#define RETRY_FIRST_NSEC NSEC_PER_SEC
#define RETRY_LAST_NSEC (600 * NSEC_PER_SEC)

/* All zero: nothing failed. */
struct retry {
    uint64_t at_nsec;    /* CLOCK_MONOTONIC, not before */
    uint64_t delay_nsec; /* the last one */
};

static inline bool retry_is_due(const struct retry *retry, uint64_t now)
{
    return now >= retry->at_nsec;
}

static inline void retry_failed(struct retry *retry, uint64_t now)
{
    uint64_t delay_nsec = retry->delay_nsec ? 2 * retry->delay_nsec : RETRY_FIRST_NSEC;

    retry->delay_nsec = delay_nsec < RETRY_LAST_NSEC ? delay_nsec : RETRY_LAST_NSEC;
    retry->at_nsec = now + retry->delay_nsec;
}
