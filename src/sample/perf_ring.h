#pragma once
/*
 * Perf rings: one event and one ring of records per CPU, and the reader of such a ring, which works
 * on any memory.
 */
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "numabd/sample.h"

/* The data pages of a ring. head and tail count bytes since the start and never wrap. */
struct ring {
    const uint8_t *data;
    uint64_t size;        /* bytes, a power of two */
    const uint64_t *head; /* moved by the kernel, at any time */
    uint64_t *tail;       /* moved by the reader: what lies before it may be overwritten */
};

struct ring_counts {
    uint64_t n_lost;      /* records that found no room, as the kernel tells */
    uint64_t n_throttled; /* times that the kernel paused the event */
    uint64_t n_unknown;   /* records of other types or of a size that is not asked for */
    uint64_t n_corrupt;   /* times that the rest of a ring was dropped */
};

/*
 * Calls sample(userdata, record) for each PERF_RECORD_SAMPLE up to where head stands now, in one
 * piece and aligned, valid during the call. A record that is empty or reaches beyond head is
 * corrupt: nothing up to head can be trusted then, and is dropped.
 */
void ring_read(const struct ring *ring, struct ring_counts *counts,
               void (*sample)(void *userdata, const struct perf_event_header *record),
               void *userdata);

struct perf_ring {
    struct ring ring;
    void *map; /* NULL: the ring's memory is not ours */
    size_t map_bytes;
};

struct perf_rings {
    struct perf_ring *items;
    int *fds; /* [n], the event of each ring */
    size_t n;
};

#define PERF_RINGS_NULL ((struct perf_rings){0})

/*
 * Opens the event on each CPU below options->n_cpu_ids that is online and not skipped, and raises
 * the soft limit of open files for it.
 * Return: 0, SOURCE_UNAVAILABLE with the reason filled in, or a negative errno.
 */
int perf_rings_init(struct perf_rings *rings, const struct perf_event_attr *attr,
                    const struct source_options *options, struct source_reason *reason);
void perf_rings_deinit(struct perf_rings *rings);

/* All events sample once in that time from now on. Return: 0, or the last refusal, negative. */
int perf_rings_set_period(const struct perf_rings *rings, uint64_t period_nsec);
