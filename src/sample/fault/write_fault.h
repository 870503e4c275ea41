#pragma once
/*
 * The write_fault source behind its self-test, with events and a clock of its own.
 */
#include "numabd/sample.h"
#include "sample/fault/clear_run.h"
#include "sample/scope/perf_scope.h"

/* Targets with a window at the same time: bounds events, memory and clears in a row. */
#define WRITE_FAULT_WINDOWS_MAX 16

/* The functions of sample/scope/perf_scope.h; a test puts a model behind them. */
struct write_fault_events {
    int (*open)(struct perf_scope **scopep, const struct perf_scope_options *options,
                struct source_reason *reason);
    struct perf_scope *(*close)(struct perf_scope *scope);
    int (*round)(struct perf_scope *scope, const struct sample_round *round,
                 struct source_reason *reason);
    void (*read)(struct perf_scope *scope,
                 void (*sample)(void *userdata, size_t event, uint64_t period,
                                const struct perf_event_header *record),
                 void *userdata);
    const struct perf_scope_counts *(*counts)(struct perf_scope *scope);
    bool (*lacks)(const struct perf_scope *scope, struct source_reason *reason);
};

struct write_fault_seams {
    const struct write_fault_events *events;
    struct clear_clock clock;
    double fault_sec; /* CPU time that a fault costs, above 0 */
};

/* Return: 0, SOURCE_UNAVAILABLE when perf refuses the events, or a negative errno. */
int write_fault_new_from_seams(struct source *source, const struct source_options *options,
                               const struct write_fault_seams *seams, struct source_reason *reason);

/* The events of page faults, as the source opens them. `options` outlives the scope. */
int fault_events_open(const struct source_options *options, const struct write_fault_events *events,
                      struct perf_scope **scopep, struct source_reason *reason);
