/*
 * Counts of a process, by pid. The counters belong to the place that covers it, a cgroup or a
 * thread's event, and are never reset by us: what counts is how far they moved since the last
 * answer. Too short a time gives no answer and goes on.
 */
#include "sample/mem/mem_bound.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/pid_array.h"

#define CYCLES_MIN 1000000 /* half a millisecond: start-up noise */
#define LATENCIES_MIN 16   /* fewer tell no share */

struct process_counts {
    pid_t pid;
    uint64_t start_ticks;          /* 0: no answer was asked for yet */
    uint64_t cycles, instructions; /* the counters at the last answer */
    struct mem_bound_counts since;
};

struct mem_bound {
    struct process_counts *items; /* ascending pids */
    size_t n_items, cap;
};

int mem_bound_share(const struct mem_bound_counts *counts, double *sharep)
{
    double stalled, memory = 1;

    if (counts->cycles < CYCLES_MIN || counts->instructions == 0)
        return MEM_BOUND_UNKNOWN;
    stalled = 1 - MEM_BOUND_CPI_CORE * (double)counts->instructions / (double)counts->cycles;
    if (counts->n_latencies >= LATENCIES_MIN && counts->latency > 0)
        memory = counts->memory_latency / counts->latency;
    *sharep = stalled > 0 ? stalled * memory : 0;
    return 0;
}

int mem_bound_new(struct mem_bound **boundp)
{
    struct mem_bound *bound = calloc(1, sizeof *bound);

    if (!bound)
        return -ENOMEM;
    *boundp = bound;
    return 0;
}

struct mem_bound *mem_bound_free(struct mem_bound *bound)
{
    if (bound)
        free(bound->items);
    free(bound);
    return NULL;
}

static size_t items_position(const struct mem_bound *bound, pid_t pid)
{
    return PID_ARRAY_POSITION(bound->items, bound->n_items, pid);
}

/* NULL: out of memory. */
static struct process_counts *items_get(struct mem_bound *bound, pid_t pid)
{
    size_t at = items_position(bound, pid);
    struct process_counts *item;

    if (at < bound->n_items && bound->items[at].pid == pid)
        return &bound->items[at];
    if (ARRAY_RESERVE(bound->items, bound->cap, bound->n_items + 1) < 0)
        return NULL;
    item = &bound->items[at];
    memmove(item + 1, item, (bound->n_items++ - at) * sizeof *item);
    *item = (struct process_counts){.pid = pid};
    return item;
}

void mem_bound_add(struct mem_bound *bound, pid_t pid, double latency,
                   enum access_locality locality)
{
    struct process_counts *item = items_get(bound, pid);

    if (!item)
        return;
    item->since.n_latencies++;
    item->since.latency += latency;
    if (locality != ACCESS_LOCALITY_CACHE)
        item->since.memory_latency += latency;
}

/* The next answer starts here. */
static void item_restart(struct process_counts *item, uint64_t start_ticks, uint64_t cycles,
                         uint64_t instructions)
{
    *item = (struct process_counts){
        .pid = item->pid,
        .start_ticks = start_ticks,
        .cycles = cycles,
        .instructions = instructions,
    };
}

int mem_bound_take(struct mem_bound *bound, const struct sample_target *target, uint64_t cycles,
                   uint64_t instructions, struct cpu_use *use)
{
    struct process_counts *item = items_get(bound, target->pid);

    if (!item)
        return MEM_BOUND_UNKNOWN;
    if (item->start_ticks != target->start_ticks || cycles < item->cycles ||
        instructions < item->instructions) {
        item_restart(item, target->start_ticks, cycles, instructions);
        return MEM_BOUND_UNKNOWN;
    }
    item->since.cycles = cycles - item->cycles;
    item->since.instructions = instructions - item->instructions;
    if (mem_bound_share(&item->since, &use->memory_bound))
        return MEM_BOUND_UNKNOWN;
    use->cpi = (double)item->since.cycles / (double)item->since.instructions;
    item_restart(item, target->start_ticks, cycles, instructions);
    return 0;
}

void mem_bound_keep(struct mem_bound *bound, const struct sample_round *round)
{
    size_t n_kept = 0, target = 0;

    for (size_t i = 0; i < bound->n_items; i++) {
        while (target < round->n_targets && round->targets[target].pid < bound->items[i].pid)
            target++;
        if (target < round->n_targets && round->targets[target].pid == bound->items[i].pid)
            bound->items[n_kept++] = bound->items[i];
    }
    bound->n_items = n_kept;
}
