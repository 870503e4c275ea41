/*
 * One round, told in order: discover, (sample,) attribute, decide, migrate, report. Samples arrive
 * between rounds through pipeline_drain; results of requests arrive through the worker pool.
 */
#include "pipeline_state.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "attribute/ranges.h"
#include "attribute/tally.h"
#include "util/array.h"
#include "util/procfs.h"

/* Cool-downs are doubled at most so often: 5 rounds become 320. */
#define COOL_DOWN_SHIFT_MAX 6

static void on_outcome(void *userdata, const struct outcome *outcome);

void pipeline_log(struct pipeline *pipeline, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    pipeline->options.log(pipeline->options.userdata, line);
}

size_t pipeline_n_lanes(const struct topology *topology)
{
    return 1 + (size_t)topology->n_memory_nodes;
}

static int pipeline_new_stages(struct pipeline *pipeline)
{
    const struct pipeline_options *options = &pipeline->options;
    const struct attribute_options attribute = {
        .topology = options->topology, .host = options->host, .pool = options->pool};
    const struct migrate_options migrate = {.host = options->host,
                                            .topology = options->topology,
                                            .pool = options->pool,
                                            .on_outcome = on_outcome,
                                            .userdata = pipeline};
    int r;

    pipeline->rate_bytes =
        calloc((size_t)options->topology->n_node_ids, sizeof *pipeline->rate_bytes);
    if (!pipeline->rate_bytes)
        return -ENOMEM;
    r = discover_new(&pipeline->discover, options->procs, options->topology, options->self_pid);
    if (!r)
        r = attribute_new(&pipeline->attribute, &attribute);
    if (!r)
        r = migrate_new(&pipeline->migrate, &migrate);
    return r;
}

int pipeline_new(struct pipeline **pipelinep, const struct pipeline_options *options)
{
    CLEANUP(pipeline_freep) struct pipeline *pipeline = calloc(1, sizeof *pipeline);
    int r;

    if (!pipeline) {
        config_free(options->config);
        return -ENOMEM;
    }
    pipeline->options = *options;
    pipeline->config = options->config;
    pipeline->remote_first_permyriad = pipeline->remote_permyriad = -1;
    pipeline->cost_nsec = pipeline->now = pipeline->pushed_nsec = options->now;
    r = pipeline_new_stages(pipeline);
    if (r < 0)
        return r;
    *pipelinep = TAKE(pipeline);
    return 0;
}

struct pipeline *pipeline_free(struct pipeline *pipeline)
{
    if (!pipeline)
        return NULL;
    sampler_free(pipeline->sampler);
    plan_deinit(&pipeline->plan);
    migrate_free(pipeline->migrate);
    attribute_free(pipeline->attribute);
    discover_free(pipeline->discover);
    config_free(pipeline->config);
    free(pipeline->candidates);
    free(pipeline->late);
    free(pipeline->sample_targets);
    free(pipeline->sample_ranges);
    free(pipeline->rate_bytes);
    free(pipeline);
    return NULL;
}

static const struct target *pipeline_target(const struct pipeline *pipeline, pid_t pid)
{
    const struct target *target = discover_find(pipeline->discover, pid);

    return target && target->reason == REASON_NONE ? target : NULL;
}

static bool sample_wants(void *userdata, pid_t pid)
{
    struct pipeline *pipeline = userdata;

    if (pipeline_is_stuck(pipeline, pid))
        return false;
    if (pipeline_target(pipeline, pid))
        return true;
    discover_hint(pipeline->discover, pid);
    return false;
}

static void sink_push(void *userdata, const struct access *accesses, size_t n)
{
    struct pipeline *pipeline = userdata;
    size_t first = 0;

    while (first < n) {
        const struct target *target = pipeline_target(pipeline, accesses[first].pid);
        size_t end = first + 1;

        while (end < n && accesses[end].pid == accesses[first].pid)
            end++;
        if (target && !pipeline_is_stuck(pipeline, target->pid)) {
            pipeline->pushed_nsec = accesses[end - 1].when_nsec;
            (void)attribute_push(pipeline->attribute, target, &accesses[first], end - first);
            if (!pipeline->sampled_round && accesses[first].kind != ACCESS_TOUCH)
                pipeline->sampled_round = pipeline->n_rounds + 1;
        }
        first = end;
    }
}

static void sink_work(void *userdata, pid_t pid, const struct access_work *work)
{
    struct pipeline *pipeline = userdata;
    struct autonuma *counts =
        attribute_autonuma(pipeline->attribute, attribute_find(pipeline->attribute, pid));

    counts->n_pte_updates += work->n_armed;
    counts->n_hint_faults += work->n_faults;
}

struct access_sink pipeline_sink(struct pipeline *pipeline)
{
    return (struct access_sink){.push = sink_push, .work = sink_work, .userdata = pipeline};
}

struct sample_filter pipeline_filter(struct pipeline *pipeline)
{
    return (struct sample_filter){.wants = sample_wants, .userdata = pipeline};
}

void pipeline_set_sampler(struct pipeline *pipeline, struct sampler *sampler)
{
    sampler_free(pipeline->sampler);
    pipeline->sampler = sampler;
}

const char *pipeline_why(const struct pipeline *pipeline)
{
    if (pipeline->why[0] || !pipeline->sampler)
        return pipeline->why;
    return sampler_why(pipeline->sampler);
}

void pipeline_set_idle(struct pipeline *pipeline, const char *why)
{
    snprintf(pipeline->why, sizeof pipeline->why, "%s", why);
}

bool pipeline_is_barred(const struct pipeline *pipeline)
{
    return pipeline->why[0] != '\0';
}

bool pipeline_is_idle(const struct pipeline *pipeline)
{
    return pipeline_why(pipeline)[0] != '\0';
}

bool pipeline_is_quiet(const struct pipeline *pipeline, uint64_t now)
{
    return pipeline_quiet_nsec(pipeline, now) > PIPELINE_QUIET_NSEC;
}

uint64_t pipeline_quiet_nsec(const struct pipeline *pipeline, uint64_t now)
{
    return now > pipeline->pushed_nsec ? now - pipeline->pushed_nsec : 0;
}

int pipeline_drain(struct pipeline *pipeline)
{
    return pipeline->sampler ? sampler_drain(pipeline->sampler) : 0;
}

/* Forgets address spaces whose process is no target any more. */
static void pipeline_prune(struct pipeline *pipeline)
{
    struct space *space, *next;

    HASH_ITER (hh, attribute_spaces(pipeline->attribute), space, next) {
        const struct target *target = pipeline_target(pipeline, space->pid);

        if (!target || target->process.start_ticks != space->start_ticks)
            attribute_drop(pipeline->attribute, space->pid);
    }
}

/* Whether maps, a query or a move was refused first: it is said here, once. */
static void pipeline_say_denied(struct pipeline *pipeline)
{
    struct space *space, *next;

    HASH_ITER (hh, attribute_spaces(pipeline->attribute), space, next) {
        if (!space->denied || space->denied_said)
            continue;
        space->denied_said = true;
        pipeline_log(pipeline, "process %d: %s: it is observed from now on", space->pid,
                     reason_text(REASON_NO_PERMISSION));
    }
}

static int pipeline_list_space(struct pipeline *pipeline, struct space *space)
{
    const struct target *target = pipeline_target(pipeline, space->pid);
    double min_share = pipeline->config->min_share_permyriad / 10000.0;
    size_t need = pipeline->n_candidates + HASH_COUNT(space->ranges);
    struct range *range, *next;

    if (!target)
        return 0;
    if (ARRAY_RESERVE(pipeline->candidates, pipeline->candidates_cap, need) < 0)
        return -ENOMEM;
    space->n_planned = 0;
    HASH_ITER (hh, space->ranges, range, next) {
        if (!space_lets(space, range->start))
            continue;
        pipeline->candidates[pipeline->n_candidates++] =
            (struct candidate){.target = target,
                               .space = space,
                               .vma = space_find_vma(space, range->start),
                               .range = range,
                               .evidence = space_find_evidence(space, range, min_share)};
    }
    return 0;
}

static int pipeline_list(struct pipeline *pipeline)
{
    struct space *space, *next;
    int r = 0;

    pipeline->n_candidates = 0;
    HASH_ITER (hh, attribute_spaces(pipeline->attribute), space, next)
        if (!r)
            r = pipeline_list_space(pipeline, space);
    return r;
}

/* For `numabctl vmas`. */
static void pipeline_keep_verdicts(struct pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->n_candidates; i++) {
        /* Only decide may not change it. */
        struct range *range = (struct range *)pipeline->candidates[i].range;

        range->verdict = pipeline->plan.verdicts[i];
    }
}

static int pipeline_decide(struct pipeline *pipeline, uint64_t now)
{
    const struct decide_env env = {
        .topology = pipeline->options.topology,
        .config = pipeline->config,
        .observe = pipeline_observes(pipeline),
        .pressed = pressure_is_on(&pipeline->pressure, now),
        .rate_bytes = pipeline->rate_bytes,
        .sec_per_byte = migrate_counts(pipeline->migrate)->sec_per_byte,
        .now = now,
    };
    int r = pipeline_list(pipeline);

    if (r < 0)
        return r;
    migrate_allowance(pipeline->migrate, pipeline->config, pipeline->rate_bytes);
    r = decide_plan(&pipeline->plan, &env, pipeline->candidates, pipeline->n_candidates);
    if (!r)
        pipeline_keep_verdicts(pipeline);
    return r;
}

/* All but page copying counts against the budget. */
static void pipeline_spend(struct pipeline *pipeline, uint64_t now, uint64_t cpu_nsec)
{
    uint64_t moving = migrate_counts(pipeline->migrate)->cpu_nsec;
    uint64_t used = cpu_nsec > moving ? cpu_nsec - moving : 0;

    if (pipeline->sampler && pipeline->spent_nsec && used > pipeline->spent_cpu_nsec)
        sampler_spend(pipeline->sampler, used - pipeline->spent_cpu_nsec,
                      now - pipeline->spent_nsec);
    pipeline->spent_nsec = now;
    pipeline->spent_cpu_nsec = used;
}

/* CPUs and nodes may come and go. */
static int pipeline_follow_topology(struct pipeline *pipeline)
{
    const struct pipeline_options *options = &pipeline->options;
    int r;

    if (!options->root)
        return 0;
    r = topology_follow(options->topology, &pipeline->online, options->root);
    if (r == TOPOLOGY_CHANGED)
        pipeline_log(pipeline, "CPUs or nodes went on or off line: the topology was read anew");
    if (r == TOPOLOGY_OUTGROWN)
        pipeline_log(pipeline,
                     "nodes came that were not there at start: restart numabd to use them");
    return r < 0 ? r : 0;
}

static void pipeline_read_pressure(struct pipeline *pipeline, uint64_t now)
{
    CLEANUP(freep) char *text = NULL;
    uint64_t n_direct;
    size_t size;

    if (!procfs_read(pipeline->options.root, "proc/vmstat", &text, &size) &&
        pressure_parse(text, size, &n_direct))
        pressure_note(&pipeline->pressure, n_direct, now);
}

static int pipeline_read_room(struct pipeline *pipeline, uint64_t now)
{
    if (!pipeline->options.root)
        return 0;
    pipeline_read_pressure(pipeline, now);
    return topology_read_room(pipeline->options.topology, pipeline->options.root);
}

static int pipeline_act(struct pipeline *pipeline, uint64_t now)
{
    int r = pipeline_read_room(pipeline, now);

    if (!r)
        r = pipeline_decide(pipeline, now);
    if (!r)
        r = migrate_submit(pipeline->migrate, &pipeline->plan, pipeline->discover,
                           pipeline->attribute);
    return r;
}

/* Everybody sleeps: nothing is read for a decision, and what was planned last is over. */
static void pipeline_rest(struct pipeline *pipeline)
{
    struct space *space, *next;

    HASH_ITER (hh, attribute_spaces(pipeline->attribute), space, next)
        space->n_planned = 0;
}

int pipeline_round(struct pipeline *pipeline, uint64_t now, uint64_t cpu_nsec)
{
    int r;

    pipeline->n_rounds++;
    pipeline->now = now;
    r = pipeline_follow_topology(pipeline);
    if (r < 0)
        return r;
    r = discover_round(pipeline->discover, pipeline->config, now);
    if (r < 0)
        return r;
    pipeline_prune(pipeline);
    pipeline_say_denied(pipeline);
    pipeline_spend(pipeline, now, cpu_nsec);
    r = pipeline_sample(pipeline, now);
    if (r < 0)
        return r;
    r = pipeline_follow_kernel(pipeline);
    if (r < 0)
        return r;
    r = attribute_round(pipeline->attribute, pipeline->config, now);
    if (r < 0)
        return r;
    if (pipeline_is_quiet(pipeline, now))
        pipeline_rest(pipeline);
    else if (!pipeline_is_idle(pipeline))
        r = pipeline_act(pipeline, now);
    pipeline_close_round(pipeline, now, cpu_nsec);
    return r;
}

/* Where most of the pages lay that do not lie on `to`; -1 when all did. */
static int most_elsewhere(const struct tally *pages, int to)
{
    const struct tally_entry *most = NULL;

    for (size_t i = 0; i < pages->n_entries; i++) {
        const struct tally_entry *entry = &pages->entries[i];

        if (entry->node != to && (!most || entry->n > most->n))
            most = entry;
    }
    return most ? most->node : -1;
}

/*
 * What a move says about its range: a cool-down, doubled each time that pages were refused and each
 * time that it moved back to where it came from.
 */
static void range_on_outcome(struct pipeline *pipeline, struct range *range,
                             const struct moved_range *moved, int node, uint64_t now)
{
    uint64_t cool_down = pipeline->config->cool_down_rounds * pipeline->config->interval_nsec;
    unsigned shift;

    range->moving = false;
    range->n_refusals = moved->n_failed ? range->n_refusals + 1 : 0;
    if (tally_n(&moved->after, node) > tally_n(&moved->before, node))
        range_note_move(range, most_elsewhere(&moved->before, node), node, now);
    shift = range->n_refusals + range->n_returns;
    cool_down <<= shift < COOL_DOWN_SHIFT_MAX ? shift : COOL_DOWN_SHIFT_MAX;
    range->cool_down_nsec = now + cool_down;
}

static void pipeline_count_move(struct pipeline *pipeline, struct space *space,
                                const struct outcome *outcome)
{
    bool is_same = space && space->start_ticks == outcome->start_ticks;
    struct autonuma *counts = attribute_autonuma(pipeline->attribute, is_same ? space : NULL);

    counts->n_pte_updates += outcome->ledger.n_asked;
    counts->n_migrated += outcome->ledger.n_moved;
}

static void on_outcome(void *userdata, const struct outcome *outcome)
{
    struct pipeline *pipeline = userdata;
    struct space *space = attribute_find(pipeline->attribute, outcome->pid);
    size_t page_bytes = pipeline->options.host->page_bytes;
    uint64_t now = pipeline->now;

    pipeline_count_move(pipeline, space, outcome);
    hour_add(&pipeline->hour, now, outcome->ledger.n_moved * page_bytes);
    if (!space || space->generation != outcome->generation)
        return;
    if (outcome->gone) {
        attribute_drop(pipeline->attribute, outcome->pid);
        return;
    }
    if (outcome->call_error == EPERM)
        space->denied = true;
    /* Its cpuset no longer holds the node. */
    if (outcome->call_error == EACCES)
        discover_recheck(pipeline->discover, outcome->pid);
    if (outcome->ledger.n_moved)
        space->moved_nsec = now;
    for (size_t i = 0; i < outcome->n_ranges; i++) {
        const struct moved_range *moved = &outcome->ranges[i];
        struct range *range = space_find_range(space, moved->start);

        space_apply_move(space, moved->start, &moved->before, &moved->after, page_bytes, now);
        if (range)
            range_on_outcome(pipeline, range, moved, outcome->node, now);
    }
}

void pipeline_commit(struct pipeline *pipeline, struct config *config)
{
    config_free(pipeline->config);
    pipeline->config = config;
    if (pipeline->sampler)
        sampler_configure(pipeline->sampler, config);
    kernel_balancing_reset(&pipeline->kernel);
    discover_reset(pipeline->discover);
}

const struct config *pipeline_config(const struct pipeline *pipeline)
{
    return pipeline->config;
}

const struct plan *pipeline_plan(const struct pipeline *pipeline)
{
    return &pipeline->plan;
}
