#pragma once
/*
 * Perf ring: the reader of a ring of records, which works on any memory. scope_ring.c maps them.
 */
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

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
 * piece and aligned, valid during the call; *ring->tail is its end meanwhile. A record that is
 * empty or reaches beyond head is corrupt: nothing up to head can be trusted then, and is dropped.
 */
void ring_read(const struct ring *ring, struct ring_counts *counts,
               void (*sample)(void *userdata, const struct perf_event_header *record),
               void *userdata);
