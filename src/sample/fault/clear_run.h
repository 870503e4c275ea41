#pragma once
/*
 * Clear run: what a worker does for write_fault. It looks at a process and, if asked to and if
 * the guard agrees, clears its soft-dirty bits. Plain data in, plain data out.
 */
#include <stdbool.h>
#include <stdint.h>

#include "numabd/host.h"
#include "sample/fault/fault_guard.h"
#include "sample/proc_usage.h"

/* Clocks in nanoseconds; called in workers. */
struct clear_clock {
    uint64_t (*now)(void *userdata); /* CLOCK_MONOTONIC, as in the records of perf */
    uint64_t (*cpu)(void *userdata); /* CPU time of the calling thread */
    void *userdata;
};

/* Input of a look; a clear needs all. */
struct clear_task {
    pid_t pid;
    uint64_t start_ticks;
    bool clear;
    double sec_per_page;
};

struct clear_result {
    enum fault_verdict verdict; /* FAULT_CLEAR after a mere look: it is still the same process */
    struct proc_usage usage;    /* right before the clear */
    uint64_t begin_nsec;        /* of the clear or look, CLOCK_MONOTONIC */
    uint64_t clear_nsec;        /* CPU time of the clear */
};

/* Return: 0, also for a process that was refused, or -ENOMEM. */
int clear_run(const struct host *host, const struct clear_clock *clock,
              const struct clear_task *task, struct clear_result *result);

struct clear_clock clear_clock_live(void);
