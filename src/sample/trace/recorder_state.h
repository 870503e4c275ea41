#pragma once
/*
 * The recorder's own struct, shared by its wrappers.
 */
#include <pthread.h>

#include "sample/trace/recorder.h"
#include "sample/trace/trace_write.h"
#include "util/hash.h"

/* A file that was read: repeats of the same text are not written again. */
struct recorded_file {
    uint64_t key;  /* of its path */
    uint64_t hash; /* of its text */
    size_t size;
    uint64_t round; /* that it was last read in */
    UT_hash_handle hh;
};

/* A process as it was last written; loop thread only. */
struct recorded_process {
    pid_t pid; /* key */
    struct process cheap;
    uint64_t detail_hash, mems_hash; /* 0: not written */
    uint64_t scan;
    UT_hash_handle hh;
};

struct recorder {
    pthread_mutex_t mutex; /* guards the fields up to `files` */
    struct trace_writer writer;
    int error; /* positive errno that stopped it; 0: none */
    bool stopped;
    uint64_t n_rounds;
    struct recorded_file *files;
    /* loop thread only: */
    bool stop_told;
    size_t n_lost;
    uint64_t n_scans;
    struct recorded_process *processes;
    struct node *room; /* [n_node_ids] as last written */
    struct host host;
    struct host_ops host_ops;
    struct procs procs;
    struct procs_ops procs_ops;
    struct access_sink sink;
};

/* Locks for writing. Return: false, unlocked, when nothing is written any more. */
bool recorder_begin(struct recorder *recorder);
void recorder_end(struct recorder *recorder);

#define RECORDER_HASH_START UINT64_C(0xcbf29ce484222325)
/* FNV-1a of 64 bits, continued from `hash`. */
uint64_t recorder_hash(uint64_t hash, const void *bytes, size_t size);
