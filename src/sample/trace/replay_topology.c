#include "sample/trace/replay_topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int replay_topology_new(struct topology **topologyp, const struct trace_record *machine)
{
    CLEANUP(topology_freep) struct topology *topology = calloc(1, sizeof *topology);
    size_t n_nodes = (size_t)machine->machine.n_node_ids;
    size_t n_cpus = (size_t)machine->machine.n_cpu_ids + 1;

    if (!topology)
        return -ENOMEM;
    topology->n_node_ids = machine->machine.n_node_ids;
    topology->n_cpu_ids = machine->machine.n_cpu_ids;
    topology->nodes = calloc(n_nodes, sizeof *topology->nodes);
    topology->distances = malloc(n_nodes * n_nodes);
    topology->cpu_node = malloc(n_cpus * sizeof *topology->cpu_node);
    topology->cpu_isolated = calloc(n_cpus, sizeof *topology->cpu_isolated);
    if (!topology->nodes || !topology->distances || !topology->cpu_node || !topology->cpu_isolated)
        return -ENOMEM;
    memset(topology->distances, TOPOLOGY_UNREACHABLE, n_nodes * n_nodes);
    memset(topology->cpu_node, -1, n_cpus * sizeof *topology->cpu_node);
    *topologyp = TAKE(topology);
    return 0;
}

static bool take_node(struct topology *topology, const struct trace_record *record)
{
    int id = record->node.id;
    size_t n_ids = (size_t)topology->n_node_ids;

    if (id >= topology->n_node_ids || topology->nodes[id].online ||
        record->node.n_distances != n_ids)
        return false;
    topology->nodes[id].online = true;
    topology->nodes[id].total_bytes = record->node.total_bytes;
    topology->nodes[id].has_memory = record->node.total_bytes > 0;
    topology->n_memory_nodes += topology->nodes[id].has_memory;
    memcpy(&topology->distances[(size_t)id * n_ids], record->node.distances, n_ids);
    return true;
}

static bool is_online(const struct topology *topology, int node)
{
    return node < topology->n_node_ids && topology->nodes[node].online;
}

static bool fit_cpus(const struct topology *topology, const struct trace_record *record)
{
    for (size_t i = 0; i < record->cpus.n_ranges; i++)
        if (record->cpus.ranges[i].last >= topology->n_cpu_ids)
            return false;
    return record->kind == TRACE_ISOLATED || is_online(topology, record->cpus.node);
}

static bool take_cpus(struct topology *topology, const struct trace_record *record)
{
    if (!fit_cpus(topology, record))
        return false;
    for (size_t i = 0; i < record->cpus.n_ranges; i++)
        for (int cpu = record->cpus.ranges[i].first; cpu <= record->cpus.ranges[i].last; cpu++) {
            if (record->kind == TRACE_ISOLATED) {
                topology->cpu_isolated[cpu] = true;
                continue;
            }
            topology->cpu_node[cpu] = record->cpus.node;
            topology->nodes[record->cpus.node].has_cpus = true;
        }
    return true;
}

static bool take_room(struct topology *topology, const struct trace_record *record)
{
    struct node *node;

    if (!is_online(topology, record->room.node))
        return false;
    node = &topology->nodes[record->room.node];
    node->free_bytes = record->room.free_bytes;
    node->reserve_bytes = record->room.reserve_bytes;
    node->inactive_file_bytes = record->room.inactive_file_bytes;
    return true;
}

bool replay_topology_take(struct topology *topology, const struct trace_record *record)
{
    switch (record->kind) {
    case TRACE_NODE:
        return take_node(topology, record);
    case TRACE_ROOM:
        return take_room(topology, record);
    default:
        return take_cpus(topology, record);
    }
}
