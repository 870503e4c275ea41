#include "sim/load.h"

#include "sim/fail.h"
#include "util/cleanup.h"

const char *const sim_load_names[SIM_LOAD_COUNT] = {
    [SIM_LOAD_NUMA01] = "numa01",
    [SIM_LOAD_THREADLOCAL] = "threadlocal",
    [SIM_LOAD_NUMA02] = "numa02",
    [SIM_LOAD_NUMA02_SMT] = "numa02_smt",
};

static struct sim_thread *add_pinned(struct sim_machine *machine, struct sim_process *process,
                                     int cpu)
{
    struct sim_thread *thread = sim_process_add_thread(process);

    thread->pinned = true;
    sim_machine_run_on(machine, thread, cpu);
    return thread;
}

void sim_load_add_threads(struct sim_machine *machine, struct sim_process *process, size_t vma,
                          int node, unsigned n)
{
    const struct sim_node *on = &machine->nodes[node];
    uint64_t n_pages = process->vmas[vma].object->n_pages;

    for (unsigned i = 0; i < n; i++)
        sim_thread_use(add_pinned(machine, process, on->first_cpu + (int)(i % on->n_cpus)), vma, 0,
                       n_pages, 1);
}

static void add_node_process(struct sim_machine *machine, enum sim_load_kind kind, int node,
                             uint64_t pages)
{
    struct sim_process *process = sim_machine_add_process(machine, sim_load_names[kind]);
    int n_nodes = machine->shape.n_nodes, from = (node + (n_nodes + 1) / 2) % n_nodes;
    unsigned n_threads = machine->nodes[node].n_cpus;

    if (kind == SIM_LOAD_NUMA01) {
        size_t vma = sim_machine_map(machine, process, pages, from);

        sim_load_add_threads(machine, process, vma, node, n_threads);
        return;
    }
    for (unsigned i = 0; i < n_threads; i++) {
        size_t vma = sim_machine_map(machine, process, pages / n_threads, from);

        sim_thread_use(add_pinned(machine, process, machine->nodes[node].first_cpu + (int)i), vma,
                       0, pages / n_threads, 1);
    }
}

/* A thread for each `step`-th CPU, each with its part of a mapping spread over all nodes. */
static struct sim_process *add_parts(struct sim_machine *machine, const char *comm, int n_cpus,
                                     int step, uint64_t pages_each, uint64_t stride)
{
    struct sim_process *process = sim_machine_add_process(machine, comm);
    uint64_t n_threads = (uint64_t)((n_cpus + step - 1) / step);
    struct sim_object *object = sim_machine_add_object(machine, n_threads * pages_each, false);
    size_t vma = sim_process_map(process, object);

    sim_object_spread(object, machine->nodes, stride, 0, machine->shape.n_nodes);
    for (int cpu = 0, i = 0; cpu < n_cpus; cpu += step, i++)
        sim_thread_use(add_pinned(machine, process, cpu), vma, (uint64_t)i * pages_each, pages_each,
                       1);
    return process;
}

void sim_load_add(struct sim_machine *machine, enum sim_load_kind kind, uint64_t pages)
{
    int n_cpus = machine->n_cpus, step = kind == SIM_LOAD_NUMA02_SMT ? 2 : 1;

    if (kind == SIM_LOAD_NUMA02 || kind == SIM_LOAD_NUMA02_SMT) {
        uint64_t n_threads = (uint64_t)(n_cpus / step);

        add_parts(machine, sim_load_names[kind], n_cpus, step,
                  pages * (uint64_t)machine->shape.n_nodes / n_threads, SIM_CHUNK_PAGES);
        return;
    }
    for (int node = 0; node < machine->shape.n_nodes; node++)
        if (machine->nodes[node].n_cpus)
            add_node_process(machine, kind, node, pages);
}

struct sim_process *sim_load_add_parts(struct sim_machine *machine, int n_cpus, uint64_t pages_each,
                                       uint64_t stride)
{
    return add_parts(machine, "parts", n_cpus, 1, pages_each, stride);
}

struct sim_process *sim_load_add_shared(struct sim_machine *machine, int n_cpus, uint64_t pages,
                                        uint64_t stride)
{
    struct sim_process *process = sim_machine_add_process(machine, "shared");
    struct sim_object *object = sim_machine_add_object(machine, pages, false);
    size_t vma = sim_process_map(process, object);

    sim_object_spread(object, machine->nodes, stride, 0, machine->shape.n_nodes);
    for (int cpu = 0; cpu < n_cpus; cpu++)
        sim_thread_use(add_pinned(machine, process, cpu), vma, 0, pages, 1);
    return process;
}

void sim_load_rotate(struct sim_process *process, size_t by)
{
    size_t n = process->n_threads;
    CLEANUP(freep) struct sim_use *uses = sim_calloc(n, sizeof *uses);

    for (size_t i = 0; i < n; i++)
        uses[i] = process->threads[i]->uses[0];
    for (size_t i = 0; i < n; i++) {
        const struct sim_use *use = &uses[(i + by) % n];

        sim_thread_drop_uses(process->threads[i]);
        sim_thread_use(process->threads[i], use->vma, use->first, use->n_pages, use->weight);
    }
}
