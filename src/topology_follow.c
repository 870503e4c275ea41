/*
 * CPUs and nodes that go on and off line while numabd runs. What changed is told by two short
 * files; then everything is read anew and copied into the arrays that everybody points to.
 */
#include <stdlib.h>
#include <string.h>

#include "numabd/topology.h"
#include "util/procfs.h"

/* A missing file reads as "". */
static int read_list(const char *root, const char *path, char *text, size_t text_size)
{
    CLEANUP(freep) char *buf = NULL;
    size_t size;
    int r = procfs_read(root, path, &buf, &size);

    if (r < 0)
        return r;
    text[0] = '\0';
    if (r == 0 && size < text_size)
        memcpy(text, buf, size + 1);
    return 0;
}

/* Into arrays that are at least as large. */
static void topology_copy(struct topology *topology, const struct topology *fresh)
{
    for (int cpu = 0; cpu < topology->n_cpu_ids; cpu++)
        topology->cpu_node[cpu] = topology_cpu_node(fresh, cpu);
    for (int node = 0; node < topology->n_node_ids; node++)
        topology->nodes[node] = node < fresh->n_node_ids ? fresh->nodes[node] : (struct node){0};
    for (int from = 0; from < topology->n_node_ids; from++)
        for (int to = 0; to < topology->n_node_ids; to++)
            topology->distances[from * topology->n_node_ids + to] =
                (uint8_t)topology_distance(fresh, from, to);
    topology->n_memory_nodes = fresh->n_memory_nodes;
}

int topology_follow(struct topology *topology, struct topology_online *online, const char *root)
{
    CLEANUP(topology_freep) struct topology *fresh = NULL;
    struct topology_online now = {0};
    bool is_first = !online->known;
    int r;

    r = read_list(root, "sys/devices/system/cpu/online", now.cpus, sizeof now.cpus);
    if (r == 0)
        r = read_list(root, "sys/devices/system/node/online", now.nodes, sizeof now.nodes);
    if (r < 0)
        return r;
    now.known = true;
    if (online->known && memcmp(online, &now, sizeof now) == 0)
        return 0;
    *online = now;
    if (is_first)
        return 0;
    r = topology_new(&fresh, root);
    if (r < 0)
        return r;
    if (fresh->n_cpu_ids > topology->n_cpu_ids || fresh->n_node_ids > topology->n_node_ids)
        return TOPOLOGY_OUTGROWN;
    topology_copy(topology, fresh);
    return TOPOLOGY_CHANGED;
}
