#pragma once
/*
 * Shapes: how a simulated machine is built. Node ids count from 0, CPU ids over the nodes.
 */
#include <stdint.h>

#define SIM_NODES_MAX 64

struct sim_shape {
    int n_nodes;
    unsigned cpus[SIM_NODES_MAX];                    /* on the node */
    uint64_t memory_mib[SIM_NODES_MAX];              /* 0: memoryless */
    uint8_t distances[SIM_NODES_MAX][SIM_NODES_MAX]; /* as in SLIT: 10 is local */
};

/* Every node one hop from every other, at distance 20. */
struct sim_shape sim_shape_flat(int n_nodes, unsigned cpus, uint64_t memory_mib);
/* Hops along a ring, the shorter way round. */
struct sim_shape sim_shape_ring(int n_nodes, unsigned cpus, uint64_t memory_mib);
/* Hops in a mesh that is as square as n_nodes allows: 2 is 1 x 2, 8 is 2 x 4, 64 is 8 x 8. */
struct sim_shape sim_shape_mesh(int n_nodes, unsigned cpus, uint64_t memory_mib);
/* One more node, without CPUs, at `distance` from all others. */
void sim_shape_add_memory(struct sim_shape *shape, uint64_t memory_mib, uint8_t distance);
