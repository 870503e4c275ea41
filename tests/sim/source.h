#pragma once
/*
 * The source of accesses on a simulated machine: at each tick of a CPU, what the thread whose turn
 * it is just waited for or did. Far memory keeps a thread waiting longer, so that it is seen more
 * often than it is accessed, as a timer sees it.
 */
#include "numabd/sample.h"
#include "sim/machine.h"

/* Share of a thread's time that waits for local memory: as numabd assumes (decide.h). */
#define SIM_MEMORY_BOUND 0.3

struct sim_source {
    struct sim_machine *machine;
    struct access_sink sink;
    struct sample_filter filter;
    /* May an access to addr be seen? NULL: all are. */
    bool (*sees)(void *userdata, pid_t pid, uint64_t addr);
    void *sees_userdata;
    unsigned rate_hz; /* of all processes; 0: as numabd asks */
    uint64_t drained_nsec;
    double longest[SIM_NODES_MAX]; /* time of an access from each node; [0] 0: not reckoned yet */
    struct sample_counts counts;
    struct access *batch;
    size_t batch_cap;
};

/* The source as the sampler takes it; `source` stays the caller's. */
struct source sim_source(struct sim_source *source);
void sim_source_deinit(struct sim_source *source);
