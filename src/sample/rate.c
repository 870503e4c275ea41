/*
 * Two budgets hold the rate: one protects the sampled CPUs, the other is numabd's own. The second
 * can only be steered by looking back, so it is a bucket: what was not used is saved, and as long
 * as there are savings the full rate is given.
 *
 *     budget 0.02, 0.1 s of CPU time a second: 1.2 s of savings last 15 s; then the scale halves
 *     until 0.02 s a second are used.
 */
#include "sample/rate.h"

#include <math.h>

#define NSEC_PER_SECOND 1e9
#define RECOVERY 1.5
#define STEP_LEAST 0.5
#define STEP_MOST 1.5
/* Savings below this part are not spent: the scale must settle before they are gone. */
#define LOW_PART 0.1
/* A scale that differs by less is not worth a call for each event of each CPU and cgroup (8 us each
   natively, 0.1 s for 50 cgroups on 256 CPUs). What it is off grows into savings or a debt. */
#define STAY_LEAST 0.75
#define STAY_MOST (1 / STAY_LEAST)

struct rate rate_init(double budget)
{
    return (struct rate){.scale = 1, .saved_sec = budget * RATE_SAVED_SEC};
}

/* Debts are paid back: from six seconds' worth on by half of the budget. */
static double aim(const struct rate *rate, double budget)
{
    double debt = fmax(-rate->saved_sec, 0), most = budget * RATE_SAVED_SEC * LOW_PART;

    return budget * (1 - 0.5 * fmin(debt / most, 1));
}

void rate_spend(struct rate *rate, double budget, double used_sec, double elapsed_sec)
{
    double most = budget * RATE_SAVED_SEC, step = STEP_MOST, scale;

    if (elapsed_sec <= 0)
        return;
    rate->saved_sec = fmin(fmax(rate->saved_sec + budget * elapsed_sec - used_sec, -most), most);
    if (rate->saved_sec > most * LOW_PART)
        step = RECOVERY;
    else if (used_sec > 0)
        step = fmin(fmax(aim(rate, budget) * elapsed_sec / used_sec, STEP_LEAST),
                    rate->saved_sec < 0 ? 1 : STEP_MOST);
    scale = fmin(fmax(rate->scale * step, RATE_SCALE_LEAST), 1);
    if (scale == 1 || scale == RATE_SCALE_LEAST || scale < rate->scale * STAY_LEAST ||
        scale > rate->scale * STAY_MOST)
        rate->scale = scale;
}

static double allowed(double hz, double sampling_budget, uint64_t sample_cost_nsec)
{
    if (!sample_cost_nsec)
        return hz;
    return fmin(hz, sampling_budget * NSEC_PER_SECOND / (double)sample_cost_nsec);
}

static unsigned at_least(double hz, unsigned usual_hz)
{
    return (unsigned)fmax(hz, fmin(RATE_LEAST_HZ, usual_hz));
}

unsigned rate_most(unsigned usual_hz, double sampling_budget, uint64_t sample_cost_nsec)
{
    return at_least(allowed(usual_hz * RATE_NEW_FACTOR, sampling_budget, sample_cost_nsec),
                    usual_hz);
}

unsigned rate_hz(const struct rate *rate, unsigned usual_hz, double sampling_budget,
                 uint64_t sample_cost_nsec, enum pace_level level)
{
    double hz = usual_hz * (level == PACE_NEW ? RATE_NEW_FACTOR : 1.0);

    hz = allowed(hz, sampling_budget, sample_cost_nsec) * rate->scale;
    return at_least(level == PACE_STABLE ? hz / RATE_STABLE_DIVISOR : hz, usual_hz);
}
