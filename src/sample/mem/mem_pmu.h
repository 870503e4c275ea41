#pragma once
/*
 * Memory PMU: which hardware of this machine samples memory accesses, and how its events are asked
 * for, from sys/bus/event_source/devices.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include "numabd/host.h"
#include "numabd/sample.h"
#include "sample/mem/mem_sample.h"
#include "sample/scope/perf_scope.h"

enum mem_role {
    MEM_ROLE_LEADER, /* only has to run for the loads behind it to be right */
    MEM_ROLE_LOADS,
    MEM_ROLE_STORES,
    MEM_ROLE_OPS, /* any instruction, of which the samples tell what it did (IBS) */
    MEM_ROLE_CYCLES,
    MEM_ROLE_INSTRUCTIONS,
};

/* One event, as sysfs spells it: nothing of it depends on what the kernel allows. */
struct mem_event {
    enum mem_role role;
    struct perf_event_attr attr; /* without sample_type and rate */
    const bool *cpus;            /* [n_cpu_ids] of a hybrid PMU, in cpus[] below; NULL: all */
    double cycle_sec;            /* of the CPUs that it runs on */
    unsigned n_sharing;          /* events that sample the same CPUs */
};

#define MEM_PMUS_HYBRID_MAX 2

struct mem_pmus {
    struct mem_event events[PERF_SCOPE_EVENTS_MAX]; /* in the order of opening */
    size_t n_events;
    bool *cpus[MEM_PMUS_HYBRID_MAX];
    size_t n_cpus;
    char text[64]; /* what was found: "cpu_core mem-loads mem-stores, cpu_atom mem-loads" */
};

/*
 * Finds the PMUs and encodes their events, then the counting events.
 * Return: 0, SOURCE_UNAVAILABLE with the reason (what was found and what is missing), or -ENOMEM.
 */
int mem_pmus_init(struct mem_pmus *pmus, const struct host *host, int n_cpu_ids,
                  struct source_reason *reason);
void mem_pmus_deinit(struct mem_pmus *pmus);

/* What is asked for beyond the events themselves; less of it opens on more machines. */
struct mem_demand {
    struct mem_layout layout;
    bool counts; /* with cycles and instructions */
    bool scoped; /* IBS by cgroup and thread (6.2 and later); else for the whole system */
};

/*
 * The events to open; indexes are those of pmus->events, which the counting events end.
 * Return: their number.
 */
size_t mem_pmus_events(const struct mem_pmus *pmus, struct mem_demand demand,
                       struct perf_scope_event events[PERF_SCOPE_EVENTS_MAX]);
