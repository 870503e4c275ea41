/*
 * The mem_events source: the processor itself samples loads and stores and tells address, latency
 * and which memory answered. What it needs of the kernel differs by version and permission, so the
 * most telling demand that opens is kept.
 *
 * No machine with such hardware was at hand: the encoding is tested against sysfs trees, the
 * decoding against records built byte by byte and on software events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sample/mem/mem_reader.h"
#include "sample/scope/perf_scope.h"
#include "util/nsec.h"

struct mem_events {
    struct source_options options;
    struct mem_pmus pmus;
    struct mem_demand demand; /* what opened */
    struct mem_phys *phys;
    struct mem_weights *weights;
    struct mem_bound *bound;
    struct perf_scope *scope;
    struct mem_reader reader;
};

static struct mem_events *mem_events_free(struct mem_events *mem)
{
    if (!mem)
        return NULL;
    perf_scope_free(mem->scope); /* before the CPU lists that its events point to */
    mem_phys_free(mem->phys);
    mem_weights_free(mem->weights);
    mem_bound_free(mem->bound);
    mem_pmus_deinit(&mem->pmus);
    free(mem);
    return NULL;
}
CLEANUP_DEFINE(struct mem_events *, mem_events_free)

static void source_free(void *self)
{
    mem_events_free(self);
}

static int source_round(void *self, const struct sample_round *round, struct source_reason *reason)
{
    struct mem_events *mem = self;

    mem_bound_keep(mem->bound, round);
    return perf_scope_round(mem->scope, round, reason);
}

static void on_record(void *userdata, size_t event, uint64_t period,
                      const struct perf_event_header *record)
{
    (void)period; /* by frequency: the record tells it */
    mem_reader_take(userdata, event, record);
}

static int source_drain(void *self)
{
    struct mem_events *mem = self;
    const struct perf_scope_counts *counts;

    mem_phys_refill(mem->phys);
    perf_scope_read(mem->scope, on_record, &mem->reader);
    mem_reader_flush(&mem->reader);
    counts = perf_scope_counts(mem->scope);
    mem->reader.counts.n_lost = counts->n_lost;
    mem->reader.counts.n_interrupts = counts->n_interrupts;
    return 0;
}

static const struct sample_counts *source_counts(void *self)
{
    struct mem_events *mem = self;

    return &mem->reader.counts;
}

static void source_describe(void *self, char *text, size_t size)
{
    struct mem_events *mem = self;
    const struct perf_scope_counts *counts = perf_scope_counts(mem->scope);

    snprintf(text, size, "%s; %u cgroups, %u threads%s, %u events%s%s%s%s", mem->pmus.text,
             counts->n_cgroups, counts->n_threads, counts->whole_system ? ", whole system" : "",
             counts->n_events, mem->demand.layout.phys ? "" : ", no physical addresses",
             mem->demand.counts ? "" : ", no cycle counts", counts->note ? ", " : "",
             counts->note ? counts->note : "");
}

static bool source_lacks(void *self, struct source_reason *reason)
{
    const struct mem_events *mem = self;

    return perf_scope_lacks(mem->scope, reason);
}

static int source_measure(void *self, const struct sample_target *target, struct cpu_use *use)
{
    struct mem_events *mem = self;
    const size_t instructions = mem->pmus.n_events - 1, cycles = mem->pmus.n_events - 2;
    uint64_t n_cycles, n_instructions;

    if (!mem->demand.counts || perf_scope_count(mem->scope, cycles, target, &n_cycles) ||
        perf_scope_count(mem->scope, instructions, target, &n_instructions) ||
        mem_bound_take(mem->bound, target, n_cycles, n_instructions, use))
        return SOURCE_UNMEASURED;
    return 0;
}

static int open_demand(struct mem_events *mem, struct mem_demand demand,
                       struct source_reason *reason)
{
    struct perf_scope_event events[PERF_SCOPE_EVENTS_MAX];
    const struct perf_scope_options options = {
        .source = &mem->options,
        .events = events,
        .n_events = mem_pmus_events(&mem->pmus, demand, events),
        .record_bytes = mem_sample_bytes(demand.layout),
    };

    mem->demand = demand;
    return perf_scope_new(&mem->scope, &options, reason);
}

/*
 * From everything downwards. What costs least is given up first: the newer form of the weight
 * (kernels before 5.12), physical addresses (kernel.perf_event_paranoid above 1 without
 * CAP_PERFMON), the counters, and last IBS by cgroup (kernels before 6.2).
 */
static int open_scope(struct mem_events *mem, struct source_reason *reason)
{
    struct source_reason refusal = {{0}};
    const unsigned n_demands = mem->pmus.events[0].role == MEM_ROLE_OPS ? 16 : 8;
    int r = SOURCE_UNAVAILABLE;

    for (unsigned without = 0; without < n_demands && r == SOURCE_UNAVAILABLE; without++)
        r = open_demand(mem,
                        (struct mem_demand){
                            .layout.weight_struct = !(without & 1),
                            .layout.phys = !(without & 2),
                            .counts = !(without & 4),
                            .scoped = !(without & 8),
                        },
                        &refusal);
    if (r == SOURCE_UNAVAILABLE)
        snprintf(reason->text, sizeof reason->text, "%s: %.180s", mem->pmus.text, refusal.text);
    return r;
}

/* What the reader needs beside the events. */
static int prepare_reader(struct mem_events *mem)
{
    const struct source_options *options = &mem->options;
    int r;

    r = mem_bound_new(&mem->bound);
    if (r)
        return r;
    r = mem_weights_new(&mem->weights, mem->pmus.n_events, options->n_cpu_ids,
                        NSEC_PER_SEC / options->rate_hz);
    if (r)
        return r;
    if (mem->demand.layout.phys) {
        r = mem_phys_new(&mem->phys, options->host, options->topology);
        if (r < 0)
            return r; /* MEM_PHYS_NONE: it stays NULL */
    }
    mem->reader = (struct mem_reader){
        .layout = mem->demand.layout,
        .events = mem->pmus.events,
        .n_events = mem->pmus.n_events,
        .filter = options->filter,
        .sink = options->sink,
        .topology = options->topology,
        .phys = mem->phys,
        .weights = mem->weights,
        .bound = mem->bound,
    };
    return 0;
}

int mem_events_new(struct source *source, const struct source_options *options,
                   struct source_reason *reason)
{
    static const struct source_ops ops = {
        .name = "mem_events",
        .round = source_round,
        .drain = source_drain,
        .counts = source_counts,
        .describe = source_describe,
        .lacks = source_lacks,
        .measure = source_measure,
        .free = source_free,
    };
    CLEANUP(mem_events_freep) struct mem_events *mem = NULL;
    int r;

    if (options->rate_hz == 0)
        return -EINVAL;
    mem = calloc(1, sizeof *mem);
    if (!mem)
        return -ENOMEM;
    mem->options = *options;
    r = mem_pmus_init(&mem->pmus, options->host, options->n_cpu_ids, reason);
    if (!r)
        r = open_scope(mem, reason);
    if (!r)
        r = prepare_reader(mem);
    if (r)
        return r;
    *source = (struct source){.ops = &ops, .self = TAKE(mem)};
    return 0;
}
