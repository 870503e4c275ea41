#pragma once
/*
 * A kernel for perf_scope: CPUs that go offline, cgroups that are removed, threads that end, limits
 * that are reached; with rings in memory that the test writes to.
 */
#include "sample/perf/perf_kernel.h"

#define FAKE_PERF_EVENTS 2048
#define FAKE_PERF_CPUS 64

struct fake_perf_event {
    bool open;
    int fd;
    struct perf_event_attr attr;
    pid_t tid; /* as opened; 0 with a cgroup */
    int cpu, group_fd;
    const char *cgroup; /* path of the directory, NULL: not of a cgroup */
    uint64_t id, period;
    int output_fd; /* -1: its own map */
    void *map;
    size_t map_bytes;
    uint64_t running_nsec, value, enabled_nsec;
    bool watched, ended;
    bool detached; /* its CPU was offline since */
};

struct fake_perf_dir {
    char path[128];
    uint64_t id; /* 0: removed */
    size_t n_processes;
    int fd; /* -1: not open */
};

struct fake_perf_process {
    pid_t pid;
    pid_t tids[128];
    size_t n;
};

struct fake_perf {
    struct perf_kernel kernel; /* for the code under test */
    struct fake_perf_event events[FAKE_PERF_EVENTS];
    size_t n_events;
    struct fake_perf_dir dirs[32];
    size_t n_dirs;
    struct fake_perf_process processes[16];
    size_t n_processes;
    bool offline[FAKE_PERF_CPUS];
    pid_t isolated_tid; /* may run on skipped CPUs only */
    int refuse_open, refuse_cgroup, refuse_map, refuse_period, refuse_id,
        refuse_list;           /* errno; 0: none */
    pid_t refuse_tid;          /* EACCES */
    size_t files_max, n_files; /* EMFILE beyond; 0: no limit */
    size_t n_opens, n_reads /* not of the rings' owners */, n_periods, n_lists, n_counts;
    int next_fd;
    uint64_t now; /* CLOCK_MONOTONIC */
};

void fake_perf_init(struct fake_perf *fake);
/* Checks that nothing is left open or mapped. */
void fake_perf_deinit(struct fake_perf *fake);

void fake_perf_dir(struct fake_perf *fake, const char *path, uint64_t id, size_t n_processes);
void fake_perf_process(struct fake_perf *fake, pid_t pid, const pid_t *tids, size_t n);

/* Open events without the rings' owners; of a cgroup, thread (tid) or CPU where those are given. */
size_t fake_perf_count(const struct fake_perf *fake, const char *cgroup, pid_t tid, int cpu);
/* The first open one of the same, or NULL. Arguments: NULL, 0 and -2 stand for any. */
struct fake_perf_event *fake_perf_find(struct fake_perf *fake, const char *cgroup, pid_t tid,
                                       int cpu);
/* The CPU goes offline and comes back: the events that it had stay open and silent. */
void fake_perf_bounce(struct fake_perf *fake, int cpu);
/* Writes a record into the ring of the event. */
void fake_perf_write(struct fake_perf *fake, const struct fake_perf_event *event,
                     const void *record, size_t size);
