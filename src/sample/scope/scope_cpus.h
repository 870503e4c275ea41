#pragma once
/*
 * Scope CPUs: which are online and not skipped, and the ring of each that events write to.
 */
#include <stddef.h>

#include "sample/retry.h"
#include "sample/scope/scope_event.h"

struct scope_cpu {
    bool skipped; /* isolated, or none of ours */
    bool online;
    struct scope_ring *ring; /* NULL: no event needs it */
    int owner_fd;            /* the ring's own event; -1: none */
    uint64_t looked_nsec;    /* when the owner's time was last read; 0: never */
    uint64_t owner_nsec;     /* what it was then: how long it has been enabled */
    struct retry retry;      /* it refused as offline */
};

struct scope_cpus {
    struct scope_cpu *items; /* [n] by id */
    int n;
    size_t ring_bytes;
    char *online_text; /* of sys/devices/system/cpu/online as last seen; NULL: not readable */
};

/* Return: 0 or -ENOMEM. */
int scope_cpus_init(struct scope_cpus *cpus, const bool *skip, int n_cpu_ids);
/* Retires the rings. */
void scope_cpus_deinit(struct scope_cpus *cpus, struct scope_events *events);

/*
 * Takes the text of the online list (NULL: all are taken as online). A change makes all CPUs due
 * again. Return: 0 or -ENOMEM.
 */
int scope_cpus_see(struct scope_cpus *cpus, const char *online_text);

/* May events be opened there now? */
bool scope_cpus_is_usable(const struct scope_cpus *cpus, int cpu, uint64_t now);
/* Online and not skipped, whatever was refused. */
bool scope_cpus_is_wanted(const struct scope_cpus *cpus, int cpu);
unsigned scope_cpus_count_wanted(const struct scope_cpus *cpus);
/* Online, and without events since they are isolated. */
unsigned scope_cpus_count_skipped(const struct scope_cpus *cpus);

/*
 * Has the CPU a ring whose events are dead, because it was offline since the last call? `now` is
 * CLOCK_MONOTONIC. Costs the CPU an interrupt.
 */
bool scope_cpus_has_died(struct scope_cpus *cpus, const struct scope_events *events, int cpu,
                         uint64_t now);

/* Makes the ring of a CPU. Return: 0, SCOPE_EVENT_REFUSED, or -ENOMEM. */
int scope_cpus_ring(struct scope_cpus *cpus, struct scope_events *events, int cpu);
/* Retires the rings that no event writes to. */
void scope_cpus_sweep(struct scope_cpus *cpus, struct scope_events *events);
