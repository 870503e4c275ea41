#include "sim/scheduler.h"

/* CPUs looked at for one with few threads: two choices even out nearly as well as all of them
 * (Mitzenmacher 2001). */
#define CHOICES 2

static int choose_cpu(const struct sim_scheduler *scheduler, struct sim_machine *machine,
                      const struct sim_thread *thread)
{
    const struct sim_node *node = &machine->nodes[sim_machine_thread_node(machine, thread)];
    int best = thread->cpu;

    for (int i = 0; i < CHOICES; i++) {
        int cpu = node->first_cpu + (int)sim_random_below(&machine->random, node->n_cpus);

        if (scheduler->across_nodes)
            cpu = (int)sim_random_below(&machine->random, (uint64_t)machine->n_cpus);
        if (best == thread->cpu || machine->cpus[cpu].n_threads < machine->cpus[best].n_threads)
            best = cpu;
    }
    return best;
}

/* Where the other CPU is as full, one of its threads comes back in exchange. */
static void move_thread(struct sim_machine *machine, struct sim_thread *thread, int cpu)
{
    struct sim_cpu *to = &machine->cpus[cpu];
    int from = thread->cpu;

    if (cpu == from)
        return;
    if (to->n_threads >= machine->cpus[from].n_threads) {
        struct sim_thread *other = to->threads[sim_random_below(&machine->random, to->n_threads)];

        if (other->pinned)
            return;
        sim_machine_run_on(machine, other, from);
    }
    sim_machine_run_on(machine, thread, cpu);
}

void sim_scheduler_run(const struct sim_scheduler *scheduler, struct sim_machine *machine,
                       double elapsed_sec)
{
    double chance = scheduler->moves_per_sec * elapsed_sec;

    if (chance <= 0)
        return;
    for (size_t i = 0; i < machine->n_processes; i++) {
        struct sim_process *process = machine->processes[i];

        for (size_t t = 0; t < process->n_threads; t++) {
            struct sim_thread *thread = process->threads[t];

            if (thread->cpu >= 0 && !thread->pinned && sim_random_unit(&machine->random) < chance)
                move_thread(machine, thread, choose_cpu(scheduler, machine, thread));
        }
    }
}
