#pragma once
/*
 * Perf scope: the events of one source, opened where its targets run, and the rings that they write
 * to. Shared by all sources that sample through perf.
 *
 * A *place* is a cgroup (one event per CPU, PERF_FLAG_PID_CGROUP), a thread, or the whole system
 * (one event per CPU); each place has its own rate. All per-CPU events of a CPU write into that
 * CPU's one ring; a thread's event has a small ring of its own.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "numabd/sample.h"
#include "util/cleanup.h"

#define PERF_SCOPE_EVENTS_MAX 8

/* What is opened at each place. */
struct perf_scope_event {
    /* sample_type must hold PERF_SAMPLE_IDENTIFIER: records then begin with the event's id. The
       scope fills in watermarks and the rate: sample_freq where freq is set, else a sample_period
       in nanoseconds. */
    struct perf_event_attr attr;
    bool leads;     /* the event behind it is opened in one group with it and this one as leader */
    bool system;    /* the PMU knows no cgroups or threads: per CPU for the whole system */
    bool no_sample; /* counts or leads only: the rate does not concern it */
    bool fixed_period; /* attr.sample_period stays as given: so many events, not nanoseconds */
    const bool *cpus;  /* [n_cpu_ids] only on these (hybrid PMUs); NULL: all */
};

struct perf_scope_options {
    const struct source_options *source;
    const struct perf_scope_event *events; /* copied; `cpus` is not */
    size_t n_events;                       /* at most PERF_SCOPE_EVENTS_MAX */
    size_t record_bytes; /* of a typical sample: rings are sized by it and the rate */
};

struct perf_scope_counts {
    uint64_t n_lost, n_throttled, n_unknown, n_corrupt;
    uint64_t n_interrupts; /* samples that the events' own time stands for, dropped ones included */
    unsigned n_cgroups, n_threads; /* places now */
    bool whole_system;
    unsigned n_events, n_rings; /* open now */
    unsigned n_cpus;            /* that have a ring now */
    uint64_t n_open_failures;
    const char *note; /* why the places are not those asked for, in few words; NULL: they are */
};

struct perf_scope;

/*
 * Opens one event of each kind for this thread and closes it again, so that what is not allowed or
 * not known is told at once. Return: 0, SOURCE_UNAVAILABLE with the reason, or a negative errno.
 */
int perf_scope_new(struct perf_scope **scopep, const struct perf_scope_options *options,
                   struct source_reason *reason);
/* The same behind another kernel; what it points to outlives the scope. */
struct perf_kernel;
int perf_scope_new_from_kernel(struct perf_scope **scopep, const struct perf_scope_options *options,
                               const struct perf_kernel *kernel, struct source_reason *reason);
struct perf_scope *perf_scope_free(struct perf_scope *scope);
CLEANUP_DEFINE(struct perf_scope *, perf_scope_free)

/*
 * Opens, closes and re-rates so that the targets are covered. On a large machine that takes a
 * while; what does not fit into the loop's slice is done by the reads that follow. Return: as
 * source_ops.round.
 */
int perf_scope_round(struct perf_scope *scope, const struct sample_round *round,
                     struct source_reason *reason);

/*
 * Calls sample(userdata, event, period, record) for each sample in the rings, in order per ring.
 * `event` is the index in options->events, `period` what the sample stands for at the rate that
 * held when it was taken: nanoseconds where the scope sets a period, attr.sample_period where that
 * is fixed, 0 where freq is set (the record tells).
 */
void perf_scope_read(struct perf_scope *scope,
                     void (*sample)(void *userdata, size_t event, uint64_t period,
                                    const struct perf_event_header *record),
                     void *userdata);

/*
 * The sums of the no_sample counting events `event` of the place that covers the target, since it
 * was opened, scaled to the time that it was enabled where the PMU was shared. It falls back when a
 * thread or a CPU goes, or the place changes. Each CPU is interrupted once a round: until the next
 * one the sums stay the same.
 * Return: 0, or PERF_SCOPE_UNCOUNTED when no such place exists.
 */
enum {
    PERF_SCOPE_UNCOUNTED = 1
};
int perf_scope_count(struct perf_scope *scope, size_t event, const struct sample_target *target,
                     uint64_t *countp);

const struct perf_scope_counts *perf_scope_counts(struct perf_scope *scope);

/*
 * For source_ops.lacks: is there an event that should be open and was refused, for want of files or
 * ring memory, or of permission?
 */
bool perf_scope_lacks(const struct perf_scope *scope, struct source_reason *reason);

/* For source_ops.describe: "3 cgroups, 12 events at 4 CPUs". */
void perf_scope_describe(struct perf_scope *scope, char *text, size_t size);
