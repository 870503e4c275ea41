#define _GNU_SOURCE
#include "machine.h"

#include <numa.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "fail.h"

static void add_nodes(struct machine *machine)
{
    struct bitmask *allowed = numa_get_mems_allowed();

    for (int id = 0; id <= numa_max_node(); id++) {
        if (!numa_bitmask_isbitset(numa_nodes_ptr, (unsigned int)id))
            continue;
        if (machine->n_nodes == MACHINE_MAX_NODES)
            fail("more than %d nodes", MACHINE_MAX_NODES);
        machine->nodes[machine->n_nodes++] = (struct machine_node){
            .id = id,
            .memory =
                numa_bitmask_isbitset(allowed, (unsigned int)id) && numa_node_size64(id, NULL) > 0,
        };
    }
    numa_bitmask_free(allowed);
}

static void add_cpus(struct machine *machine)
{
    struct bitmask *allowed = numa_allocate_cpumask();

    if (numa_sched_getaffinity(0, allowed) < 0)
        fail_errno("cannot read the allowed CPUs");
    machine->cpus = calloc(numa_bitmask_weight(allowed), sizeof(*machine->cpus));
    if (machine->cpus == NULL)
        fail("out of memory");
    for (unsigned int id = 0; id < allowed->size; id++) {
        size_t node;

        if (!numa_bitmask_isbitset(allowed, id))
            continue;
        node = machine_find(machine, numa_node_of_cpu((int)id));
        if (node == machine->n_nodes)
            continue;
        machine->nodes[node].cpus = true;
        machine->cpus[machine->n_cpus++] = (struct machine_cpu){.id = (int)id, .node = node};
    }
    numa_bitmask_free(allowed);
    if (machine->n_cpus == 0)
        fail("no node has a CPU that we may use");
}

void machine_read(struct machine *machine)
{
    *machine = (struct machine){0};
    if (numa_available() < 0)
        fail("this kernel has no NUMA support");
    add_nodes(machine);
    add_cpus(machine);
    for (size_t from = 0; from < machine->n_nodes; from++) {
        int local = numa_distance(machine->nodes[from].id, machine->nodes[from].id);

        for (size_t to = 0; to < machine->n_nodes; to++)
            machine->distance[from][to] =
                local > 0
                    ? (double)numa_distance(machine->nodes[from].id, machine->nodes[to].id) / local
                    : 1.0;
    }
}

size_t machine_find(const struct machine *machine, int id)
{
    size_t node = 0;

    while (node < machine->n_nodes && machine->nodes[node].id != id)
        node++;
    return node;
}

size_t machine_here(const struct machine *machine)
{
    unsigned int cpu, id;
    size_t node;

    if (getcpu(&cpu, &id) < 0)
        fail_errno("getcpu");
    node = machine_find(machine, (int)id);
    if (node == machine->n_nodes)
        fail("running on node %u, which was not there at the start", id);
    return node;
}

size_t machine_opposite(const struct machine *machine, size_t node)
{
    size_t best = machine->n_nodes;

    for (size_t other = 0; other < machine->n_nodes; other++) {
        if (other == node || !machine->nodes[other].memory || !machine->nodes[other].cpus)
            continue;
        if (best == machine->n_nodes ||
            machine->distance[node][other] > machine->distance[node][best])
            best = other;
    }
    return best;
}

/* Whether process PROCESS uses the CPU in place CPU of the list. */
static bool belongs(const struct machine *machine, const struct workload *workload,
                    unsigned int process, size_t cpu)
{
    size_t rank = 0, n_with_cpus = 0;

    if (workload->n_processes == 1)
        return true;
    for (size_t node = 0; node < machine->n_nodes; node++) {
        rank += machine->nodes[node].cpus && node < machine->cpus[cpu].node;
        n_with_cpus += machine->nodes[node].cpus;
    }
    if (n_with_cpus >= workload->n_processes)
        return rank * workload->n_processes / n_with_cpus == process;
    /* One node only: half of its CPUs each, and a single CPU is shared. */
    return machine->n_cpus < workload->n_processes ||
           cpu * workload->n_processes / machine->n_cpus == process;
}

/* CPUs of one node that the process uses, in LIST. */
static size_t choose_on_node(const struct machine *machine, const struct workload *workload,
                             unsigned int process, size_t node, struct machine_cpu *list)
{
    size_t n = 0, seen = 0;

    for (size_t cpu = 0; cpu < machine->n_cpus; cpu++) {
        if (machine->cpus[cpu].node != node || !belongs(machine, workload, process, cpu))
            continue;
        if (!workload->every_second || seen % 2 == 0)
            list[n++] = machine->cpus[cpu];
        seen++;
    }
    return n;
}

size_t machine_choose_cpus(const struct machine *machine, const struct workload *workload,
                           unsigned int process, struct machine_cpu *list)
{
    struct machine_cpu *on_node = calloc(machine->n_cpus, sizeof(*on_node));
    size_t n = 0, before;

    if (on_node == NULL)
        fail("out of memory");
    /* In round R the R-th CPU of every node that has so many. */
    for (size_t round = 0;; round++) {
        before = n;
        for (size_t node = 0; node < machine->n_nodes; node++)
            if (choose_on_node(machine, workload, process, node, on_node) > round)
                list[n++] = on_node[round];
        if (n == before)
            break;
    }
    free(on_node);
    return n;
}
