#pragma once
/*
 * Rate: how often a CPU may be sampled. Pure.
 */
#include <stdint.h>

#include "numabd/pace.h"

/* Stable targets are sampled at a tenth: enough to see a change within a round. */
#define RATE_STABLE_DIVISOR 10
/* New ones four times as often: what is misplaced is known in a fraction of the time. */
#define RATE_NEW_FACTOR 4
#define RATE_LEAST_HZ 4
/* What is not used of cpu_budget is kept for so long, so that a new target gets the full rate. */
#define RATE_SAVED_SEC 60
/* The least part of the rate that is left when numabd itself costs too much. */
#define RATE_SCALE_LEAST (1.0 / 64)

struct rate {
    double scale;     /* (0, 1]: what cpu_budget leaves of the rate */
    double saved_sec; /* CPU time that may still be used above the budget; below 0: a debt */
};

/* A new one has saved all that can be saved. `budget`: CPU time per second. */
struct rate rate_init(double budget);

/*
 * CPU time that was used in elapsed_sec. While there are savings the scale recovers by half a
 * round; without, it follows budget / use, at most a factor of two a round, and stays where that is
 * a small change.
 */
void rate_spend(struct rate *rate, double budget, double used_sec, double elapsed_sec);

/*
 * Samples per second and CPU: usual_hz for the level and scaled, and at most what sampling_budget
 * (share of the sampled time, 0 to 1) allows at sample_cost_nsec each; at least RATE_LEAST_HZ.
 */
unsigned rate_hz(const struct rate *rate, unsigned usual_hz, double sampling_budget,
                 uint64_t sample_cost_nsec, enum pace_level level);
/* The same for a new target while nothing has used up cpu_budget, for what is made to last (rings).
 */
unsigned rate_most(unsigned usual_hz, double sampling_budget, uint64_t sample_cost_nsec);
