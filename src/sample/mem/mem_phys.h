#pragma once
/*
 * Memory by physical address: the node that a page lies on, from sysfs. Memory is linked to nodes
 * in blocks (sys/devices/system/memory/block_size_bytes, 128 MiB to 2 GiB on x86).
 */
#include <stdint.h>

#include "numabd/host.h"
#include "numabd/topology.h"
#include "util/cleanup.h"

enum {
    MEM_PHYS_NONE = 1, /* this kernel does not tell (CONFIG_MEMORY_HOTPLUG) */
};

struct mem_phys;

/* What is given outlives the object. Return: 0, MEM_PHYS_NONE, or -ENOMEM. */
int mem_phys_new(struct mem_phys **physp, const struct host *host, const struct topology *topology);
struct mem_phys *mem_phys_free(struct mem_phys *phys);
CLEANUP_DEFINE(struct mem_phys *, mem_phys_free)

/* Allows the file reads of one drain; a block whose turn has not come is unknown until then. */
void mem_phys_refill(struct mem_phys *phys);

/*
 * The node of a physical address, -1 when unknown: 0 (perf's word for "not there"), no RAM, a block
 * that two nodes share, or not looked up yet. NULL is a valid object that knows nothing.
 */
int mem_phys_node(struct mem_phys *phys, uint64_t address);
