#include "sim/run.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "decide/budget.h"
#include "pipeline_state.h"
#include "sim/fail.h"
#include "util/array.h"
#include "util/nsec.h"

#define SELF_PID 2
#define DRAINS 10 /* a second */
/*
 * What is planned is an estimate from 16 pages of each 2 MiB; what moves is counted. Half of a
 * range misplaced, the estimate of 512 ranges is within 3 %.
 */
#define RATE_TOLERANCE 1.1

static void on_log(void *userdata, const char *line)
{
    struct sim_run *run = userdata;

    run->n_log++;
    snprintf(run->log, sizeof run->log, "%s", line);
}

static void run_add_sampler(struct sim_run *run)
{
    static const struct source_kind kind = {.name = "sim", .sees_who = true};
    const struct sampler_options options = {
        .source = {.topology = run->topology}, .log = on_log, .userdata = run};
    struct sampler *sampler = NULL;

    SIM_NEED(sampler_new(&sampler, &options, pipeline_config(run->pipeline), 0) == 0);
    SIM_NEED(sampler_add(sampler, &kind, sim_source(&run->source)) == 0);
    pipeline_set_sampler(run->pipeline, sampler);
}

static void run_new_pipeline(struct sim_run *run)
{
    struct pipeline_options options = {
        .root = run->root.path,
        .topology = run->topology,
        .procs = &run->procs,
        .host = &run->host,
        .pool = run->pool,
        .self_pid = SELF_PID,
        .now = run->machine.now,
        .log = on_log,
        .userdata = run,
    };

    SIM_NEED(config_new_default(&options.config) == 0);
    SIM_NEED(pipeline_new(&run->pipeline, &options) == 0);
    run->source = (struct sim_source){
        .machine = &run->machine,
        .sink = pipeline_sink(run->pipeline),
        .filter = pipeline_filter(run->pipeline),
        .drained_nsec = run->machine.now,
    };
    run_add_sampler(run);
}

void sim_run_init(struct sim_run *run, const struct sim_shape *shape, uint64_t seed)
{
    *run = (struct sim_run){0};
    sim_machine_init(&run->machine, shape, seed);
    sim_root_init(&run->root, &run->machine);
    SIM_NEED(topology_new(&run->topology, run->root.path) == 0);
    run->procs = sim_procs(&run->machine);
    run->host = sim_host(&run->machine);
    SIM_NEED(worker_pool_new_inline(&run->pool) == 0);
    run_new_pipeline(run);
}

void sim_run_exclude(struct sim_run *run, const char *comm)
{
    struct config *config;
    struct rule_list *list;

    SIM_NEED(config_new_default(&config) == 0);
    list = &config->exclude;
    SIM_NEED(ARRAY_RESERVE(list->rules, list->cap, 1) == 0);
    list->rules[list->n_rules++] = (struct rule){.field = RULE_COMM, .pattern = strdup(comm)};
    SIM_NEED(list->rules[0].pattern != NULL);
    pipeline_commit(run->pipeline, config);
}

void sim_run_deinit(struct sim_run *run)
{
    worker_pool_free(run->pool);
    pipeline_free(run->pipeline);
    topology_free(run->topology);
    sim_root_deinit(&run->root);
    sim_source_deinit(&run->source);
    sim_machine_deinit(&run->machine);
}

void sim_run_set_filter(struct sim_run *run, unsigned kind)
{
    struct config *config = NULL;

    SIM_NEED(config_new_default(&config) == 0);
    config->scan_filter = kind;
    pipeline_commit(run->pipeline, config);
}

static void run_dispatch(struct sim_run *run)
{
    while (worker_pool_dispatch(run->pool, 0))
        ;
}

static void run_slice(struct sim_run *run)
{
    run->machine.now += NSEC_PER_SEC / DRAINS;
    sim_scheduler_run(&run->scheduler, &run->machine, 1.0 / DRAINS);
    SIM_NEED(pipeline_drain(run->pipeline) == 0);
    run_dispatch(run);
}

/* CPU time of the whole daemon so far. */
static uint64_t run_cpu_nsec(const struct sim_run *run)
{
    return run->source.counts.n_samples * SIM_SAMPLE_NSEC + run->machine.tally.cpu_nsec;
}

static bool exceeds_rate(const struct sim_run *run, uint64_t arrived)
{
    double rate = (double)pipeline_config(run->pipeline)->migration_rate_bytes;

    return (double)(arrived * SIM_PAGE_BYTES) > RATE_TOLERANCE * rate;
}

static bool lacks_room(const struct sim_run *run, int node)
{
    const struct sim_node *sim = &run->machine.nodes[node];
    const struct node *seen = &run->topology->nodes[node];
    uint64_t headroom = budget_headroom(pipeline_config(run->pipeline), seen) / SIM_PAGE_BYTES;

    /* The last move's estimate may be a chunk too low. */
    return sim->free + sim->cache + SIM_CHUNK_PAGES < sim->high + headroom;
}

/* `before`: the machine's nodes when the round began. */
static void run_watch(struct sim_run *run, const struct sim_node *before, uint64_t n_forbidden)
{
    bool rate = false, room = false, refused = false;

    for (int node = 0; node < run->machine.shape.n_nodes; node++) {
        const struct sim_node *after = &run->machine.nodes[node];
        uint64_t arrived = after->n_arrived - before[node].n_arrived;

        rate |= exceeds_rate(run, arrived);
        room |= arrived && lacks_room(run, node);
        refused |= after->n_refused > before[node].n_refused;
    }
    run->breach.n_rate += rate;
    run->breach.n_room += room;
    run->breach.n_refused += refused;
    run->breach.n_forbidden += run->machine.tally.n_forbidden > n_forbidden;
}

double sim_run_budget(const struct sim_run *run)
{
    return config_cpu_budget(pipeline_config(run->pipeline), (unsigned)run->machine.n_cpus);
}

static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

void sim_run_mark(struct sim_run *run)
{
    run->base_bytes = run->peak_bytes = heap_bytes();
}

static void run_watch_cost(struct sim_run *run, double before_sec)
{
    double used = sim_run_cost_sec(run) - before_sec;

    run->overdrawn_sec = fmax(run->overdrawn_sec + used - sim_run_budget(run), 0);
    run->overdrawn_most_sec = fmax(run->overdrawn_most_sec, run->overdrawn_sec);
}

static void run_round(struct sim_run *run)
{
    struct sim_node before[SIM_NODES_MAX];
    uint64_t n_forbidden = run->machine.tally.n_forbidden;
    double cost_sec = sim_run_cost_sec(run);
    size_t bytes;

    memcpy(before, run->machine.nodes, sizeof before);
    for (int slice = 0; slice < DRAINS; slice++)
        run_slice(run);
    sim_root_write_room(&run->root, &run->machine);
    SIM_NEED(pipeline_round(run->pipeline, run->machine.now, run_cpu_nsec(run)) == 0);
    bytes = heap_bytes(); /* with all requests that wait */
    run->peak_bytes = bytes > run->peak_bytes ? bytes : run->peak_bytes;
    run_dispatch(run);
    run_watch(run, before, n_forbidden);
    run_watch_cost(run, cost_sec);
    run->n_rounds++;
}

void sim_run_rounds(struct sim_run *run, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        run_round(run);
}

unsigned sim_run_until(struct sim_run *run, double ratio, unsigned limit)
{
    unsigned n = 0;

    while (n <= limit && sim_run_ratio(run) > ratio) {
        run_round(run);
        n++;
    }
    return n;
}

double sim_run_ratio(const struct sim_run *run)
{
    const struct sim_bill bill = sim_bill_make(&run->machine);

    return sim_bill_ratio(&bill);
}

uint64_t sim_run_n_moved(const struct sim_run *run)
{
    return sim_machine_arrived(&run->machine, -1);
}

double sim_run_cost_sec(const struct sim_run *run)
{
    return nsec_to_sec(run_cpu_nsec(run) - migrate_counts(run->pipeline->migrate)->cpu_nsec);
}

bool sim_run_is_broken(const struct sim_run *run)
{
    const struct sim_breach *breach = &run->breach;

    return breach->n_rate || breach->n_room || breach->n_refused || breach->n_forbidden;
}
