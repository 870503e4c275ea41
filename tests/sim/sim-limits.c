/*
 * What must not go wrong: targets without room, patterns that change, threads that wander, memory
 * that belongs to its owner.
 */
#include "sim/load.h"
#include "sim/run.h"
#include "sim/scenario.h"
#include "util/nsec.h"

#define SEPARABLE 1.05
#define MOVED_MOST 1.2
#define LIMIT 60
#define QUIET_ROUNDS 30

static void check_unbroken(struct sim_play *play, const struct sim_run *run)
{
    SIM_CHECK(play, !sim_run_is_broken(run), "rate %u room %u refused %u forbidden %u",
              run->breach.n_rate, run->breach.n_room, run->breach.n_refused,
              run->breach.n_forbidden);
}

static void check_quiet(struct sim_play *play, struct sim_run *run, unsigned n_rounds)
{
    uint64_t n_moved = sim_run_n_moved(run);

    sim_run_rounds(run, n_rounds);
    SIM_CHECK(play, sim_run_n_moved(run) == n_moved, "%llu pages more",
              (unsigned long long)(sim_run_n_moved(run) - n_moved));
    check_unbroken(play, run);
}

/* To the last page: what a placement that can be had is. */
static unsigned until_placed(struct sim_run *run, unsigned limit)
{
    unsigned n = 0;

    for (; n <= limit && sim_bill_make(&run->machine).n_misplaced; n++)
        sim_run_rounds(run, 1);
    return n;
}

static uint64_t mib(uint64_t pages)
{
    return pages / SIM_MIB_PAGES;
}

static void phase_change(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_ring(4, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_process *process;
    uint64_t n_moved;
    unsigned n;

    sim_run_init(&run, &shape, play->seed);
    process = sim_load_add_parts(&run.machine, 16, 64 * SIM_MIB_PAGES, SIM_CHUNK_PAGES);
    SIM_CHECK(play, until_placed(&run, LIMIT) <= LIMIT, "ratio %.3f", sim_run_ratio(&run));
    check_quiet(play, &run, QUIET_ROUNDS);
    n_moved = sim_run_n_moved(&run);
    sim_load_rotate(process, 4);
    n = sim_run_until(&run, SEPARABLE, LIMIT);
    SIM_CHECK(play, n <= LIMIT, "ratio %.3f", sim_run_ratio(&run));
    SIM_CHECK(play, until_placed(&run, LIMIT) <= LIMIT, "ratio %.3f", sim_run_ratio(&run));
    n_moved = sim_run_n_moved(&run) - n_moved;
    SIM_CHECK(play, (double)n_moved <= MOVED_MOST * 1024 * SIM_MIB_PAGES, "%llu MiB",
              (unsigned long long)mib(n_moved));
    check_quiet(play, &run, QUIET_ROUNDS);
    sim_note(play, "again in %u rounds, %llu of 1024 MiB", n, (unsigned long long)mib(n_moved));
}

/* Threads on node 1, memory on node 0, and another process that leaves `room` on node 1. */
static struct sim_process *add_one_sided(struct sim_run *run, uint64_t pages, uint64_t room)
{
    struct sim_machine *machine = &run->machine;
    struct sim_process *hog = sim_machine_add_process(machine, "hog");
    struct sim_process *process = sim_machine_add_process(machine, "worker");
    size_t vma = sim_machine_map(machine, process, pages, 0);

    if (machine->nodes[1].free > room)
        sim_machine_map(machine, hog, machine->nodes[1].free - room, 1);
    sim_load_add_threads(machine, process, vma, 1, machine->nodes[1].n_cpus);
    return process;
}

static void nearly_full_target(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    uint64_t moved;

    sim_run_init(&run, &shape, play->seed);
    add_one_sided(&run, 2048 * SIM_MIB_PAGES, 1024 * SIM_MIB_PAGES);
    sim_run_rounds(&run, LIMIT);
    moved = mib(sim_run_n_moved(&run));
    /* 1024 MiB less 256 MiB of headroom and 8 MiB of watermark. */
    SIM_CHECK(play, moved >= 752 && moved <= 760, "%llu MiB", (unsigned long long)moved);
    check_quiet(play, &run, QUIET_ROUNDS);
    sim_note(play, "%llu MiB of 760 that there is room for", (unsigned long long)moved);
}

static void target_full_of_cache(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    unsigned n;

    sim_run_init(&run, &shape, play->seed);
    add_one_sided(&run, 1024 * SIM_MIB_PAGES, 4096 * SIM_MIB_PAGES);
    sim_node_fill_cache(&run.machine.nodes[1], 12 * SIM_MIB_PAGES);
    n = sim_run_until(&run, SEPARABLE, LIMIT);
    SIM_CHECK(play, n <= LIMIT, "ratio %.3f", sim_run_ratio(&run));
    sim_run_rounds(&run, 10);
    check_quiet(play, &run, QUIET_ROUNDS);
    sim_note(play, "placed in %u rounds, %llu MiB of cache dropped", n,
             (unsigned long long)mib(run.machine.nodes[1].n_reclaimed));
}

static void larger_than_a_node(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_process *process;
    uint64_t moved;

    sim_run_init(&run, &shape, play->seed);
    process = sim_machine_add_process(&run.machine, "large");
    sim_process_map(process, sim_machine_add_object(&run.machine, 6144 * SIM_MIB_PAGES, false));
    sim_object_spread(process->vmas[0].object, run.machine.nodes, SIM_CHUNK_PAGES, 0, 2);
    sim_load_add_threads(&run.machine, process, 0, 0, 4);
    sim_run_rounds(&run, LIMIT);
    moved = mib(sim_run_n_moved(&run));
    /* 1024 MiB free, less 256 MiB of headroom and 8 MiB of watermark. */
    SIM_CHECK(play, moved >= 752 && moved <= 760, "%llu MiB", (unsigned long long)moved);
    check_quiet(play, &run, QUIET_ROUNDS);
    sim_note(play, "%llu MiB of 760 that there is room for", (unsigned long long)moved);
}

static void one_hot_page(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_process *process;
    uint64_t misplaced;
    unsigned n;

    sim_run_init(&run, &shape, play->seed);
    process = sim_load_add_parts(&run.machine, 8, 64 * SIM_MIB_PAGES, SIM_CHUNK_PAGES);
    for (size_t i = 0; i < process->n_threads; i++)
        sim_thread_use(process->threads[i], 0, 128 * SIM_MIB_PAGES, 1, 1);
    misplaced = sim_bill_make(&run.machine).n_misplaced;
    n = sim_run_until(&run, SEPARABLE, LIMIT);
    SIM_CHECK(play, n <= LIMIT, "ratio %.3f", sim_run_ratio(&run));
    sim_run_rounds(&run, LIMIT);
    SIM_CHECK(play, (double)sim_run_n_moved(&run) <= MOVED_MOST * (double)misplaced,
              "%llu of %llu MiB", (unsigned long long)mib(sim_run_n_moved(&run)),
              (unsigned long long)mib(misplaced));
    check_quiet(play, &run, 120);
    sim_note(play, "placed in %u rounds, %llu of %llu MiB", n,
             (unsigned long long)mib(sim_run_n_moved(&run)), (unsigned long long)mib(misplaced));
}

static void memory_only_node(struct sim_play *play)
{
    struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_process *process;
    size_t vma;
    unsigned n;

    sim_shape_add_memory(&shape, 4096, 17);
    sim_run_init(&run, &shape, play->seed);
    process = sim_machine_add_process(&run.machine, "worker");
    vma = sim_machine_map(&run.machine, process, 512 * SIM_MIB_PAGES, 2);
    sim_load_add_threads(&run.machine, process, vma, 0, 4);
    vma = sim_machine_map(&run.machine, process, 512 * SIM_MIB_PAGES, 0);
    sim_load_add_threads(&run.machine, process, vma, 1, 4);
    n = sim_run_until(&run, SEPARABLE, LIMIT);
    SIM_CHECK(play, n <= LIMIT, "ratio %.3f", sim_run_ratio(&run));
    SIM_CHECK(play, sim_machine_arrived(&run.machine, 2) == 0, "%llu pages",
              (unsigned long long)sim_machine_arrived(&run.machine, 2));
    SIM_CHECK(play, until_placed(&run, LIMIT) <= LIMIT, "ratio %.3f", sim_run_ratio(&run));
    check_quiet(play, &run, QUIET_ROUNDS);
    sim_note(play, "placed in %u rounds", n);
}

/* One thread that changes its node every `period` seconds, for 20 minutes. */
static double moved_by_commuter(struct sim_play *play, unsigned period)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_process *process;

    sim_run_init(&run, &shape, play->seed);
    process = sim_machine_add_process(&run.machine, "commuter");
    sim_machine_map(&run.machine, process, 256 * SIM_MIB_PAGES, 0);
    sim_load_add_threads(&run.machine, process, 0, 0, 1);
    for (unsigned i = 0; i < 1200 / period; i++) {
        sim_machine_run_on(&run.machine, process->threads[0], i % 2 ? 0 : 4);
        sim_run_rounds(&run, period);
    }
    check_unbroken(play, &run);
    return (double)sim_run_n_moved(&run) / (256.0 * (double)SIM_MIB_PAGES);
}

static void thread_that_commutes(struct sim_play *play)
{
    static const unsigned periods[] = {2, 10, 30, 60};

    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        double times = moved_by_commuter(play, periods[i]);

        /* The cool-down doubles: 5, 10, 20 ... 320 s, so that 20 minutes see at most 9 moves. */
        SIM_CHECK(play, times <= 9, "%u s: %.1f times its memory", periods[i], times);
        sim_note(play, "every %u s: %.1f times its memory", periods[i], times);
    }
}

/* Threads that a scheduler moves between nodes now and then. */
static void threads_that_wander(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_ring(4, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_process *process;
    double times;

    sim_run_init(&run, &shape, play->seed);
    process = sim_load_add_parts(&run.machine, 16, 64 * SIM_MIB_PAGES, SIM_CHUNK_PAGES);
    for (size_t i = 0; i < process->n_threads; i++)
        process->threads[i]->pinned = false;
    run.scheduler = (struct sim_scheduler){.moves_per_sec = 0.2, .across_nodes = true};
    sim_run_rounds(&run, 600);
    times = (double)sim_run_n_moved(&run) / (1024.0 * (double)SIM_MIB_PAGES);
    SIM_CHECK(play, times <= 9, "%.1f times its memory in 10 minutes", times);
    check_unbroken(play, &run);
    sim_note(play, "%.1f times its memory in 10 minutes", times);
}

/* Nothing of it may move, and nothing may be asked to. */
static void owned_memory_stays(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_process *process;

    sim_run_init(&run, &shape, play->seed);
    process = sim_machine_add_process(&run.machine, "owner");
    for (size_t i = 0; i < 4; i++) {
        static const char *const policies[] = {"bind:0", "prefer:0", "interleave:0-1", "default"};
        size_t vma = sim_machine_map(&run.machine, process, 64 * SIM_MIB_PAGES, 0);

        process->vmas[vma].policy = policies[i];
        sim_load_add_threads(&run.machine, process, vma, 1, 1);
    }
    process->threads[3]->policy = "bind:0";
    check_quiet(play, &run, LIMIT);
    sim_note(play, "bound, preferred, interleaved, and of a bound thread");
}

int main(int argc, char **argv)
{
    static const struct sim_scenario scenarios[] = {
        {"phase_change", phase_change, false},
        {"nearly_full_target", nearly_full_target, false},
        {"target_full_of_cache", target_full_of_cache, false},
        {"larger_than_a_node", larger_than_a_node, false},
        {"one_hot_page", one_hot_page, false},
        {"memory_only_node", memory_only_node, false},
        {"thread_that_commutes", thread_that_commutes, false},
        {"threads_that_wander", threads_that_wander, false},
        {"owned_memory_stays", owned_memory_stays, false},
    };

    return sim_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios);
}
