#pragma once
/*
 * The pipeline's own struct, shared by the round (pipeline.c) and the reports (pipeline_report.c).
 */
#include "decide/pressure.h"
#include "migrate/kernel_balancing.h"
#include "numabd/attribute.h"
#include "numabd/decide.h"
#include "numabd/migrate.h"
#include "numabd/pipeline.h"
#include "report/hour.h"

/* A remote share at or below this counts as converged, in permyriad. */
#define CONVERGED_PERMYRIAD 500

/* A process with late requests out. */
struct late_process {
    pid_t pid;
    unsigned n_requests; /* never 0 */
};

struct pipeline {
    struct pipeline_options options;
    struct config *config;
    struct sampler *sampler; /* NULL: nothing is sampled */
    char why[256];           /* what stands against balancing on this machine, "" */
    struct discover *discover;
    struct attribute *attribute;
    struct migrate *migrate;
    struct candidate *candidates;
    size_t n_candidates, candidates_cap;
    uint64_t *rate_bytes; /* [n_node_ids] */
    struct plan plan;
    struct sample_target *sample_targets;
    size_t n_sample_targets, sample_targets_cap;
    struct sample_range *sample_ranges;
    size_t sample_ranges_cap;
    uint64_t spent_nsec, spent_cpu_nsec; /* when, and what numabd had used, at the last round */
    struct late_process *late;
    size_t n_late, late_cap;
    bool exhausted; /* as many workers are lost as may be */
    bool held;      /* pipeline_hold */
    struct kernel_balancing kernel;
    struct pressure pressure;
    /* for reports */
    struct topology_online online;
    uint64_t now; /* of the last round */
    uint64_t n_rounds;
    uint64_t sampled_round, converged_round;
    uint64_t pushed_nsec; /* the last access of any target */
    int remote_first_permyriad, remote_permyriad;
    struct hour hour;
    uint64_t cost_nsec, cost_moving_nsec, cost_cpu_nsec; /* at the last cost report */
    unsigned cost_permyriad, moving_permyriad;
};

/* To options.log. */
void __attribute__((format(printf, 2, 3)))
pipeline_log(struct pipeline *pipeline, const char *format, ...);

/* The process as a target that is balanced; NULL: it is none. */
const struct target *pipeline_target(const struct pipeline *pipeline, pid_t pid);
/* Fills in the candidates. Return: 0 or -ENOMEM. */
int pipeline_list(struct pipeline *pipeline);

/* For migrate: `userdata` is the pipeline. */
void pipeline_on_outcome(void *userdata, const struct outcome *outcome);

bool pipeline_is_stuck(const struct pipeline *pipeline, pid_t pid);
/* Is nothing moved, of any process? */
bool pipeline_observes(const struct pipeline *pipeline);
/* What is wrong and what to do, in one line. */
void pipeline_describe_exhausted(const struct pipeline *pipeline, char *why, size_t size);

/* Why nothing is balanced, "" when it is. */
const char *pipeline_why(const struct pipeline *pipeline);

/* Tells the sources what to sample. Return: 0 or a negative errno. */
int pipeline_sample(struct pipeline *pipeline, uint64_t now);

/* Pauses the kernel's own balancing, or puts it back. Return: 0 or -ENOMEM. */
int pipeline_follow_kernel(struct pipeline *pipeline);

/* What is known of one process. Return: 0 or -ENOMEM. */
int pipeline_fill_process(const struct pipeline *pipeline, const struct target *target,
                          struct process_report *report);

/* Overall remote share and convergence after a round. */
void pipeline_close_round(struct pipeline *pipeline, uint64_t now, uint64_t cpu_nsec);
