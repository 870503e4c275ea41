/*
 * Topology: read once from sysfs into arrays by id. Whatever is missing or malformed is replaced by
 * what holds on most machines: nodes are those that have a folder, CPUs belong to the node that
 * lists them first, a distance is 10 within a node and 20 to another.
 *
 * A row of nodeN/distance has one column for each online node in ascending order, not for each id:
 * with nodes 0, 8 and 252 online, "20 10 20" in node8/distance are those to 0, 8 and 252. The
 * kernel starts the row with a blank when there is no node 0.
 */
#include "numabd/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology_ids.h"
#include "topology_meminfo.h"
#include "util/procfs.h"
#include "util/scan.h"

#define NODES "sys/devices/system/node"
#define CPUS "sys/devices/system/cpu"
#define CPU_MAX (1 << 16) /* ids are below; eight times the largest NR_CPUS of today */

static void node_path(char path[static 64], int node, const char *file)
{
    snprintf(path, 64, NODES "/node%d/%s", node, file);
}

/* Adds node 0 when sysfs knows no nodes. */
static int nodes_read(struct ids *nodes, const char *root)
{
    int r;

    r = ids_add_list(nodes, root, NODES "/online");
    if (r > 0 || (r == 0 && nodes->n_ids == 0))
        r = ids_add_entries(nodes, root, NODES, "node");
    if (r >= 0 && nodes->n_ids == 0)
        ids_add(nodes, 0);
    return r < 0 ? r : 0;
}

/* Without a list of the online CPUs: all that have a folder or are listed by a node. */
static int cpus_read(struct ids *cpus, const struct ids *nodes, const char *root)
{
    char path[64];
    int r;

    r = ids_add_list(cpus, root, CPUS "/online");
    if (r <= 0)
        return r;
    r = ids_add_entries(cpus, root, CPUS, "cpu");
    for (int node = 0; node < nodes->n_ids && r >= 0; node++) {
        if (!nodes->has[node])
            continue;
        node_path(path, node, "cpulist");
        r = ids_add_list(cpus, root, path);
    }
    return r < 0 ? r : 0;
}

/* CPUs that may come later have their place from the start. */
static int cpus_count_possible(const struct ids *cpus, const char *root, int *np)
{
    CLEANUP(ids_deinit) struct ids possible = IDS_NULL;
    int r;

    r = ids_init(&possible, CPU_MAX);
    if (r == 0)
        r = ids_add_list(&possible, root, CPUS "/possible");
    *np = possible.n_ids > cpus->n_ids ? possible.n_ids : cpus->n_ids;
    return r < 0 ? r : 0;
}

static int topology_allocate(struct topology *topology, int n_node_ids, int n_cpu_ids)
{
    size_t n_nodes = (size_t)n_node_ids, n_cpus = (size_t)n_cpu_ids + 1;

    topology->nodes = calloc(n_nodes, sizeof *topology->nodes);
    topology->distances = malloc(n_nodes * n_nodes);
    topology->cpu_node = malloc(n_cpus * sizeof *topology->cpu_node);
    topology->cpu_isolated = calloc(n_cpus, sizeof *topology->cpu_isolated);
    if (!topology->nodes || !topology->distances || !topology->cpu_node || !topology->cpu_isolated)
        return -ENOMEM;
    memset(topology->distances, TOPOLOGY_UNREACHABLE, n_nodes * n_nodes);
    memset(topology->cpu_node, -1, n_cpus * sizeof *topology->cpu_node);
    topology->n_node_ids = n_node_ids;
    topology->n_cpu_ids = n_cpu_ids;
    return 0;
}

/* With fake NUMA several nodes list the same CPUs; the first one keeps them. */
static void node_set_cpus(struct topology *topology, int node, const struct ids *listed,
                          const struct ids *online)
{
    int n_ids = listed->n_ids < topology->n_cpu_ids ? listed->n_ids : topology->n_cpu_ids;

    for (int cpu = 0; cpu < n_ids; cpu++) {
        if (!listed->has[cpu] || !online->has[cpu] || topology->cpu_node[cpu] >= 0)
            continue;
        topology->cpu_node[cpu] = node;
        topology->nodes[node].has_cpus = true;
    }
}

/* A node without a folder, which is the only one, has all CPUs. */
static int node_read_cpus(struct topology *topology, const char *root, int node,
                          const struct ids *online)
{
    CLEANUP(ids_deinit) struct ids listed = IDS_NULL;
    char path[64];
    int r;

    r = ids_init(&listed, CPU_MAX);
    if (r < 0)
        return r;
    node_path(path, node, "cpulist");
    r = ids_add_list(&listed, root, path);
    if (r < 0)
        return r;
    node_set_cpus(topology, node, r > 0 && topology->n_node_ids == 1 ? online : &listed, online);
    return 0;
}

static int node_read_memory(struct topology *topology, const char *root, int node)
{
    CLEANUP(freep) char *text = NULL;
    struct node *into = &topology->nodes[node];
    size_t size;
    int r;

    r = meminfo_read(topology, root, node, &text, &size);
    if (r)
        return r < 0 ? r : 0;
    into->total_bytes = meminfo_bytes(text, size, "MemTotal");
    into->has_memory = into->total_bytes > 0;
    topology->n_memory_nodes += into->has_memory;
    return 0;
}

static int count_online(const struct topology *topology)
{
    int n = 0;

    for (int node = 0; node < topology->n_node_ids; node++)
        n += topology->nodes[node].online;
    return n;
}

/* Return: the row has exactly n sound numbers and nothing else. */
static bool parse_row(const char *text, uint8_t *row, int n)
{
    struct scan scan = {.at = text, .end = text + strlen(text)};
    uint64_t distance;

    for (int i = 0; i < n; i++) {
        bool apart = scan_blanks(&scan);

        if ((i > 0 && !apart) || !scan_decimal(&scan, TOPOLOGY_UNREACHABLE, &distance) ||
            distance == 0)
            return false;
        row[i] = (uint8_t)distance;
    }
    (void)scan_blanks(&scan);
    (void)scan_char(&scan, '\n');
    return scan_at_end(&scan);
}

static void node_set_distances(struct topology *topology, int from, const uint8_t *row)
{
    uint8_t *distances = &topology->distances[(size_t)from * (size_t)topology->n_node_ids];
    int column = 0;

    for (int to = 0; to < topology->n_node_ids; to++) {
        if (!topology->nodes[to].online)
            continue;
        if (row)
            distances[to] = row[column++];
        else
            distances[to] = from == to ? TOPOLOGY_DISTANCE_LOCAL : TOPOLOGY_DISTANCE_REMOTE;
    }
}

static int node_read_distances(struct topology *topology, const char *root, int from)
{
    CLEANUP(freep) char *text = NULL;
    uint8_t row[TOPOLOGY_NODE_MAX];
    char path[64];
    size_t size;
    int r;

    node_path(path, from, "distance");
    r = procfs_read(root, path, &text, &size);
    if (r < 0)
        return r;
    node_set_distances(topology, from,
                       r == 0 && parse_row(text, row, count_online(topology)) ? row : NULL);
    return 0;
}

static int topology_read_nodes(struct topology *topology, const char *root, const struct ids *nodes,
                               const struct ids *cpus)
{
    int r = 0;

    for (int node = 0; node < nodes->n_ids; node++)
        topology->nodes[node].online = nodes->has[node];
    for (int node = 0; node < nodes->n_ids && r == 0; node++) {
        if (!nodes->has[node])
            continue;
        r = node_read_cpus(topology, root, node, cpus);
        if (r == 0)
            r = node_read_memory(topology, root, node);
        if (r == 0)
            r = node_read_distances(topology, root, node);
    }
    return r;
}

static int topology_read_isolated(struct topology *topology, const char *root)
{
    CLEANUP(ids_deinit) struct ids isolated = IDS_NULL;
    int r;

    r = ids_init(&isolated, CPU_MAX);
    if (r == 0)
        r = ids_add_list(&isolated, root, CPUS "/isolated");
    if (r >= 0)
        r = ids_add_list(&isolated, root, CPUS "/nohz_full");
    if (r < 0)
        return r;
    for (int cpu = 0; cpu < topology->n_cpu_ids; cpu++)
        topology->cpu_isolated[cpu] = isolated.has[cpu];
    return 0;
}

int topology_new(struct topology **topologyp, const char *root)
{
    CLEANUP(topology_freep) struct topology *topology = NULL;
    CLEANUP(ids_deinit) struct ids nodes = IDS_NULL;
    CLEANUP(ids_deinit) struct ids cpus = IDS_NULL;
    int n_cpu_ids = 0, r;

    topology = calloc(1, sizeof *topology);
    if (!topology || ids_init(&nodes, TOPOLOGY_NODE_MAX) < 0 || ids_init(&cpus, CPU_MAX) < 0)
        return -ENOMEM;
    r = nodes_read(&nodes, root);
    if (r == 0)
        r = cpus_read(&cpus, &nodes, root);
    if (r == 0)
        r = cpus_count_possible(&cpus, root, &n_cpu_ids);
    if (r == 0)
        r = topology_allocate(topology, nodes.n_ids, n_cpu_ids);
    if (r == 0)
        r = topology_read_nodes(topology, root, &nodes, &cpus);
    if (r == 0)
        r = topology_read_isolated(topology, root);
    if (r < 0)
        return r;
    *topologyp = TAKE(topology);
    return 0;
}

struct topology *topology_free(struct topology *topology)
{
    if (!topology)
        return NULL;
    free(topology->nodes);
    free(topology->cpu_node);
    free(topology->cpu_isolated);
    free(topology->distances);
    free(topology);
    return NULL;
}

int topology_cpu_node(const struct topology *topology, int cpu)
{
    return cpu >= 0 && cpu < topology->n_cpu_ids ? topology->cpu_node[cpu] : -1;
}

unsigned topology_n_cpus(const struct topology *topology)
{
    unsigned n = 0;

    for (int cpu = 0; topology && cpu < topology->n_cpu_ids; cpu++)
        n += topology->cpu_node[cpu] >= 0;
    return n;
}

static bool is_node_id(const struct topology *topology, int node)
{
    return node >= 0 && node < topology->n_node_ids;
}

unsigned topology_distance(const struct topology *topology, int from, int to)
{
    if (!is_node_id(topology, from) || !is_node_id(topology, to))
        return TOPOLOGY_UNREACHABLE;
    return topology->distances[(size_t)from * (size_t)topology->n_node_ids + (size_t)to];
}

double topology_relative(const struct topology *topology, int from, int to)
{
    unsigned local = topology_distance(topology, from, from);

    /* A node that is not online is local to nothing, itself included. */
    if (local == TOPOLOGY_UNREACHABLE)
        local = TOPOLOGY_DISTANCE_LOCAL;
    return (double)topology_distance(topology, from, to) / (double)local;
}

bool topology_has_memory(const struct topology *topology, int node)
{
    return is_node_id(topology, node) && topology->nodes[node].has_memory;
}
