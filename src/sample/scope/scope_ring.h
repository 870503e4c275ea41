#pragma once
/*
 * Scope ring: the memory that events write to, and how large it is.
 */
#include <stdint.h>

#include "sample/perf/perf_kernel.h"
#include "sample/perf/perf_ring.h"

struct scope_ring {
    struct ring ring;
    void *map; /* NULL: not there yet; the first event that uses it makes it */
    size_t map_bytes;
    size_t data_bytes; /* what it will have */
    int fd;            /* of the event that it is mapped through */
    unsigned n_events; /* that write to it, without the owner of a CPU's ring */
    bool retired;      /* read once more, then freed */
};

struct scope_ring_budget {
    size_t page_bytes;
    uint64_t mlock_bytes; /* kernel.perf_event_mlock_kb: per CPU and user, without privileges */
    unsigned n_cpus;      /* at least 1 */
    uint64_t bytes_per_second; /* of records at the highest rate */
};

/*
 * The data size of each CPU's ring, of a thread's: a power of two of pages, at least one. A CPU's
 * holds a second of samples, ten times the usual drain, for a loop that is late; a thread's a
 * quarter of that (there are many, and it asks for a drain when half full).
 * All CPUs' rings together take at most 32 MiB, whatever the rate; each, with the page before its
 * data, at most a quarter of what the kernel grants a CPU to a user without CAP_IPC_LOCK, since
 * three sources share it with the threads' rings.
 */
size_t scope_ring_bytes(const struct scope_ring_budget *budget);
size_t scope_ring_bytes_thread(const struct scope_ring_budget *budget);

/* Maps ring->data_bytes through the event. Return: 0 or a negative errno. */
int scope_ring_map(struct scope_ring *ring, const struct perf_kernel *kernel, int fd);
void scope_ring_unmap(struct scope_ring *ring, const struct perf_kernel *kernel);

/* Where the kernel writes next. */
uint64_t scope_ring_head(const struct scope_ring *ring);
