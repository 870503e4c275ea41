#include "sim/machine.h"

#include "sim/fail.h"
#include "util/array.h"
#include "util/nsec.h"

#define START_NSEC (1000 * NSEC_PER_SEC)
/* Thread ids count up from the process's, and no test has more threads than this. */
#define PID_FIRST 10000
#define PID_STEP 8192

void sim_machine_init(struct sim_machine *machine, const struct sim_shape *shape, uint64_t seed)
{
    int n_cpus = 0;

    *machine =
        (struct sim_machine){.shape = *shape, .random = sim_random_init(seed), .now = START_NSEC};
    for (int node = 0; node < shape->n_nodes; node++) {
        machine->nodes[node] = sim_node_init(shape->cpus[node], n_cpus, shape->memory_mib[node]);
        n_cpus += (int)shape->cpus[node];
    }
    machine->n_cpus = n_cpus;
    machine->cpus = sim_calloc((size_t)n_cpus, sizeof *machine->cpus);
    for (int node = 0; node < shape->n_nodes; node++)
        for (unsigned i = 0; i < shape->cpus[node]; i++)
            machine->cpus[machine->nodes[node].first_cpu + (int)i].node = node;
}

void sim_machine_deinit(struct sim_machine *machine)
{
    for (size_t i = 0; i < machine->n_processes; i++)
        sim_process_free(machine->processes[i]);
    for (size_t i = 0; i < machine->n_objects; i++)
        sim_object_free(machine->objects[i]);
    for (int cpu = 0; cpu < machine->n_cpus; cpu++)
        free(machine->cpus[cpu].threads);
    free(machine->processes);
    free(machine->objects);
    free(machine->cpus);
}

struct sim_process *sim_machine_add_process(struct sim_machine *machine, const char *comm)
{
    pid_t pid = PID_FIRST + PID_STEP * (pid_t)machine->n_processes;
    struct sim_process *process = sim_process_new(pid, comm);

    SIM_NEED(ARRAY_RESERVE(machine->processes, machine->processes_cap, machine->n_processes + 1) ==
             0);
    machine->processes[machine->n_processes++] = process;
    return process;
}

struct sim_process *sim_machine_find(const struct sim_machine *machine, pid_t pid)
{
    size_t i = (size_t)(pid - PID_FIRST) / PID_STEP;

    if (pid < PID_FIRST || (pid - PID_FIRST) % PID_STEP || i >= machine->n_processes)
        return NULL;
    return machine->processes[i]->ended ? NULL : machine->processes[i];
}

void sim_machine_end_process(struct sim_machine *machine, struct sim_process *process)
{
    for (size_t i = 0; i < process->n_threads; i++)
        sim_machine_run_on(machine, process->threads[i], -1);
    for (size_t i = 0; i < process->n_vmas; i++)
        if (!--process->vmas[i].object->n_mappers)
            sim_object_empty(process->vmas[i].object, machine->nodes);
    process->ended = true;
}

struct sim_object *sim_machine_add_object(struct sim_machine *machine, uint64_t n_pages,
                                          bool shared)
{
    struct sim_object *object = sim_object_new(machine->n_objects + 1, n_pages);

    object->shared = shared;
    SIM_NEED(ARRAY_RESERVE(machine->objects, machine->objects_cap, machine->n_objects + 1) == 0);
    machine->objects[machine->n_objects++] = object;
    return object;
}

size_t sim_machine_map(struct sim_machine *machine, struct sim_process *process, uint64_t n_pages,
                       int node)
{
    struct sim_object *object = sim_machine_add_object(machine, n_pages, false);

    SIM_NEED(sim_object_place(object, machine->nodes, 0, n_pages, node));
    return sim_process_map(process, object);
}

static void cpu_remove(struct sim_cpu *cpu, struct sim_thread *thread)
{
    struct sim_thread *last = cpu->threads[--cpu->n_threads];

    cpu->threads[thread->turn] = last;
    last->turn = thread->turn;
}

void sim_machine_run_on(struct sim_machine *machine, struct sim_thread *thread, int cpu)
{
    struct sim_cpu *to;

    SIM_NEED(cpu < machine->n_cpus);
    if (thread->cpu >= 0)
        cpu_remove(&machine->cpus[thread->cpu], thread);
    thread->cpu = cpu;
    if (cpu < 0)
        return;
    to = &machine->cpus[cpu];
    SIM_NEED(ARRAY_RESERVE(to->threads, to->cap, to->n_threads + 1) == 0);
    thread->turn = to->n_threads;
    to->threads[to->n_threads++] = thread;
}

int sim_machine_thread_node(const struct sim_machine *machine, const struct sim_thread *thread)
{
    return thread->cpu < 0 ? -1 : machine->cpus[thread->cpu].node;
}

double sim_machine_thread_share(const struct sim_machine *machine, const struct sim_thread *thread)
{
    return thread->cpu < 0 ? 0 : 1.0 / (double)machine->cpus[thread->cpu].n_threads;
}

double sim_machine_relative(const struct sim_machine *machine, int from, int to)
{
    return (double)machine->shape.distances[from][to] / machine->shape.distances[from][from];
}

uint64_t sim_machine_arrived(const struct sim_machine *machine, int node)
{
    uint64_t n = 0;

    for (int i = 0; i < machine->shape.n_nodes; i++)
        if (node < 0 || i == node)
            n += machine->nodes[i].n_arrived;
    return n;
}
