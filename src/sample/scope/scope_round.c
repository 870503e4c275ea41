/*
 * A round goes through these steps:
 *
 *     look    which CPUs are online, in which cgroups the targets are; which events died with a CPU
 *     plan    which places cover them (scope_plan.c)
 *     apply   drop places that are not wanted, open and re-rate those that are (scope_place.c), in
 *             slices: the reads after the round go on where it stopped
 *     settle  when files or ring memory ran out: the whole system instead, which takes the least
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample/perf/perf_refusal.h"
#include "sample/scope/scope_state.h"

#define ACCOUNT_NSEC (10 * NSEC_PER_SEC) /* reading an event interrupts its CPU */

uint64_t scope_read_number(const struct perf_scope *scope, const char *path, uint64_t otherwise)
{
    const struct host *host = scope->options.host;
    CLEANUP(freep) char *text = NULL;
    unsigned long long value;
    size_t size = 0;

    if (host->ops->read_file(host->self, path, 32, &text, &size) ||
        sscanf(text, "%llu", &value) != 1)
        return otherwise;
    return value;
}

static bool any_freq(const struct scope_events *events)
{
    for (size_t i = 0; i < events->n_kinds; i++)
        if (events->kinds[i].attr.freq)
            return true;
    return false;
}

/* The kernel refuses a higher frequency, and lowers the limit when samples take it too long. */
static void look_at_rate_limit(struct perf_scope *scope)
{
    if (any_freq(&scope->events))
        scope->events.rate_max_hz =
            (unsigned)scope_read_number(scope, "proc/sys/kernel/perf_event_max_sample_rate", 0);
}

static int look_at_cpus(struct perf_scope *scope)
{
    const struct host *host = scope->options.host;
    CLEANUP(freep) char *text = NULL;
    size_t size = 0;

    (void)host->ops->read_file(host->self, "sys/devices/system/cpu/online", SIZE_MAX / 2, &text,
                               &size);
    return scope_cpus_see(&scope->cpus, text);
}

int scope_look(struct perf_scope *scope)
{
    look_at_rate_limit(scope);
    return look_at_cpus(scope);
}

int scope_first_cpu(const struct perf_scope *scope)
{
    for (int cpu = 0; cpu < scope->cpus.n; cpu++)
        if (scope_cpus_is_wanted(&scope->cpus, cpu))
            return cpu;
    return -1;
}

int scope_refuse(const struct perf_scope *scope, const struct scope_failure *failure,
                 struct source_reason *reason)
{
    return failure->map ? perf_refusal_map(failure->error, reason)
                        : perf_refusal_open(failure->error, scope->options.host, reason);
}

/* Marks a place as wanted at a rate; a place that is new brings along what failed before. */
static int want(struct perf_scope *scope, const struct scope_place_name *name, unsigned rate_hz)
{
    const struct scope_cgroup *cgroup;
    struct scope_place *place;
    int r;

    r = scope_place_get(&scope->places, name, (size_t)scope->cpus.n, scope->events.n_kinds, &place);
    if (r < 0)
        return r;
    scope->n_threads += !place->wanted && name->type == SCOPE_PLACE_THREAD;
    if (!place->wanted || rate_hz > place->rate_hz)
        place->rate_hz = rate_hz;
    place->wanted = true;
    if (name->type == SCOPE_PLACE_CGROUP &&
        (cgroup = scope_facts_cgroup(&scope->facts, name->cgroup)))
        place->retry = cgroup->retry;
    return 0;
}

/* When its threads cannot be listed (no file is left), those that were known go on. */
static int want_known_threads(struct perf_scope *scope, const struct sample_target *target)
{
    struct scope_place *place, *next;
    int r = 0;

    HASH_ITER (hh, scope->places, place, next) {
        const struct scope_place_name name = {
            .type = SCOPE_PLACE_THREAD,
            .pid = place->pid,
            .tid = place->tid,
            .start_ticks = target->start_ticks,
        };

        if (r == 0 && place->type == SCOPE_PLACE_THREAD && place->pid == target->pid)
            r = want(scope, &name, target->rate_hz);
    }
    return r;
}

static bool want_thread(struct perf_scope *scope, pid_t tid)
{
    const struct perf_kernel *kernel = &scope->events.kernel;

    return scope->n_threads < SCOPE_PLAN_THREADS_MAX &&
           (!scope->options.cpu_skip ||
            kernel->ops->may_run(kernel->self, tid, scope->options.cpu_skip,
                                 scope->options.n_cpu_ids));
}

/* A process that ends meanwhile has no threads. */
static int want_threads(struct perf_scope *scope, const struct sample_target *target)
{
    const struct perf_kernel *kernel = &scope->events.kernel;
    struct perf_kernel_tids tids = {0};
    int r;

    r = kernel->ops->list_threads(kernel->self, target->pid, &tids);
    if (r < 0 && r != -ENOENT && r != -ESRCH)
        r = r == -ENOMEM ? r : want_known_threads(scope, target);
    else
        r = 0;
    for (size_t i = 0; i < tids.n && r == 0; i++) {
        const struct scope_place_name name = {
            .type = SCOPE_PLACE_THREAD,
            .pid = target->pid,
            .tid = tids.items[i],
            .start_ticks = target->start_ticks,
        };

        if (want_thread(scope, tids.items[i]))
            r = want(scope, &name, target->rate_hz);
    }
    free(tids.items);
    return r;
}

static bool any_system_kind(const struct scope_events *events)
{
    for (size_t i = 0; i < events->n_kinds; i++)
        if (events->kinds[i].system)
            return true;
    return false;
}

static int want_target(struct perf_scope *scope, const struct sample_target *target,
                       const struct scope_plan_choice *choice)
{
    const struct scope_place_name cgroup = {.type = SCOPE_PLACE_CGROUP, .cgroup = choice->cgroup};
    const struct scope_place_name whole = {.type = SCOPE_PLACE_SYSTEM};
    const struct scope_place_name pmu = {.type = SCOPE_PLACE_PMU};
    int r = 0;

    switch (choice->cover) {
    case SCOPE_COVER_CGROUP:
        r = want(scope, &cgroup, target->rate_hz);
        break;
    case SCOPE_COVER_THREADS:
        r = want_threads(scope, target);
        break;
    case SCOPE_COVER_SYSTEM:
        return want(scope, &whole, target->rate_hz);
    case SCOPE_COVER_NONE:
        return 0;
    }
    return r == 0 && any_system_kind(&scope->events) ? want(scope, &pmu, target->rate_hz) : r;
}

/* Targets that deserve no samples now (rate 0) take no part, and no place is opened for them. */
static size_t awake_targets(const struct sample_round *round, struct sample_target *awake)
{
    size_t n = 0;

    for (size_t i = 0; i < round->n_targets; i++)
        if (round->targets[i].rate_hz > 0)
            awake[n++] = round->targets[i];
    return n;
}

static int scope_plan(struct perf_scope *scope, const struct sample_round *round)
{
    const enum sample_scope wanted =
        retry_is_due(&scope->starved, round->now) ? scope->options.scope : SAMPLE_SCOPE_SYSTEM;
    const size_t n = round->n_targets;
    CLEANUP(freep) struct scope_plan_target *targets = calloc(n + 1, sizeof *targets);
    CLEANUP(freep) struct scope_plan_choice *choices = calloc(n + 1, sizeof *choices);
    CLEANUP(freep) struct scope_process **processes = calloc(n + 1, sizeof(void *));
    struct scope_place *place, *next;
    int r;

    if (!targets || !choices || !processes)
        return -ENOMEM;
    r = scope_facts_look(&scope->facts, round, wanted, targets, processes);
    if (r == 0)
        r = scope_plan_make(wanted, targets, n, choices, &scope->note);
    if (r < 0)
        return r;
    HASH_ITER (hh, scope->places, place, next)
        place->wanted = false;
    scope->n_threads = 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        processes[i]->choice = choices[i];
        r = want_target(scope, &round->targets[i], &choices[i]);
    }
    return r;
}

static void drop_unwanted(struct perf_scope *scope)
{
    struct scope_place *place, *next;

    HASH_ITER (hh, scope->places, place, next) {
        if (!place->wanted)
            scope_place_drop(&scope->places, place, &scope->events);
    }
}

static void remember(struct perf_scope *scope, const struct scope_place *place)
{
    struct scope_cgroup *cgroup;

    if (place->type == SCOPE_PLACE_CGROUP &&
        (cgroup = scope_facts_cgroup(&scope->facts, place->cgroup)))
        cgroup->retry = place->retry;
}

/* Return: 0 or -ENOMEM; *failure is the one that concerns most: a shortage before all else. */
static int scope_apply(struct perf_scope *scope, struct scope_failure *failure)
{
    const struct scope_sync sync = {
        .events = &scope->events,
        .cpus = &scope->cpus,
        .cgroup_mount = scope_facts_mount(&scope->facts),
        .thread_ring_bytes = scope->thread_ring_bytes,
        .now = scope->now,
    };
    struct scope_place *place, *next;
    uint64_t retry_nsec;
    int r;

    *failure = (struct scope_failure){0};
    scope->events.n_calls = 0;
    scope->unfinished = false;
    drop_unwanted(scope);
    HASH_ITER (hh, scope->places, place, next) {
        retry_nsec = place->retry.at_nsec;
        r = scope_place_sync(place, &sync);
        if (r < 0)
            return r;
        remember(scope, place);
        if (place->failure.error && !scope_failure_is_shortage(failure))
            *failure = place->failure;
        /* Once for each time that it failed, not in each round until it is tried again. */
        if (scope_failure_is_shortage(failure) && place->type == SCOPE_PLACE_SYSTEM &&
            place->retry.at_nsec != retry_nsec)
            scope_place_shrink(place, &sync, PERF_KERNEL_FILES_KEPT);
        scope->unfinished = scope_events_is_spent(&scope->events);
        if (scope_failure_is_shortage(failure) || scope->unfinished)
            break;
    }
    scope_cpus_sweep(&scope->cpus, &scope->events);
    return 0;
}

bool scope_has_whole_system(const struct perf_scope *scope)
{
    const struct scope_place *place;

    HASH_FIND_STR(scope->places, "s", place);
    return place;
}

/* A shortage lasts until the places that were given up for it fit again. */
static void scope_note_lack(struct perf_scope *scope, const struct scope_failure *failure)
{
    if (scope->unfinished)
        return;
    if (scope_failure_is_shortage(failure) || perf_refusal_is_denial(failure->error))
        scope->lack = *failure;
    else if (!scope->starved.delay_nsec)
        scope->lack = (struct scope_failure){0};
}

static int scope_follow(struct perf_scope *scope, const struct sample_round *round,
                        struct scope_failure *failure)
{
    int r;

    r = scope_plan(scope, round);
    if (r == 0)
        r = scope_apply(scope, failure);
    if (r == 0 && !scope_failure_is_shortage(failure) && !scope->unfinished &&
        retry_is_due(&scope->starved, round->now))
        scope->starved = (struct retry){0};
    if (r == 0)
        scope_note_lack(scope, failure);
    if (r < 0 || !scope_failure_is_shortage(failure) || scope_has_whole_system(scope))
        return r;
    retry_failed(&scope->starved, round->now);
    r = scope_plan(scope, round);
    return r < 0 ? r : scope_apply(scope, failure);
}

/* What fails is kept with its place, and told in the next round. */
void scope_go_on(struct perf_scope *scope)
{
    struct scope_failure failure;

    if (scope->unfinished)
        (void)scope_apply(scope, &failure);
}

static void scope_retire_cpu(struct perf_scope *scope, int cpu)
{
    struct scope_place *place, *next;

    HASH_ITER (hh, scope->places, place, next)
        scope_place_retire_cpu(place, &scope->events, cpu);
}

/* What is read here interrupts each CPU: seldom, and all at once. */
static void scope_account(struct perf_scope *scope)
{
    struct scope_event *event, *next;

    if (scope->now - scope->accounted_nsec < ACCOUNT_NSEC)
        return;
    scope->accounted_nsec = scope->now;
    HASH_ITER (hh, scope->events.by_id, event, next)
        scope_event_account(&scope->events, event);
    for (int cpu = 0; cpu < scope->cpus.n; cpu++)
        if (scope_cpus_has_died(&scope->cpus, &scope->events, cpu, scope->now))
            scope_retire_cpu(scope, cpu);
    scope_cpus_sweep(&scope->cpus, &scope->events);
}

/* Nothing is open, and that will not mend itself. */
static bool is_hopeless(const struct perf_scope *scope, const struct scope_failure *failure)
{
    return scope->events.n_open == 0 &&
           (scope_failure_is_shortage(failure) || perf_refusal_is_denial(failure->error));
}

int perf_scope_round(struct perf_scope *scope, const struct sample_round *round,
                     struct source_reason *reason)
{
    CLEANUP(freep) struct sample_target *targets = calloc(round->n_targets + 1, sizeof *targets);
    struct sample_round awake = *round;
    struct scope_failure failure = {0};
    int r;

    if (!targets)
        return -ENOMEM;
    awake.n_targets = awake_targets(round, targets);
    awake.targets = targets;
    scope->now = round->now;
    scope_account(scope);
    r = scope_look(scope);
    scope->facts.cpu = scope_first_cpu(scope);
    if (r == 0)
        r = scope_follow(scope, &awake, &failure);
    if (r < 0)
        return r;
    return is_hopeless(scope, &failure) ? scope_refuse(scope, &failure, reason) : 0;
}
