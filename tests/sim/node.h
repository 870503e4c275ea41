#pragma once
/*
 * Nodes: pages that are free, and pages of the page cache, which make room when they must.
 */
#include <stdbool.h>
#include <stdint.h>

#define SIM_PAGE_BYTES UINT64_C(4096)
#define SIM_MIB_PAGES (UINT64_C(1048576) / SIM_PAGE_BYTES)
#define SIM_GIB_PAGES (1024 * SIM_MIB_PAGES)

/* All in pages. */
struct sim_node {
    unsigned n_cpus;
    int first_cpu;
    uint64_t total, free;
    uint64_t cache; /* clean inactive page cache */
    uint64_t high;  /* the watermark: below it kswapd works */
    uint64_t least_free;
    uint64_t n_reclaimed; /* taken from the cache */
    uint64_t n_refused;   /* asked for and not there, even without any cache */
    uint64_t n_arrived;   /* by migration */
};

struct sim_node sim_node_init(unsigned n_cpus, int first_cpu, uint64_t memory_mib);
/* Takes n free pages; below the watermark page cache is dropped first. False: there are not so
 * many, none is taken. */
bool sim_node_take(struct sim_node *node, uint64_t n);
void sim_node_give(struct sim_node *node, uint64_t n);
/* Page cache comes to fill the node so that `free` pages are left. */
void sim_node_fill_cache(struct sim_node *node, uint64_t free);
