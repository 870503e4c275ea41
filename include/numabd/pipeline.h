#pragma once
/*
 * The pipeline: one round after the other, and the state of all stages.
 */
#include <stdint.h>
#include <sys/types.h>

#include "numabd/config.h"
#include "numabd/discover.h"
#include "numabd/host.h"
#include "numabd/report.h"
#include "numabd/sampler.h"
#include "numabd/topology.h"
#include "util/cleanup.h"
#include "util/nsec.h"
#include "util/worker.h"

struct pipeline;
struct plan;

/* What options point to stays the caller's and outlives the pipeline; config is taken over. */
struct pipeline_options {
    const char *root;          /* of /proc and /sys; NULL: there are none, the caller keeps the
                                  topology's room up to date (replay) */
    struct topology *topology; /* its room is re-read each round */
    const struct procs *procs;
    const struct host *host;
    struct worker_pool *pool;
    struct config *config;
    pid_t self_pid;
    uint64_t now;
    /* One line for the log; called for events that an administrator should see, each once. */
    void (*log)(void *userdata, const char *line);
    void *userdata;
};

/* Lanes that the worker pool needs. */
size_t pipeline_n_lanes(const struct topology *topology);

/* Return: 0 or a negative errno (config is then freed too). */
int pipeline_new(struct pipeline **pipelinep, const struct pipeline_options *options);
/* Free the pool before the pipeline: requests point into it. */
struct pipeline *pipeline_free(struct pipeline *pipeline);
CLEANUP_DEFINE(struct pipeline *, pipeline_free)

/* For a source's constructor. */
struct access_sink pipeline_sink(struct pipeline *pipeline);
struct sample_filter pipeline_filter(struct pipeline *pipeline);

/*
 * The sources in use (taken over). Without any nothing is sampled; while none sees who accesses
 * memory nothing is decided either, and `why` says why, in one line.
 */
void pipeline_set_sampler(struct pipeline *pipeline, struct sampler *sampler);
/* Something about the machine stands against balancing: `why`, for good. */
void pipeline_set_idle(struct pipeline *pipeline, const char *why);
/*
 * The journal of changes outside numabd (the caller's, outlives the pipeline): with it
 * kernel.numa_balancing may be paused.
 */
struct undo;
void pipeline_set_undo(struct pipeline *pipeline, struct undo *undo);
/* Puts back what was changed. Return: how much could not be. */
size_t pipeline_undo(struct pipeline *pipeline);
bool pipeline_is_barred(const struct pipeline *pipeline);
/* Barred, or no source sees who accesses memory at the moment. */
bool pipeline_is_idle(const struct pipeline *pipeline);

/*
 * Has nothing been sampled for PIPELINE_QUIET_NSEC, so that rounds may be rare? Whoever wakes up is
 * seen when its ring fills or at the next drain.
 */
#define PIPELINE_QUIET_NSEC (10 * NSEC_PER_SEC)
bool pipeline_is_quiet(const struct pipeline *pipeline, uint64_t now);
/* For so long nothing has been sampled. */
uint64_t pipeline_quiet_nsec(const struct pipeline *pipeline, uint64_t now);

/* Takes the samples that are there. Return: 0 or a negative errno. */
int pipeline_drain(struct pipeline *pipeline);

/* One round. cpu_nsec: CPU time of the whole daemon so far. Return: 0 or a negative errno. */
int pipeline_round(struct pipeline *pipeline, uint64_t now, uint64_t cpu_nsec);

/* What the last round decided; valid until the next. */
const struct plan *pipeline_plan(const struct pipeline *pipeline);

/* A new configuration (taken over) holds from the next round on; what was learned is kept. */
void pipeline_commit(struct pipeline *pipeline, struct config *config);
const struct config *pipeline_config(const struct pipeline *pipeline);

/*
 * Somebody wants nothing to be moved until he says otherwise: what waits is taken back, and the
 * rest goes on as with `observe`. A reload does not end it.
 */
void pipeline_hold(struct pipeline *pipeline, bool held);

/* A request to this process is late; one that was late has returned. */
void pipeline_on_late(struct pipeline *pipeline, pid_t pid, const char *name);
void pipeline_on_returned(struct pipeline *pipeline, pid_t pid);
/* So many workers are lost: at WORKER_LOST_MAX nothing is moved until some return. */
void pipeline_on_lost(struct pipeline *pipeline, size_t n_lost);

/* How a source runs now, in a few words; "" when it does not run. */
void pipeline_describe_source(const struct pipeline *pipeline, const char *name, char *text,
                              size_t size);

/* Reports, as report.h says. */
int pipeline_status(const struct pipeline *pipeline, uint64_t now, struct status_report *report);
int pipeline_vmas(const struct pipeline *pipeline, uid_t uid, const struct vmas_query *query,
                  uint64_t now, struct vmas_page *page);
int pipeline_processes(const struct pipeline *pipeline, uid_t uid, struct process_reports *reports);
