/*
 * libnuma reads the same sysfs in its own way. Where the two differ on the live machine, one of
 * them misunderstands it, and an administrator should know before numactl and numabd disagree.
 */
#include <numa.h>

#include "numabd/topology.h"

static bool cpus_differ(const struct topology *topology)
{
    for (int cpu = 0; cpu < topology->n_cpu_ids; cpu++)
        if (topology->cpu_node[cpu] >= 0 && numa_node_of_cpu(cpu) != topology->cpu_node[cpu])
            return true;
    return false;
}

/* numa_distance gives 0 where it knows none. */
static bool distances_differ(const struct topology *topology)
{
    for (int from = 0; from < topology->n_node_ids; from++) {
        for (int to = 0; to < topology->n_node_ids; to++) {
            int distance;

            if (!topology->nodes[from].online || !topology->nodes[to].online)
                continue;
            distance = numa_distance(from, to);
            if (distance > 0 && (unsigned)distance != topology_distance(topology, from, to))
                return true;
        }
    }
    return false;
}

const char *topology_compare_libnuma(const struct topology *topology)
{
    if (numa_available() < 0)
        return topology->n_node_ids > 1 ? "libnuma finds no NUMA support, sysfs lists several nodes"
                                        : NULL;
    if (numa_max_node() + 1 != topology->n_node_ids)
        return "libnuma and sysfs differ in the highest node";
    if (cpus_differ(topology))
        return "libnuma and sysfs differ in the node of a CPU";
    if (distances_differ(topology))
        return "libnuma and sysfs differ in a distance between nodes";
    return NULL;
}
