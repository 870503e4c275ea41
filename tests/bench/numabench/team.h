#pragma once

/*
 * The threads of all processes, what each of them works on, and the page of counters that they
 * share with the monitor (the parent, or the main thread where there is only one process).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "machine.h"
#include "options.h"

/* A thread looks at the stop flag and at its CPU once in so many bytes. */
#define TEAM_CHUNK_BYTES ((size_t)64 << 10)

#define TEAM_MAX_PROCESSES 2

/* Written by one thread, read by the monitor. */
struct counters {
    _Alignas(64) atomic_ulong chunks[MACHINE_MAX_NODES]; /* done while on this node */
    atomic_ulong n_chunks;
    atomic_ulong errors;
    atomic_size_t node; /* where the thread was last seen */
};

struct shared {
    pid_t monitor;
    atomic_bool go;
    atomic_bool stop;
    atomic_uint populated;
    atomic_uint finished;
    pid_t pids[TEAM_MAX_PROCESSES];
    struct counters counters[]; /* of each thread of the team */
};

struct member {
    unsigned int process;
    unsigned int index;     /* within its process */
    struct machine_cpu cpu; /* meant for it; only pinned threads are bound to it */
    uintptr_t base;         /* of the memory of its process */
    size_t process_bytes;
    size_t start, end; /* what it works on, bytes from base */
};

struct team {
    const struct options *options;
    const struct machine *machine;
    unsigned int n_members;
    unsigned int per_process;
    struct member *members;
    struct shared *shared;
};

/* Decides threads and memory of all processes; maps the memory, but touches nothing. */
void team_new(struct team *team, const struct options *options, const struct machine *machine);
void team_free(struct team *team);

/* Starts all processes and threads. Returns in the monitor, with every page populated. */
void team_start(struct team *team);

/* Tells all threads to end and waits for the processes. */
void team_stop(struct team *team);

/* Fails when a process of the team has ended before its time. */
void team_check_children(const struct team *team);
