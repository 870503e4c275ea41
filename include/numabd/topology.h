#pragma once
/*
 * Topology: memory nodes, CPUs, distances and room, from sysfs below a root.
 *
 * Node and CPU ids are sparse (0, 8, 252): every array here is indexed by id, never by position,
 * and has entries that do not exist. A node may have no CPUs or no memory; there may be no node 0.
 * A machine without /sys/devices/system/node is one node 0 with all CPUs.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/cleanup.h"

#define TOPOLOGY_NODE_MAX 1024      /* ids are below; the kernel's largest NODES_SHIFT is 10 */
#define TOPOLOGY_DISTANCE_LOCAL 10  /* include/linux/topology.h LOCAL_DISTANCE */
#define TOPOLOGY_DISTANCE_REMOTE 20 /* REMOTE_DISTANCE, used where the kernel gives none */
#define TOPOLOGY_UNREACHABLE 255    /* ACPI SLIT: no access between the two */

struct node {
    bool online;
    bool has_cpus;   /* online CPUs */
    bool has_memory; /* MemTotal above 0 */
    uint64_t total_bytes;
    /* Room, as topology_read_room saw it last: */
    uint64_t free_bytes;    /* free pages of zones Normal and Movable (and DMA32 where alone) */
    uint64_t reserve_bytes; /* high watermarks and lowmem protection of the same zones, of each at
                               most its free pages */
    uint64_t inactive_file_bytes; /* Inactive(file) less Dirty and Writeback: clean page cache */
};

struct topology {
    int n_node_ids; /* highest online id + 1 */
    int n_cpu_ids;  /* highest possible id + 1 */
    int n_memory_nodes;
    struct node *nodes; /* [n_node_ids] */
    int *cpu_node;      /* [n_cpu_ids], -1 for CPUs that are offline or on no node */
    bool *cpu_isolated; /* [n_cpu_ids], isolcpus or nohz_full */
    uint8_t *distances; /* [from * n_node_ids + to] */
};

/*
 * Reads the topology of ROOT. Malformed files are ignored piecewise in favour of the defaults
 * above.
 *
 * Return: 0 or a negative errno. The caller frees *topologyp.
 */
int topology_new(struct topology **topologyp, const char *root);
struct topology *topology_free(struct topology *topology);
CLEANUP_DEFINE(struct topology *, topology_free)

/* What was online when topology_follow looked last; {0} at first. */
struct topology_online {
    bool known;
    char cpus[1024], nodes[256]; /* as sysfs tells; a longer list counts as none */
};

enum {
    TOPOLOGY_CHANGED = 1,  /* the topology was read anew */
    TOPOLOGY_OUTGROWN = 2, /* there are ids now that it has no place for: it stays as it was */
};

/*
 * Looks whether other CPUs or nodes are online than at the last look. Return: 0 when not (and at
 * the first look), one of the above, or a negative errno.
 */
int topology_follow(struct topology *topology, struct topology_online *online, const char *root);

/* Re-reads free memory, watermarks and page cache of all nodes. Return: 0 or a negative errno. */
int topology_read_room(struct topology *topology, const char *root);

/* The node of a CPU, -1 when unknown (any int is a valid argument). */
int topology_cpu_node(const struct topology *topology, int cpu);

/* CPUs that are online; 0 for NULL. */
unsigned topology_n_cpus(const struct topology *topology);
/* SLIT distance, TOPOLOGY_UNREACHABLE for nodes that are not online (any int is valid). */
unsigned topology_distance(const struct topology *topology, int from, int to);

/* distance(from, to) / distance(from, from): 1.0 is local. */
double topology_relative(const struct topology *topology, int from, int to);

bool topology_has_memory(const struct topology *topology, int node);

/*
 * Parses a kernel list ("0-3,8,10-11", blanks and an empty list allowed) and calls visit for each
 * id in order. Return: 0, or -EINVAL for anything else or an id at or above `limit`.
 */
int topology_parse_list(const char *text, int limit, void (*visit)(void *userdata, int id),
                        void *userdata);

/* On the live root: libnuma's view differs from sysfs (its reason in one line), else NULL. */
const char *topology_compare_libnuma(const struct topology *topology);
