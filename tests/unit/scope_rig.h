#pragma once
/*
 * A perf scope of cpu-clock events on the fake kernel, with four CPUs, cgroup2 and no targets yet.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_host.h"
#include "fake_perf.h"
#include "sample/scope/perf_scope.h"
#include "util/nsec.h"

#define RIG_CPUS 4
#define RIG_RATE 250

struct scope_rig_seen {
    size_t event;
    uint64_t period, number; /* the record's second word */
};

struct scope_rig {
    struct fake_perf perf;
    struct fake_host host;
    bool skip[FAKE_PERF_CPUS];
    struct source_options options;
    struct perf_scope_event kinds[PERF_SCOPE_EVENTS_MAX];
    size_t n_kinds;
    struct perf_scope *scope;
    struct source_reason reason;
    struct sample_target targets[32];
    size_t n_targets;
    uint64_t now;
    struct scope_rig_seen seen[64];
    size_t n_seen;
};

/* Prepares; the test may change options, kinds and files before it opens. */
void scope_rig_init(struct scope_rig *rig);
/* Return: of perf_scope_new. */
int scope_rig_open(struct scope_rig *rig);
void scope_rig_deinit(struct scope_rig *rig);

/* A process with threads pid, pid + 1, ... in a cgroup, whose directory is made. NULL: unknown. */
struct sample_target *scope_rig_target(struct scope_rig *rig, pid_t pid, const char *cgroup,
                                       unsigned n_threads);
void scope_rig_drop_target(struct scope_rig *rig, pid_t pid);

/* A round one second later. Return: of perf_scope_round. */
int scope_rig_round(struct scope_rig *rig);
/* Puts a sample that the event took into its ring. */
void scope_rig_sample(struct scope_rig *rig, const struct fake_perf_event *event, uint64_t number);
/* Reads all rings into seen[0..n_seen). */
void scope_rig_read(struct scope_rig *rig);
/* What describe says; valid until the next call. */
const char *scope_rig_describe(struct scope_rig *rig, char text[128]);
