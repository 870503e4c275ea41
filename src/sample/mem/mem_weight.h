#pragma once
/*
 * Memory weight: the CPU time that a sampled access stands for.
 *
 *     loads, stores with a latency   latency x period x cycle
 *     stores without one             1 cycle x period x cycle: what issuing them takes at least
 *     IBS, one per `period` cycles   period x cycle
 *
 * and never more than the time since the last sample of the same event on that CPU, divided among
 * the events that sample it: no thread there can have run for longer, and the weights of a CPU
 * never exceed its time. (Latencies overlap, so their plain sum can be several times that.)
 */
#include <stddef.h>

#include "sample/mem/mem_pmu.h"
#include "util/cleanup.h"

struct mem_weights;

/* nominal_nsec: between two samples, where nothing better is known; above 0. */
int mem_weights_new(struct mem_weights **weightsp, size_t n_events, int n_cpu_ids,
                    uint64_t nominal_nsec);
struct mem_weights *mem_weights_free(struct mem_weights *weights);
CLEANUP_DEFINE(struct mem_weights *, mem_weights_free)

/* Seconds, 0 or more; remembers the sample's time. `index` is below n_events. */
double mem_weights_sec(struct mem_weights *weights, size_t index, const struct mem_event *event,
                       const struct mem_sample *sample);
