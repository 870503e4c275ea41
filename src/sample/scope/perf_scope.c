/*
 * What is closed stays readable until the next read has taken its last records; scope_round.c opens
 * and closes.
 */
#include "sample/scope/perf_scope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample/perf/perf_refusal.h"
#include "sample/scope/scope_state.h"

#define MLOCK_KB_DEFAULT 516 /* of kernel.perf_event_mlock_kb where it cannot be read */

static void scope_size_rings(struct perf_scope *scope, size_t record_bytes)
{
    struct scope_ring_budget budget = {
        .page_bytes = (size_t)sysconf(_SC_PAGESIZE),
        .mlock_bytes = 1024 * scope_read_number(scope, "proc/sys/kernel/perf_event_mlock_kb",
                                                MLOCK_KB_DEFAULT),
        .n_cpus = scope_cpus_count_wanted(&scope->cpus),
    };

    if (budget.n_cpus == 0)
        budget.n_cpus = 1;
    for (size_t i = 0; i < scope->events.n_kinds; i++)
        if (!scope->events.kinds[i].no_sample)
            budget.bytes_per_second += (uint64_t)scope->options.rate_hz * record_bytes;
    scope->cpus.ring_bytes = scope_ring_bytes(&budget);
    scope->thread_ring_bytes = scope_ring_bytes_thread(&budget);
}

/* All kinds at a thread of ours, or, where the PMU knows no threads, at one CPU. */
static int scope_try(struct perf_scope *scope, enum scope_place_type type,
                     struct source_reason *reason)
{
    const struct scope_place_name name = {.type = type};
    const struct scope_sync sync = {
        .events = &scope->events,
        .cpus = &scope->cpus,
        .thread_ring_bytes = scope->thread_ring_bytes,
    };
    struct scope_place *place;
    struct scope_failure failure;
    int r;

    r = scope_place_get(&scope->places, &name, (size_t)scope->cpus.n, scope->events.n_kinds,
                        &place);
    if (r < 0)
        return r;
    place->rate_hz = scope->options.rate_hz;
    if (type == SCOPE_PLACE_PMU)
        place->n_slots = (size_t)scope_first_cpu(scope) + 1;
    r = scope_place_sync(place, &sync);
    failure = place->failure;
    scope_place_drop(&scope->places, place, &scope->events);
    scope_cpus_sweep(&scope->cpus, &scope->events);
    scope_events_sweep(&scope->events);
    if (r < 0 || !failure.error)
        return r;
    return scope_refuse(scope, &failure, reason);
}

static int scope_probe(struct perf_scope *scope, struct source_reason *reason)
{
    int r;

    if (scope_first_cpu(scope) < 0)
        return perf_refusal_no_cpu(reason);
    r = scope_try(scope, SCOPE_PLACE_THREAD, reason);
    if (r == 0)
        r = scope_try(scope, SCOPE_PLACE_PMU, reason);
    scope->events.n_interrupts = 0;
    return r;
}

/* Of the first kind that a cgroup can have. */
static struct perf_event_attr first_attr(const struct scope_events *events)
{
    size_t kind = 0;

    while (kind + 1 < events->n_kinds && events->kinds[kind].system)
        kind++;
    return events->kinds[kind].attr;
}

int perf_scope_new_from_kernel(struct perf_scope **scopep, const struct perf_scope_options *options,
                               const struct perf_kernel *kernel, struct source_reason *reason)
{
    CLEANUP(perf_scope_freep) struct perf_scope *scope = NULL;
    int r;

    if (options->n_events == 0 || options->n_events > PERF_SCOPE_EVENTS_MAX ||
        options->source->rate_hz == 0)
        return -EINVAL;
    scope = calloc(1, sizeof *scope);
    if (!scope)
        return -ENOMEM;
    scope->options = *options->source;
    scope->events.kernel = scope->facts.kernel = *kernel;
    scope->events.n_kinds = options->n_events;
    memcpy(scope->events.kinds, options->events, options->n_events * sizeof *options->events);
    scope->events.epoll_fd = options->source->epoll_fd;
    scope->facts.host = options->source->host;
    scope->facts.attr = first_attr(&scope->events);
    r = scope_cpus_init(&scope->cpus, options->source->cpu_skip, options->source->n_cpu_ids);
    if (r == 0)
        r = scope_look(scope);
    if (r < 0)
        return r;
    scope_size_rings(scope, options->record_bytes);
    r = scope_probe(scope, reason);
    if (r)
        return r;
    *scopep = TAKE(scope);
    return 0;
}

int perf_scope_new(struct perf_scope **scopep, const struct perf_scope_options *options,
                   struct source_reason *reason)
{
    const struct perf_kernel kernel = perf_kernel_live();

    return perf_scope_new_from_kernel(scopep, options, &kernel, reason);
}

static void scope_drop_all(struct perf_scope *scope)
{
    struct scope_place *place, *next;

    HASH_ITER (hh, scope->places, place, next)
        scope_place_drop(&scope->places, place, &scope->events);
}

struct perf_scope *perf_scope_free(struct perf_scope *scope)
{
    if (!scope)
        return NULL;
    scope_drop_all(scope);
    scope_cpus_deinit(&scope->cpus, &scope->events);
    scope_events_deinit(&scope->events);
    scope_facts_deinit(&scope->facts);
    free(scope);
    return NULL;
}

/* One pass over one ring. */
struct reading {
    struct perf_scope *scope;
    const struct scope_ring *ring;
    void (*sample)(void *userdata, size_t event, uint64_t period,
                   const struct perf_event_header *record);
    void *userdata;
};

static void on_record(void *userdata, const struct perf_event_header *record)
{
    struct reading *reading = userdata;
    const struct scope_event *event = NULL;

    if (record->size >= sizeof *record + sizeof(uint64_t))
        event = scope_events_find(&reading->scope->events, *(const uint64_t *)(record + 1));
    if (!event || event->ring != reading->ring) {
        reading->scope->n_stray++;
        return;
    }
    if (reading->scope->events.kinds[event->kind].attr.freq)
        reading->scope->events.n_interrupts++;
    reading->sample(reading->userdata, event->kind,
                    scope_event_period_at(event, *reading->ring->ring.tail), record);
}

void perf_scope_read(struct perf_scope *scope,
                     void (*sample)(void *userdata, size_t event, uint64_t period,
                                    const struct perf_event_header *record),
                     void *userdata)
{
    struct reading reading = {.scope = scope, .sample = sample, .userdata = userdata};

    for (size_t i = 0; i < scope->events.n_rings; i++) {
        reading.ring = scope->events.rings[i];
        if (reading.ring->map)
            ring_read(&reading.ring->ring, &scope->ring_counts, on_record, &reading);
    }
    scope_events_sweep(&scope->events);
    scope_go_on(scope);
}

/* value x enabled / running, for counters that had to share the PMU. */
static uint64_t count_scaled(const struct perf_kernel_count *count)
{
    if (count->running_nsec == 0 || count->running_nsec >= count->enabled_nsec)
        return count->value;
    return (uint64_t)((double)count->value * (double)count->enabled_nsec /
                      (double)count->running_nsec);
}

static uint64_t place_read(const struct perf_scope *scope, const struct scope_place *place,
                           size_t event)
{
    const struct perf_kernel *kernel = &scope->events.kernel;
    uint64_t sum = 0;

    for (size_t slot = 0; slot < place->n_slots; slot++) {
        const struct scope_event *open = place->events[slot * scope->events.n_kinds + event];
        struct perf_kernel_count count;

        if (open && kernel->ops->read(kernel->self, open->fd, &count) == 0)
            sum += count_scaled(&count);
    }
    return sum;
}

/* However many targets it covers, each of its events is read once a round. */
static uint64_t place_count(const struct perf_scope *scope, struct scope_place *place, size_t event)
{
    struct scope_sum *sum = &place->sums[event];

    if (sum->round != scope->facts.round)
        *sum = (struct scope_sum){.count = place_read(scope, place, event),
                                  .round = scope->facts.round};
    return sum->count;
}

static bool place_covers(const struct scope_place *place, const struct scope_process *process)
{
    switch (place->type) {
    case SCOPE_PLACE_CGROUP:
        return process->choice.cover == SCOPE_COVER_CGROUP &&
               !strcmp(place->cgroup, process->choice.cgroup);
    case SCOPE_PLACE_THREAD:
        return process->choice.cover == SCOPE_COVER_THREADS && place->pid == process->pid;
    case SCOPE_PLACE_SYSTEM:
    case SCOPE_PLACE_PMU:
        return process->choice.cover != SCOPE_COVER_NONE;
    }
    return false;
}

int perf_scope_count(struct perf_scope *scope, size_t event, const struct sample_target *target,
                     uint64_t *countp)
{
    const struct scope_process *process = scope_facts_process(&scope->facts, target->pid);
    struct scope_place *place, *next;
    bool found = false;

    *countp = 0;
    if (!process || process->start_ticks != target->start_ticks || event >= scope->events.n_kinds)
        return PERF_SCOPE_UNCOUNTED;
    HASH_ITER (hh, scope->places, place, next) {
        if (!place_covers(place, process) || !scope_place_is_open(place, scope->events.n_kinds))
            continue;
        *countp += place_count(scope, place, event);
        found = true;
    }
    return found ? 0 : PERF_SCOPE_UNCOUNTED;
}

static const char *note_text(const struct perf_scope *scope)
{
    static const char *const texts[] = {
        [SCOPE_PLAN_AS_ASKED] = NULL,
        [SCOPE_PLAN_NO_CGROUP] = "a target has no cgroup of its own",
        [SCOPE_PLAN_MANY_THREADS] = "the targets have too many threads",
    };

    if (scope_failure_is_shortage(&scope->lack))
        return "open files or ring memory ran out";
    if (scope->lack.error)
        return "some events are not permitted";
    return texts[scope->note];
}

bool perf_scope_lacks(const struct perf_scope *scope, struct source_reason *reason)
{
    if (!scope->lack.error)
        return false;
    (void)scope_refuse(scope, &scope->lack, reason);
    return true;
}

static void count_places(struct perf_scope *scope)
{
    const struct scope_place *place, *next;
    struct perf_scope_counts *counts = &scope->counts;

    counts->n_cgroups = counts->n_threads = 0;
    counts->whole_system = false;
    HASH_ITER (hh, scope->places, place, next) {
        bool open = scope_place_is_open(place, scope->events.n_kinds);

        counts->n_cgroups += open && place->type == SCOPE_PLACE_CGROUP;
        counts->n_threads += open && place->type == SCOPE_PLACE_THREAD;
        counts->whole_system |= open && place->type == SCOPE_PLACE_SYSTEM;
    }
    counts->n_cpus = 0;
    for (int cpu = 0; cpu < scope->cpus.n; cpu++)
        counts->n_cpus += scope->cpus.items[cpu].ring != NULL;
}

const struct perf_scope_counts *perf_scope_counts(struct perf_scope *scope)
{
    struct perf_scope_counts *counts = &scope->counts;

    count_places(scope);
    counts->n_lost = scope->ring_counts.n_lost;
    counts->n_throttled = scope->ring_counts.n_throttled;
    counts->n_unknown = scope->ring_counts.n_unknown + scope->n_stray;
    counts->n_corrupt = scope->ring_counts.n_corrupt;
    counts->n_interrupts = scope->events.n_interrupts;
    counts->n_events = scope->events.n_open;
    counts->n_rings = 0;
    for (size_t i = 0; i < scope->events.n_rings; i++)
        counts->n_rings += !scope->events.rings[i]->retired;
    counts->n_open_failures = scope->events.n_failures;
    counts->note = note_text(scope);
    return counts;
}

/* "3 cgroups", with the `s` where it belongs; nothing for 0. */
static void tell(FILE *out, const char *comma, unsigned n, const char *noun)
{
    if (n > 0)
        fprintf(out, "%s%u %s%s", comma, n, noun, n == 1 ? "" : "s");
}

static void tell_events(FILE *out, const struct perf_scope_counts *counts)
{
    fprintf(out, "%s", counts->whole_system ? "whole system" : "");
    tell(out, "", counts->n_cgroups, "cgroup");
    tell(out, counts->n_cgroups ? ", " : "", counts->n_threads, "thread");
    tell(out, counts->whole_system || counts->n_cgroups || counts->n_threads ? ", " : "",
         counts->n_events, "event");
    tell(out, " at ", counts->n_cpus, "CPU");
}

void perf_scope_describe(struct perf_scope *scope, char *text, size_t size)
{
    const struct perf_scope_counts *counts = perf_scope_counts(scope);
    const unsigned n_skipped = scope_cpus_count_skipped(&scope->cpus);
    CLEANUP(fclosep) FILE *out = size > 0 ? fmemopen(text, size, "w") : NULL;

    if (!out)
        return;
    if (counts->n_events == 0)
        fprintf(out, "no events");
    else
        tell_events(out, counts);
    if (n_skipped)
        fprintf(out, ", nothing at %u isolated CPU%s", n_skipped, n_skipped == 1 ? "" : "s");
    if (counts->note)
        fprintf(out, " (%s)", counts->note);
}
