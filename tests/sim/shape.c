#include "sim/shape.h"

#include <stdlib.h>

#include "sim/fail.h"

#define LOCAL 10
#define FLAT 20
/* For each hop: 64 nodes in a ring are up to 32 hops apart, so 202, and 255 means unreachable. */
#define HOP 6

struct sim_shape sim_shape_flat(int n_nodes, unsigned cpus, uint64_t memory_mib)
{
    struct sim_shape shape = {.n_nodes = n_nodes};

    SIM_NEED(n_nodes > 0 && n_nodes <= SIM_NODES_MAX);
    for (int node = 0; node < n_nodes; node++) {
        shape.cpus[node] = cpus;
        shape.memory_mib[node] = memory_mib;
        for (int to = 0; to < n_nodes; to++)
            shape.distances[node][to] = node == to ? LOCAL : FLAT;
    }
    return shape;
}

static int ring_hops(int n_nodes, int from, int to)
{
    int hops = abs(from - to);

    return hops < n_nodes - hops ? hops : n_nodes - hops;
}

struct sim_shape sim_shape_ring(int n_nodes, unsigned cpus, uint64_t memory_mib)
{
    struct sim_shape shape = sim_shape_flat(n_nodes, cpus, memory_mib);

    for (int from = 0; from < n_nodes; from++)
        for (int to = 0; to < n_nodes; to++)
            shape.distances[from][to] = (uint8_t)(LOCAL + HOP * ring_hops(n_nodes, from, to));
    return shape;
}

/* The largest divisor that is at most the square root. */
static int mesh_height(int n_nodes)
{
    int height = 1;

    for (int divisor = 2; divisor * divisor <= n_nodes; divisor++)
        if (n_nodes % divisor == 0)
            height = divisor;
    return height;
}

struct sim_shape sim_shape_mesh(int n_nodes, unsigned cpus, uint64_t memory_mib)
{
    struct sim_shape shape = sim_shape_flat(n_nodes, cpus, memory_mib);
    int height = mesh_height(n_nodes);

    for (int from = 0; from < n_nodes; from++)
        for (int to = 0; to < n_nodes; to++) {
            int hops = abs(from % height - to % height) + abs(from / height - to / height);

            shape.distances[from][to] = (uint8_t)(LOCAL + HOP * hops);
        }
    return shape;
}

void sim_shape_add_memory(struct sim_shape *shape, uint64_t memory_mib, uint8_t distance)
{
    int added = shape->n_nodes++;

    SIM_NEED(added < SIM_NODES_MAX);
    shape->memory_mib[added] = memory_mib;
    shape->cpus[added] = 0;
    for (int node = 0; node < added; node++)
        shape->distances[node][added] = shape->distances[added][node] = distance;
    shape->distances[added][added] = LOCAL;
}
