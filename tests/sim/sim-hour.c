/*
 * An hour of a machine that nobody has here: 64 nodes, 256 CPUs, 4,096 threads, 1 TiB.
 */
#include "numabd/pipeline.h"
#include "sim/load.h"
#include "sim/run.h"
#include "sim/scenario.h"

#define NODES 64
#define CPUS_EACH 4
#define THREADS_EACH 64 /* of each process, one for each node */
#define PROCESS_PAGES (16 * SIM_GIB_PAGES)
#define HOUR 3600
/* Savings that may be spent beside the budget (src/sample/rate.h). */
#define SAVED_SEC 60

/* A process of 64 threads on each node, which sleep or run there, and 1 GiB of it misplaced. */
static void add_process(struct sim_run *run, int node)
{
    struct sim_machine *machine = &run->machine;
    struct sim_process *process = sim_machine_add_process(machine, "server");
    uint64_t part = PROCESS_PAGES / THREADS_EACH;
    size_t vma = sim_machine_map(machine, process, PROCESS_PAGES, node);

    sim_object_place(process->vmas[vma].object, machine->nodes, 0, SIM_GIB_PAGES,
                     (node + 1) % NODES);
    for (unsigned i = 0; i < THREADS_EACH; i++) {
        struct sim_thread *thread = sim_process_add_thread(process);

        sim_thread_use(thread, vma, i * part, part, 1);
        sim_machine_run_on(machine, thread, machine->nodes[node].first_cpu + (int)(i % CPUS_EACH));
    }
}

static double cpu_budget(const struct sim_run *run)
{
    double share = pipeline_config(run->pipeline)->cpu_budget_permyriad / 10000.0;

    return share * (1 + run->machine.n_cpus / 100.0);
}

static void hour_of_1_tib(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_mesh(NODES, CPUS_EACH, 32768);
    CLEANUP(sim_run_deinit) struct sim_run run;
    double before, after, used;

    sim_run_init(&run, &shape, play->seed);
    for (int node = 0; node < NODES; node++)
        add_process(&run, node);
    run.scheduler = (struct sim_scheduler){.moves_per_sec = 0.5};
    before = sim_run_ratio(&run);
    sim_run_rounds(&run, HOUR);
    after = sim_run_ratio(&run);
    used = sim_run_cost_sec(&run);
    SIM_CHECK(play, after <= 1.05, "%.3f", after);
    SIM_CHECK(play, used <= cpu_budget(&run) * (HOUR + SAVED_SEC), "%.1f s", used);
    SIM_CHECK(play, !sim_run_is_broken(&run), "rate %u room %u refused %u forbidden %u",
              run.breach.n_rate, run.breach.n_room, run.breach.n_refused, run.breach.n_forbidden);
    sim_note(play, "cost %.3f>%.3f of the best, %.0f GiB moved of 64, %.2f %% of a CPU", before,
             after, (double)sim_run_n_moved(&run) / (double)SIM_GIB_PAGES, 100 * used / HOUR);
}

int main(int argc, char **argv)
{
    static const struct sim_scenario scenarios[] = {
        {"hour_of_1_tib", hour_of_1_tib, true},
    };

    return sim_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios);
}
