#pragma once
/*
 * Scope events: all open events of a scope and their rings, each event found by the id that its
 * records begin with.
 */
#include <stdbool.h>
#include <stdint.h>

#include "sample/scope/perf_scope.h"
#include "sample/scope/scope_ring.h"
#include "util/hash.h"

struct scope_event {
    uint64_t id; /* key */
    int fd;      /* -1: retired, its last records may still be in the ring */
    size_t kind; /* index in scope_events.kinds */
    struct scope_ring *ring;
    unsigned rate_hz;
    uint64_t period;        /* what a record stands for, as perf_scope_read tells it */
    uint64_t period_before; /* of records that end at or before changed_at in the ring */
    uint64_t changed_at;
    uint64_t running_nsec; /* of these, interrupts are counted */
    UT_hash_handle hh;
};

struct scope_failure {
    int error; /* positive errno, 0: none */
    bool map;  /* of the ring's mmap, else of perf_event_open or a call on the event */
};

/* Did files or ring memory run out, so that a place with fewer events may do? */
bool scope_failure_is_shortage(const struct scope_failure *failure);

struct scope_events {
    struct perf_kernel kernel;
    struct perf_scope_event kinds[PERF_SCOPE_EVENTS_MAX];
    size_t n_kinds;
    int epoll_fd;
    unsigned rate_max_hz; /* of kinds with freq; 0: not known */
    struct scope_event *by_id;
    struct scope_ring **rings;
    size_t n_rings, rings_cap; /* retired ones included */
    unsigned n_open;           /* events */
    unsigned n_retired;        /* events that the next sweep frees */
    unsigned n_calls;          /* opened and re-rated in this slice */
    uint64_t n_interrupts;
    uint64_t n_failures;
    struct scope_failure failure; /* the last one */
};

void scope_events_deinit(struct scope_events *events);

/*
 * The loop may be held up for 20 ms at a time. To open an event and send it to its ring takes 17 us
 * (tried natively), to re-rate it 9 us; both interrupt its CPU. 256 CPUs with 50 cgroups have
 * 12,800.
 */
#define SCOPE_CALLS_MAX 512
static inline bool scope_events_is_spent(const struct scope_events *events)
{
    return events->n_calls >= SCOPE_CALLS_MAX;
}

/* Return: a ring without memory, or NULL. */
struct scope_ring *scope_events_add_ring(struct scope_events *events, size_t data_bytes);
/* Its memory stays until the next sweep. */
void scope_ring_retire(struct scope_ring *ring);

struct scope_event_request {
    size_t kind;
    pid_t pid;           /* as perf_event_open(2): a tid, -1, or with CGROUP the directory's fd */
    int cpu;             /* -1: any */
    int group_fd;        /* -1: none */
    unsigned long flags; /* PERF_FLAG_PID_CGROUP or 0 */
    struct scope_ring *ring;
    unsigned rate_hz; /* at least 1 */
};

enum {
    SCOPE_EVENT_REFUSED = 1, /* events->failure says why */
};
/* Return: 0, SCOPE_EVENT_REFUSED, or -ENOMEM. */
int scope_events_open(struct scope_events *events, const struct scope_event_request *request,
                      struct scope_event **eventp);
/* An event of no kind that owns the ring of a CPU. Return: the same. */
int scope_events_open_owner(struct scope_events *events, int cpu, struct scope_ring *ring,
                            int *fdp);
/* Notes a failure. Return: SCOPE_EVENT_REFUSED. */
int scope_events_refuse(struct scope_events *events, int error, bool map);

/* Takes effect for what is sampled from now on. A refusal leaves the old rate. */
void scope_event_set_rate(struct scope_events *events, struct scope_event *event, unsigned rate_hz);
/* Counts the interrupts that its time stands for since the last call; costs one to its CPU. */
void scope_event_account(struct scope_events *events, struct scope_event *event);
/* Closes it. NULL is none. Return: NULL. */
struct scope_event *scope_event_retire(struct scope_events *events, struct scope_event *event);

/* What the record that ends at `end` in its ring stands for. */
uint64_t scope_event_period_at(const struct scope_event *event, uint64_t end);
struct scope_event *scope_events_find(const struct scope_events *events, uint64_t id);
/* Frees what is retired; their records have been read. */
void scope_events_sweep(struct scope_events *events);
