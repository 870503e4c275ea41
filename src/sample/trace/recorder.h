#pragma once
/*
 * The recorder: writes a trace of what numabd is told and what it asks. It stands between the
 * pipeline and the host, the processes and the sources, hands everything through unchanged, and
 * notes it on the way.
 *
 * Calls of the host come from several threads, so that the file has a lock. When it cannot be
 * written any more, recording stops and everything else goes on.
 */
#include "sample/trace/trace.h"
#include "util/cleanup.h"

struct recorder;

/*
 * Makes the file, readable by its owner alone; one that exists, a link included, is refused with
 * -EEXIST. Return: 0 or a negative errno.
 */
int recorder_new(struct recorder **recorderp, const char *path);
/*
 * Closes the file; calls still go through. Where workers are lost in calls of the host the recorder
 * is left like this for ever, since they may come back to it.
 */
void recorder_stop(struct recorder *recorder);
struct recorder *recorder_free(struct recorder *recorder);
CLEANUP_DEFINE(struct recorder *, recorder_free)

/* The machine, once, before the first round. */
void recorder_start(struct recorder *recorder, const struct topology *topology, size_t page_bytes,
                    pid_t self_pid, uint64_t now);

/*
 * The same with a note of each use. What is given is handed through and outlives the recorder,
 * except `procs`, which is freed with the result.
 */
struct host recorder_host(struct recorder *recorder, const struct host *host);
struct procs recorder_procs(struct recorder *recorder, struct procs procs);
struct access_sink recorder_sink(struct recorder *recorder, struct access_sink sink);

/* As pipeline_on_late, pipeline_on_returned and pipeline_on_lost are told. */
void recorder_on_late(struct recorder *recorder, pid_t pid, const char *name);
void recorder_on_returned(struct recorder *recorder, pid_t pid);
void recorder_on_lost(struct recorder *recorder, size_t n_lost);

/* After each round at `now`: the room that it saw. Return: 0 or RECORDER_STOPPED. */
int recorder_round(struct recorder *recorder, const struct topology *topology, uint64_t now);

enum {
    RECORDER_STOPPED = 1, /* once: the file cannot be written; errno says why */
};
