#include "sim/node.h"

/* Linux keeps about 0.2 % of a node of some GiB above its high watermark. */
#define HIGH_DIVISOR 512

struct sim_node sim_node_init(unsigned n_cpus, int first_cpu, uint64_t memory_mib)
{
    uint64_t total = memory_mib * SIM_MIB_PAGES;

    return (struct sim_node){
        .n_cpus = n_cpus,
        .first_cpu = first_cpu,
        .total = total,
        .free = total,
        .high = total / HIGH_DIVISOR,
        .least_free = total,
    };
}

static void node_reclaim(struct sim_node *node, uint64_t n)
{
    uint64_t wanted = n + node->high, dropped;

    if (node->free >= wanted)
        return;
    dropped = wanted - node->free < node->cache ? wanted - node->free : node->cache;
    node->cache -= dropped;
    node->free += dropped;
    node->n_reclaimed += dropped;
}

bool sim_node_take(struct sim_node *node, uint64_t n)
{
    node_reclaim(node, n);
    if (node->free < n) {
        node->n_refused += n;
        return false;
    }
    node->free -= n;
    if (node->free < node->least_free)
        node->least_free = node->free;
    return true;
}

void sim_node_give(struct sim_node *node, uint64_t n)
{
    node->free += n;
}

void sim_node_fill_cache(struct sim_node *node, uint64_t free)
{
    if (node->free <= free)
        return;
    node->cache += node->free - free;
    node->free = free;
}
