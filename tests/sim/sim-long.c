/*
 * Long runs of machines that nobody has here: 64 nodes with 256 CPUs.
 */
#include "numabd/pipeline.h"
#include "sim/load.h"
#include "sim/run.h"
#include "sim/scenario.h"

#define NODES 64
#define CPUS_EACH 4
#define SEPARABLE 1.05
#define MOVED_MOST 1.2
#define MEMORY_MIB 64
/*
 * What may be used above the budget in any time, in seconds of it: a minute's savings
 * (src/sample/rate.h), and a debt. The rate of samples follows what was used, and one numa_maps of
 * 16 GiB, which cannot be cut, is four seconds' worth.
 */
#define SAVED_SEC 60
#define DEBT_SEC 20

static void check_budgets(struct sim_play *play, const struct sim_run *run)
{
    double most = sim_run_budget(run) * (SAVED_SEC + DEBT_SEC);

    SIM_CHECK(play, run->overdrawn_most_sec <= most, "%.1f s more than the budget at once, of %.1f",
              run->overdrawn_most_sec, most);
    SIM_CHECK(play, !sim_run_is_broken(run), "rate %u room %u refused %u forbidden %u",
              run->breach.n_rate, run->breach.n_room, run->breach.n_refused,
              run->breach.n_forbidden);
    sim_note(play, "%.2f %% of a CPU of %.2f", 100 * sim_run_cost_sec(run) / run->n_rounds,
             100 * sim_run_budget(run));
}

static void check_memory(struct sim_play *play, const struct sim_run *run)
{
    double mib = (double)(run->peak_bytes - run->base_bytes) / (1 << 20);

    SIM_CHECK(play, mib <= MEMORY_MIB, "%.1f MiB", mib);
    sim_note(play, "%.1f MiB", mib);
}

/* 256 threads on 16 GiB, and every ten minutes each goes on with memory of the next node. */
static void hour_of_64_nodes(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_mesh(NODES, CPUS_EACH, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_process *process;
    double misplaced = 0;

    sim_run_init(&run, &shape, play->seed);
    process =
        sim_load_add_parts(&run.machine, NODES * CPUS_EACH, 64 * SIM_MIB_PAGES, SIM_CHUNK_PAGES);
    sim_run_mark(&run);
    for (int phase = 0; phase < 6; phase++) {
        misplaced += (double)sim_bill_make(&run.machine).n_misplaced;
        sim_run_rounds(&run, 600);
        SIM_CHECK(play, sim_run_ratio(&run) <= SEPARABLE, "phase %d: %.3f", phase,
                  sim_run_ratio(&run));
        sim_load_rotate(process, CPUS_EACH);
    }
    SIM_CHECK(play, (double)sim_run_n_moved(&run) <= MOVED_MOST * misplaced, "%.0f of %.0f GiB",
              (double)sim_run_n_moved(&run) / (double)SIM_GIB_PAGES,
              misplaced / (double)SIM_GIB_PAGES);
    check_budgets(play, &run);
    check_memory(play, &run);
    sim_note(play, "6 phases, %.0f of %.0f GiB",
             (double)sim_run_n_moved(&run) / (double)SIM_GIB_PAGES,
             misplaced / (double)SIM_GIB_PAGES);
}

/* A process of 64 threads and 16 GiB on each node, 1 GiB of it on the next one. */
static void add_server(struct sim_machine *machine, int node)
{
    const uint64_t n_threads = 64, part = 16 * SIM_GIB_PAGES / n_threads;
    struct sim_process *process = sim_machine_add_process(machine, "server");
    size_t vma = sim_machine_map(machine, process, n_threads * part, node);

    sim_object_place(process->vmas[vma].object, machine->nodes, 0, SIM_GIB_PAGES,
                     (node + 1) % NODES);
    for (uint64_t i = 0; i < n_threads; i++) {
        struct sim_thread *thread = sim_process_add_thread(process);

        sim_thread_use(thread, vma, i * part, part, 1);
        sim_machine_run_on(machine, thread, machine->nodes[node].first_cpu + (int)(i % CPUS_EACH));
    }
}

/*
 * Reading all of numa_maps once takes 19 s of CPU time, which is most of what cpu_budget has in the
 * time.
 */
static void one_tib_of_4096_threads(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_mesh(NODES, CPUS_EACH, 32768);
    CLEANUP(sim_run_deinit) struct sim_run run;
    double before, misplaced, left;

    sim_run_init(&run, &shape, play->seed);
    for (int node = 0; node < NODES; node++)
        add_server(&run.machine, node);
    run.scheduler = (struct sim_scheduler){.moves_per_sec = 0.5};
    sim_run_mark(&run);
    before = sim_run_ratio(&run);
    misplaced = (double)sim_bill_make(&run.machine).n_misplaced;
    sim_run_rounds(&run, 600);
    left = (double)sim_bill_make(&run.machine).n_misplaced;
    SIM_CHECK(play, sim_run_ratio(&run) <= SEPARABLE && left <= 0.05 * misplaced,
              "%.3f, %.1f GiB are left", sim_run_ratio(&run), left / (double)SIM_GIB_PAGES);
    SIM_CHECK(play, (double)sim_run_n_moved(&run) <= MOVED_MOST * misplaced, "%llu pages",
              (unsigned long long)sim_run_n_moved(&run));
    check_budgets(play, &run);
    check_memory(play, &run);
    sim_note(play, "cost %.3f>%.3f of the best, %.0f GiB moved of %.0f", before,
             sim_run_ratio(&run), (double)sim_run_n_moved(&run) / (double)SIM_GIB_PAGES,
             misplaced / (double)SIM_GIB_PAGES);
}

int main(int argc, char **argv)
{
    static const struct sim_scenario scenarios[] = {
        {"hour_of_64_nodes", hour_of_64_nodes, true},
        {"one_tib_of_4096_threads", one_tib_of_4096_threads, true},
    };

    return sim_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios);
}
