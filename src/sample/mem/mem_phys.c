/*
 * A node's folder links the memory blocks that lie on it: sys/devices/system/node/node1/memory40 is
 * the block of physical addresses from 40 x block size. A block is looked up when a sample first
 * names it and then remembered: a large machine has thousands of blocks, most of them never
 * sampled. Memory that is plugged later has not been sampled before, so nothing has to be
 * forgotten.
 */
#include "sample/mem/mem_phys.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/scan.h"

/* A read of a sysfs file takes about 10 us, so a drain of 100 ms spends at most 0.6 % of its time.
 */
#define READS_PER_DRAIN 64

struct mem_block {
    uint64_t number;
    int node; /* -1: none, or two */
};

struct mem_phys {
    const struct host *host;
    const struct topology *topology;
    uint64_t block_bytes;
    int n_reads_left;
    struct mem_block *blocks; /* ascending numbers */
    size_t n_blocks, cap;
};

static uint64_t read_block_bytes(const struct host *host)
{
    CLEANUP(freep) char *text = NULL;
    struct scan scan;
    uint64_t bytes = 0;
    size_t size = 0;

    if (host->ops->read_file(host->self, "sys/devices/system/memory/block_size_bytes", 32, &text,
                             &size))
        return 0;
    scan = (struct scan){text, text + size};
    return scan_hex(&scan, UINT64_MAX, &bytes) ? bytes : 0;
}

int mem_phys_new(struct mem_phys **physp, const struct host *host, const struct topology *topology)
{
    CLEANUP(mem_phys_freep) struct mem_phys *phys = NULL;
    uint64_t block_bytes = read_block_bytes(host);

    if (block_bytes == 0)
        return MEM_PHYS_NONE;
    phys = calloc(1, sizeof *phys);
    if (!phys)
        return -ENOMEM;
    phys->host = host;
    phys->topology = topology;
    phys->block_bytes = block_bytes;
    phys->n_reads_left = READS_PER_DRAIN;
    *physp = TAKE(phys);
    return 0;
}

struct mem_phys *mem_phys_free(struct mem_phys *phys)
{
    if (phys)
        free(phys->blocks);
    free(phys);
    return NULL;
}

void mem_phys_refill(struct mem_phys *phys)
{
    if (phys)
        phys->n_reads_left = READS_PER_DRAIN;
}

static bool node_links_block(const struct mem_phys *phys, int node, uint64_t number)
{
    CLEANUP(freep) char *text = NULL;
    size_t size = 0;
    char path[96];

    snprintf(path, sizeof path, "sys/devices/system/node/node%d/memory%llu/state", node,
             (unsigned long long)number);
    return phys->host->ops->read_file(phys->host->self, path, 16, &text, &size) == 0;
}

/* Every node is asked: a block that two nodes link tells nothing. */
static int look_up(struct mem_phys *phys, uint64_t number)
{
    int found = -1, n_found = 0;

    for (int node = 0; node < phys->topology->n_node_ids; node++) {
        if (!topology_has_memory(phys->topology, node))
            continue;
        phys->n_reads_left--;
        if (!node_links_block(phys, node, number))
            continue;
        found = node;
        n_found++;
    }
    return n_found == 1 ? found : -1;
}

/* Return: where the block is or belongs. */
static size_t block_position(const struct mem_phys *phys, uint64_t number)
{
    size_t low = 0, high = phys->n_blocks;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (phys->blocks[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void remember(struct mem_phys *phys, size_t at, struct mem_block block)
{
    if (ARRAY_RESERVE(phys->blocks, phys->cap, phys->n_blocks + 1) < 0)
        return;
    memmove(&phys->blocks[at + 1], &phys->blocks[at],
            (phys->n_blocks++ - at) * sizeof *phys->blocks);
    phys->blocks[at] = block;
}

int mem_phys_node(struct mem_phys *phys, uint64_t address)
{
    struct mem_block block = {.node = -1};
    size_t at;

    if (!phys || address == 0)
        return -1;
    block.number = address / phys->block_bytes;
    at = block_position(phys, block.number);
    if (at < phys->n_blocks && phys->blocks[at].number == block.number)
        return phys->blocks[at].node;
    if (phys->n_reads_left <= 0)
        return -1;
    block.node = look_up(phys, block.number);
    remember(phys, at, block);
    return block.node;
}
