/*
 * One round, told in order: discover, (sample,) attribute, decide, migrate, report. Samples arrive
 * between rounds through pipeline_drain; results of requests arrive through the worker pool.
 */
#include "pipeline_state.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/array.h"
#include "util/procfs.h"

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
    struct attribute_options attribute = {
        .topology = options->topology, .host = options->host, .pool = options->pool};
    const struct migrate_options migrate = {.host = options->host,
                                            .topology = options->topology,
                                            .pool = options->pool,
                                            .on_outcome = pipeline_on_outcome,
                                            .userdata = pipeline};
    int r;

    pipeline->rate_bytes =
        calloc((size_t)options->topology->n_node_ids, sizeof *pipeline->rate_bytes);
    if (!pipeline->rate_bytes)
        return -ENOMEM;
    r = discover_new(&pipeline->discover, options->procs, options->topology, options->self_pid);
    attribute.discover = pipeline->discover;
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

const struct target *pipeline_target(const struct pipeline *pipeline, pid_t pid)
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

void pipeline_commit(struct pipeline *pipeline, struct config *config)
{
    /* What is excluded now must not move on what was decided before. */
    migrate_recall(pipeline->migrate);
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
