/*
 * The loads of the autonuma benchmark get what processes have beside the memory that they are
 * about: a small mapping that all threads use all the time, as stacks are, and some that they touch
 * at times, for so short that no timer sees it. And numa01 has a second phase: its threads go on to
 * memory that was there from the start and that nobody had touched, so that its free scans saw
 * nobody. That is what the first filter never got over: what no thread was seen in was not scanned,
 * and where nothing was scanned no thread was seen.
 */
#include "sim/trial.h"

#include <time.h>

#include "attribute/space_scan.h"
#include "pipeline_state.h"
#include "sim/fail.h"
#include "sim/server.h"
#include "util/nsec.h"

#define LOAD_PAGES (512 * SIM_MIB_PAGES)
/* Small ones; the first is used all the time. */
#define N_SMALL 17
#define SMALL_PAGES SIM_MIB_PAGES
#define BUSY_WEIGHT 0.01
/* With 2,000 samples a second of a process, one in ten minutes. */
#define QUIET_WEIGHT 1e-6
/* The free scans are long over, and just before it all had their turn: it begins as badly as it
 * can. */
#define SECOND_PHASE 32
/* Rounds; some go by before the first pass. */
#define ROUNDS_MAX (SIM_COVERAGE_END + 30)
#define N_JUDGED 50

/* One that runs. */
struct trial_run {
    const struct sim_trial *trial;
    struct sim_trial_result *result;
    struct sim_run run;
    struct sim_server server;
    struct sim_coverage *coverages; /* of each process */
    unsigned phase, phase_round;
};

const char *sim_trial_load_name(unsigned load)
{
    return load < SIM_LOAD_COUNT ? sim_load_names[load] : "server";
}

const char *sim_trial_filter_name(enum scan_filter_kind filter)
{
    static const char *const names[SIM_TRIAL_FILTERS] = {
        [SCAN_FILTER_NUMABD] = "numabd",
        [SCAN_FILTER_NONE] = "none",
        [SCAN_FILTER_RFC4] = "rfc4",
        [SCAN_FILTER_KERNEL] = "kernel",
    };

    return names[filter];
}

static int home_of(const struct sim_process *process)
{
    return sim_object_node(process->vmas[0].object, 0);
}

static void add_small(struct sim_machine *machine, struct sim_process *process)
{
    int home = home_of(process);

    for (int i = 0; i < N_SMALL; i++) {
        size_t vma = sim_machine_map(machine, process, SMALL_PAGES, home);

        for (size_t t = 0; t < process->n_threads; t++)
            sim_thread_use(process->threads[t], vma, 0, SMALL_PAGES,
                           i ? QUIET_WEIGHT : BUSY_WEIGHT);
    }
}

/* Mapped last, and used in the second phase. */
static void add_second(struct sim_machine *machine, struct sim_process *process)
{
    sim_machine_map(machine, process, process->vmas[0].object->n_pages, home_of(process));
}

/* It takes the place of the first use. */
static void begin_second(struct sim_process *process)
{
    for (size_t t = 0; t < process->n_threads; t++)
        process->threads[t]->uses[0].vma = process->n_vmas - 1;
}

static void add_load(struct trial_run *run)
{
    struct sim_machine *machine = &run->run.machine;

    if (run->trial->load == SIM_TRIAL_SERVER) {
        sim_server_init(&run->server, machine);
        return;
    }
    sim_load_add(machine, run->trial->load, LOAD_PAGES);
    for (size_t i = 0; i < machine->n_processes; i++) {
        add_small(machine, machine->processes[i]);
        if (run->trial->load == SIM_LOAD_NUMA01)
            add_second(machine, machine->processes[i]);
    }
}

static void begin_round(struct trial_run *run)
{
    struct sim_machine *machine = &run->run.machine;

    if (run->trial->load == SIM_TRIAL_SERVER)
        sim_server_begin_second(&run->server, run->run.n_rounds);
    if (run->trial->load != SIM_LOAD_NUMA01 || run->run.n_rounds != SECOND_PHASE)
        return;
    for (size_t i = 0; i < machine->n_processes; i++)
        begin_second(machine->processes[i]);
    run->phase = 1;
    run->phase_round = run->run.n_rounds;
    run->result->has_second = true;
}

static void note_placed(struct trial_run *run)
{
    unsigned *placed = &run->result->placed[run->phase];

    if (run->trial->load == SIM_TRIAL_SERVER)
        return;
    run->result->ratio = sim_run_ratio(&run->run);
    if (!*placed && run->result->ratio <= SIM_TRIAL_PLACED)
        *placed = run->run.n_rounds - run->phase_round;
}

static void run_round(struct trial_run *run)
{
    begin_round(run);
    sim_run_rounds(&run->run, 1);
    for (size_t i = 0; i < run->run.machine.n_processes; i++)
        sim_coverage_note(&run->coverages[i]);
    run->result->n_passes = (unsigned)run->coverages[0].n_passes;
    note_placed(run);
}

/* Is it scanned, so that what is done there is seen? */
static bool is_armed(void *userdata, pid_t pid, uint64_t addr)
{
    const struct sim_run *run = userdata;
    const struct space *space = attribute_find(run->pipeline->attribute, pid);

    return !space || !space->maps_known || space_lets(space, addr);
}

static void trial_begin(struct trial_run *run)
{
    const struct sim_shape small = sim_shape_ring(4, 8, 4096);
    const struct sim_shape large = sim_shape_mesh(8, 8, 16384);
    bool is_server = run->trial->load == SIM_TRIAL_SERVER;
    size_t n;

    sim_run_init(&run->run, is_server ? &large : &small, run->trial->seed);
    sim_run_set_filter(&run->run, run->trial->filter);
    if (run->trial->armed) {
        run->run.source.sees = is_armed;
        run->run.source.sees_userdata = &run->run;
    }
    add_load(run);
    n = run->run.machine.n_processes;
    run->coverages = sim_calloc(n, sizeof *run->coverages);
    for (size_t i = 0; i < n; i++)
        sim_coverage_init(&run->coverages[i], &run->run, run->run.machine.processes[i]);
}

static uint64_t cpu_nsec(void)
{
    struct timespec now;

    SIM_NEED(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
    return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* Passes over the first process in which nothing is asked; the trial is over. */
static uint64_t measure_judging(struct trial_run *run)
{
    struct space *space =
        attribute_find(run->run.pipeline->attribute, run->run.machine.processes[0]->pid);
    uint64_t begin = cpu_nsec();

    for (int i = 0; i < N_JUDGED; i++) {
        space_begin_pass(space, run->run.machine.now);
        space_end_pass(space);
    }
    return (cpu_nsec() - begin) / N_JUDGED;
}

static void trial_end(struct trial_run *run)
{
    const struct sim_tally *tally = &run->run.machine.tally;
    struct sim_trial_result *result = run->result;

    for (size_t i = 0; i < run->run.machine.n_processes; i++) {
        sim_coverage_add(&run->coverages[i], &result->sums);
        sim_coverage_deinit(&run->coverages[i]);
    }
    free(run->coverages);
    result->n_queried = tally->n_queried;
    result->query_nsec = tally->query_nsec;
    result->n_moved = sim_run_n_moved(&run->run);
    result->judge_nsec = measure_judging(run);
    sim_run_deinit(&run->run);
}

void sim_trial_run(const struct sim_trial *trial, struct sim_trial_result *result)
{
    struct trial_run run = {.trial = trial, .result = result};

    *result = (struct sim_trial_result){0};
    trial_begin(&run);
    while (result->n_passes < SIM_COVERAGE_END && run.run.n_rounds < ROUNDS_MAX)
        run_round(&run);
    trial_end(&run);
}
