#pragma once
/*
 * Scope place: a cgroup, a thread or the whole system, and its events: one of each kind per CPU, or
 * for a thread one of each kind.
 */

#include "sample/scope/scope_cpus.h"
#include "sample/scope/scope_event.h"
#include "util/hash.h"

enum scope_place_type {
    SCOPE_PLACE_CGROUP,
    SCOPE_PLACE_THREAD,
    SCOPE_PLACE_SYSTEM,
    SCOPE_PLACE_PMU, /* the whole system, but only kinds that know nothing else */
};

/* What a counting kind counted at a place. */
struct scope_sum {
    uint64_t count;
    unsigned round; /* scope_facts.round in which it was read; 0: never */
};

struct scope_place {
    char *key; /* of its type and what follows; see scope_place.c */
    enum scope_place_type type;
    const char *cgroup; /* path below the mount, inside key */
    pid_t pid, tid;
    bool wanted;                 /* by the plan of this round */
    unsigned rate_hz;            /* the highest of the targets that it covers */
    uint64_t dir_id;             /* of the cgroup that its events are of */
    struct scope_event **events; /* [slot * n_kinds + kind]; a slot is a CPU or the thread */
    size_t n_slots;
    struct scope_sum *sums;  /* [n_kinds] */
    struct scope_ring *ring; /* of a thread */
    struct retry retry;
    struct scope_failure failure; /* of the last sync; error 0: all are open that can be */
    UT_hash_handle hh;
};

struct scope_place_name {
    enum scope_place_type type;
    const char *cgroup;
    pid_t pid, tid;
    uint64_t start_ticks; /* of the process: a later one with the same ids is another place */
};

/*
 * Finds the place, or adds one without events. `places` is a uthash.
 * Return: 0 or -ENOMEM.
 */
int scope_place_get(struct scope_place **places, const struct scope_place_name *name, size_t n_cpus,
                    size_t n_kinds, struct scope_place **placep);
/* Retires its events and frees it. */
void scope_place_drop(struct scope_place **places, struct scope_place *place,
                      struct scope_events *events);

struct scope_sync {
    struct scope_events *events;
    struct scope_cpus *cpus;
    const char *cgroup_mount; /* NULL: none */
    size_t thread_ring_bytes;
    uint64_t now;
};

/*
 * Opens what is missing and due, closes what has gone, and sets the rate, until the slice is spent.
 * What fails is in place->failure and tried again later. Return: 0 or -ENOMEM.
 */
int scope_place_sync(struct scope_place *place, const struct scope_sync *sync);

/* Closes its events at a CPU; the next sync opens them again. A thread's are at none. */
void scope_place_retire_cpu(struct scope_place *place, struct scope_events *events, int cpu);

/* Closes events of the highest CPUs until `n_files` files are free again or none is left. */
void scope_place_shrink(struct scope_place *place, const struct scope_sync *sync, size_t n_files);

bool scope_place_is_open(const struct scope_place *place, size_t n_kinds);
