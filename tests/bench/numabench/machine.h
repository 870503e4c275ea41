#pragma once

/*
 * The nodes and CPUs that this process may use. Ids are sparse, so nodes are known here by their
 * place in a list; an id appears only where the kernel is asked.
 */

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

#define MACHINE_MAX_NODES 64

struct machine_node {
    int id;
    bool memory; /* has some, and we may use it */
    bool cpus;   /* has some, and we may use them */
};

struct machine_cpu {
    int id;
    size_t node; /* place in the list of nodes */
};

struct machine {
    size_t n_nodes;
    struct machine_node nodes[MACHINE_MAX_NODES];
    double distance[MACHINE_MAX_NODES][MACHINE_MAX_NODES]; /* 1.0 is local */
    size_t n_cpus;
    struct machine_cpu *cpus; /* those that we may use, by id */
};

void machine_read(struct machine *machine);

/* Place of node ID in the list, or n_nodes. */
size_t machine_find(const struct machine *machine, int id);

/* Place of the node of the CPU that the calling thread runs on. */
size_t machine_here(const struct machine *machine);

/* The farthest node with CPUs and memory from node NODE, or n_nodes where there is no other. */
size_t machine_opposite(const struct machine *machine, size_t node);

/*
 * CPUs for the threads of process PROCESS in the order of its threads, taken from its nodes in
 * turn, so that any number of threads is spread evenly. Returns their number; LIST has room for
 * n_cpus.
 */
size_t machine_choose_cpus(const struct machine *machine, const struct workload *workload,
                           unsigned int process, struct machine_cpu *list);
