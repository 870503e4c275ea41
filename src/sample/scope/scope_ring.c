#include "sample/scope/scope_ring.h"

#include <unistd.h>

#define TOTAL_BYTES ((uint64_t)32 << 20)
#define MLOCK_SHARE 4

/* The largest power of two of pages up to `bytes`, at least one page. */
static uint64_t pages_below(uint64_t bytes, size_t page_bytes)
{
    uint64_t size = page_bytes;

    while (2 * size <= bytes)
        size *= 2;
    return size;
}

static size_t ring_bytes(const struct scope_ring_budget *budget, uint64_t wanted)
{
    uint64_t share = budget->mlock_bytes / MLOCK_SHARE;
    uint64_t limit = share > budget->page_bytes ? share - budget->page_bytes : 0;
    uint64_t size = budget->page_bytes;

    if (limit > TOTAL_BYTES / budget->n_cpus)
        limit = TOTAL_BYTES / budget->n_cpus;
    limit = pages_below(limit, budget->page_bytes);
    while (size < wanted && size < limit)
        size *= 2;
    return (size_t)size;
}

size_t scope_ring_bytes(const struct scope_ring_budget *budget)
{
    return ring_bytes(budget, budget->bytes_per_second);
}

size_t scope_ring_bytes_thread(const struct scope_ring_budget *budget)
{
    return ring_bytes(budget, budget->bytes_per_second / 4);
}

int scope_ring_map(struct scope_ring *ring, const struct perf_kernel *kernel, int fd)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = page_bytes + ring->data_bytes;
    struct perf_event_mmap_page *page;
    void *map = NULL;
    int r;

    r = kernel->ops->map(kernel->self, fd, bytes, &map);
    if (r < 0)
        return r;
    page = map;
    ring->map = map;
    ring->map_bytes = bytes;
    ring->fd = fd;
    ring->ring = (struct ring){
        .data = (const uint8_t *)map + page_bytes,
        .size = ring->data_bytes,
        .head = (const uint64_t *)&page->data_head,
        .tail = (uint64_t *)&page->data_tail,
    };
    return 0;
}

void scope_ring_unmap(struct scope_ring *ring, const struct perf_kernel *kernel)
{
    if (ring->map)
        kernel->ops->unmap(kernel->self, ring->map, ring->map_bytes);
    ring->map = NULL;
}

uint64_t scope_ring_head(const struct scope_ring *ring)
{
    return ring->map ? __atomic_load_n(ring->ring.head, __ATOMIC_ACQUIRE) : 0;
}
