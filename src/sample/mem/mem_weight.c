/*
 * Samples of one event and CPU mostly arrive in order. Those of threads' own rings do not: one that
 * is older than the last tells no gap and counts with the nominal one. A gap is at most a second,
 * the longest that the lowest rate (10 Hz, a tenth of it for stable targets) brings.
 */
#include "sample/mem/mem_weight.h"

#include <errno.h>
#include <stdlib.h>

#include "util/nsec.h"

#define GAP_MAX_NSEC NSEC_PER_SEC

struct mem_weights {
    size_t n_events;
    int n_cpu_ids;
    uint64_t nominal_nsec;
    uint64_t *last_nsec; /* [event * n_cpu_ids + cpu]; 0: no sample yet */
};

int mem_weights_new(struct mem_weights **weightsp, size_t n_events, int n_cpu_ids,
                    uint64_t nominal_nsec)
{
    CLEANUP(mem_weights_freep) struct mem_weights *weights = calloc(1, sizeof *weights);

    if (!weights)
        return -ENOMEM;
    weights->n_events = n_events;
    weights->n_cpu_ids = n_cpu_ids > 0 ? n_cpu_ids : 0;
    weights->nominal_nsec = nominal_nsec;
    weights->last_nsec = calloc(n_events * (size_t)weights->n_cpu_ids + 1, sizeof(uint64_t));
    if (!weights->last_nsec)
        return -ENOMEM;
    *weightsp = TAKE(weights);
    return 0;
}

struct mem_weights *mem_weights_free(struct mem_weights *weights)
{
    if (weights)
        free(weights->last_nsec);
    free(weights);
    return NULL;
}

static uint64_t gap_nsec(struct mem_weights *weights, size_t index, int cpu, uint64_t when)
{
    uint64_t *last, before;

    if (index >= weights->n_events || cpu < 0 || cpu >= weights->n_cpu_ids)
        return weights->nominal_nsec;
    last = &weights->last_nsec[index * (size_t)weights->n_cpu_ids + (size_t)cpu];
    before = *last;
    if (before != 0 && when <= before)
        return weights->nominal_nsec;
    *last = when;
    if (before == 0)
        return weights->nominal_nsec;
    return when - before < GAP_MAX_NSEC ? when - before : GAP_MAX_NSEC;
}

/* Cycles that each occurrence of the event stands for. */
static double cycles_each(const struct mem_event *event, const struct mem_sample *sample)
{
    if (event->role == MEM_ROLE_OPS)
        return 1; /* it counts cycles */
    return sample->latency > 0 ? (double)sample->latency : 1;
}

double mem_weights_sec(struct mem_weights *weights, size_t index, const struct mem_event *event,
                       const struct mem_sample *sample)
{
    uint64_t gap = gap_nsec(weights, index, sample->cpu, sample->when_nsec);
    double cap = nsec_to_sec(gap) / (event->n_sharing > 0 ? event->n_sharing : 1);
    double sec = cycles_each(event, sample) * (double)sample->period * event->cycle_sec;

    return sec < cap ? sec : cap;
}
