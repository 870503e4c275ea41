/*
 * The kernel writes records at head and stops at tail; we read at tail. Its contract
 * (linux/perf_event.h): read head, then a read barrier, then the records, then a full barrier, then
 * write tail; acquire and release give both.
 */
#include "sample/perf/perf_ring.h"

#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#define RECORD_BYTES_MAX 512 /* the largest of ours has 200 */

struct lost_record {
    struct perf_event_header header;
    uint64_t id, lost;
};

struct lost_samples_record {
    struct perf_event_header header;
    uint64_t lost;
};

static void ring_copy(const struct ring *ring, uint64_t at, void *to, size_t size)
{
    uint64_t offset = at & (ring->size - 1);
    size_t first = size < ring->size - offset ? size : ring->size - offset;

    memcpy(to, ring->data + offset, first);
    memcpy((uint8_t *)to + first, ring->data, size - first);
}

static void ring_count(const struct perf_event_header *record, struct ring_counts *counts)
{
    switch (record->type) {
    case PERF_RECORD_LOST:
        if (record->size >= sizeof(struct lost_record))
            counts->n_lost += ((const struct lost_record *)record)->lost;
        break;
    case PERF_RECORD_LOST_SAMPLES:
        if (record->size >= sizeof(struct lost_samples_record))
            counts->n_lost += ((const struct lost_samples_record *)record)->lost;
        break;
    case PERF_RECORD_THROTTLE:
        counts->n_throttled++;
        break;
    case PERF_RECORD_UNTHROTTLE:
        break;
    default:
        counts->n_unknown++;
    }
}

/* Copies the record at `tail` to buf, or only its header when it is larger than that. */
static bool ring_take(const struct ring *ring, uint64_t tail, uint64_t head,
                      struct perf_event_header *record)
{
    if (head - tail < sizeof *record)
        return false;
    ring_copy(ring, tail, record, sizeof *record);
    if (record->size < sizeof *record || record->size % 8 != 0 || record->size > head - tail)
        return false;
    if (record->size <= RECORD_BYTES_MAX)
        ring_copy(ring, tail, record, record->size);
    return true;
}

void ring_read(const struct ring *ring, struct ring_counts *counts,
               void (*sample)(void *userdata, const struct perf_event_header *record),
               void *userdata)
{
    alignas(8) uint8_t buf[RECORD_BYTES_MAX];
    struct perf_event_header *record = (void *)buf;
    uint64_t head = __atomic_load_n(ring->head, __ATOMIC_ACQUIRE);
    uint64_t tail = *ring->tail;

    while (tail != head) {
        if (head - tail > ring->size || !ring_take(ring, tail, head, record)) {
            counts->n_corrupt++;
            break;
        }
        tail += record->size;
        __atomic_store_n(ring->tail, tail, __ATOMIC_RELEASE);
        if (record->size > sizeof buf)
            counts->n_unknown++;
        else if (record->type == PERF_RECORD_SAMPLE)
            sample(userdata, record);
        else
            ring_count(record, counts);
    }
    __atomic_store_n(ring->tail, head, __ATOMIC_RELEASE);
}
