/*
 * What the sources are told each round: the targets with the rate that each deserves, and the
 * memory that idle page tracking should look at.
 */
#include <errno.h>
#include <stdlib.h>

#include "pipeline_state.h"
#include "util/array.h"

/* Of unsampled memory, in a round: 4 GiB. */
#define RANGES_PER_ROUND 2048

static int by_pid(const void *left, const void *right)
{
    const struct sample_target *a = left, *b = right;

    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* A process without an address space yet has never been sampled. */
static enum pace_level judge_pace(struct pipeline *pipeline, const struct target *target)
{
    struct space *space = attribute_find(pipeline->attribute, target->pid);
    struct pace_facts facts;

    if (!space)
        return PACE_NEW;
    facts = (struct pace_facts){
        .now = pipeline->now,
        .acted = space->n_planned > 0,
        .moved_nsec = space->moved_nsec,
        .remote_permyriad = space->remote_permyriad,
        .n_threads = target->process.n_threads,
        .rss_bytes = target->process.rss_bytes,
        .n_outside = space->n_outside,
    };
    return pace_judge(&space->pace, &facts);
}

static int add_target(struct pipeline *pipeline, const struct target *target)
{
    size_t n = pipeline->n_sample_targets;

    if (ARRAY_RESERVE(pipeline->sample_targets, pipeline->sample_targets_cap, n + 1) < 0)
        return -ENOMEM;
    pipeline->sample_targets[n] = (struct sample_target){
        .pid = target->pid,
        .start_ticks = target->process.start_ticks,
        .rss_bytes = target->process.rss_bytes,
        .n_threads = target->process.n_threads,
        .rate_hz = sampler_rate(pipeline->sampler, judge_pace(pipeline, target)),
        .cgroup = target->process.cgroup,
        .allows_faults = rules_allow_write_fault(pipeline->config, &target->process),
    };
    pipeline->n_sample_targets++;
    return 0;
}

static int list_targets(struct pipeline *pipeline)
{
    struct target *target, *next;
    int r = 0;

    pipeline->n_sample_targets = 0;
    HASH_ITER (hh, discover_targets(pipeline->discover), target, next)
        if (!r && target->reason == REASON_NONE && !pipeline_is_stuck(pipeline, target->pid))
            r = add_target(pipeline, target);
    if (pipeline->n_sample_targets)
        qsort(pipeline->sample_targets, pipeline->n_sample_targets,
              sizeof *pipeline->sample_targets, by_pid);
    return r;
}

/* How a target used its time, where a source measures it, and what moves did for that. */
static void follow_target(struct pipeline *pipeline, const struct sample_target *target)
{
    struct space *space = attribute_find(pipeline->attribute, target->pid);
    struct cpu_use use = {.cpi = 0};
    struct benefit_facts facts;

    if (!space)
        return;
    if (!sampler_measure(pipeline->sampler, target, &use)) {
        space->memory_bound = use.memory_bound;
        space->memory_bound_known = true;
    }
    facts = (struct benefit_facts){
        .now = pipeline->now,
        .moved_bytes = space->moved_bytes,
        .rss_bytes = target->rss_bytes,
        .remote_permyriad = space->remote_permyriad,
        .cpi = use.cpi,
    };
    benefit_judge(&space->benefit, &facts);
}

int pipeline_sample(struct pipeline *pipeline, uint64_t now)
{
    struct sample_round round = {.now = now};
    int r;

    if (!pipeline->sampler)
        return 0;
    r = list_targets(pipeline);
    if (!r)
        r = ARRAY_RESERVE(pipeline->sample_ranges, pipeline->sample_ranges_cap, RANGES_PER_ROUND);
    if (r < 0)
        return r;
    round.targets = pipeline->sample_targets;
    round.n_targets = pipeline->n_sample_targets;
    round.ranges = pipeline->sample_ranges;
    round.n_ranges = attribute_list_unsampled(pipeline->attribute, now, pipeline->sample_ranges,
                                              RANGES_PER_ROUND);
    r = sampler_round(pipeline->sampler, &round);
    for (size_t i = 0; i < pipeline->n_sample_targets; i++)
        follow_target(pipeline, &pipeline->sample_targets[i]);
    return r;
}
