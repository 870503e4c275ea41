#pragma once
/*
 * Sample: who accessed what. Every source yields the same record.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/host.h"
#include "numabd/topology.h"
#include "util/cleanup.h"
#include "util/worker.h"

enum access_kind {
    ACCESS_READ,
    ACCESS_WRITE,
    ACCESS_READ_WRITE,
    ACCESS_TOUCH, /* by whom is not known: tid 0, cpu -1, no weight */
};

enum access_source {
    ACCESS_SOURCE_MEM_EVENTS,
    ACCESS_SOURCE_TIMER,
    ACCESS_SOURCE_WRITE_FAULT,
    ACCESS_SOURCE_IDLE_PAGE,
    ACCESS_SOURCE_KVM,
    ACCESS_SOURCE_REPLAY,
    ACCESS_SOURCE_COUNT
};

/* Which memory answered, where the hardware tells. */
enum access_locality {
    ACCESS_LOCALITY_UNKNOWN,
    ACCESS_LOCALITY_CACHE, /* a cache: no memory was needed */
    ACCESS_LOCALITY_LOCAL,
    ACCESS_LOCALITY_REMOTE,
};

struct access {
    uint64_t when_nsec; /* CLOCK_MONOTONIC of the sample */
    pid_t pid, tid;
    int cpu;
    uint64_t addr;
    double weight_sec; /* CPU time that it stands for; a sample's weight is divided among its
                          addresses */
    enum access_kind kind;
    enum access_source source;
    enum access_locality locality;
};

/* What a source did to a process's pages. */
struct access_work {
    uint64_t n_armed;  /* base pages set up to show their next use */
    uint64_t n_faults; /* page faults caused that are not handed over as accesses */
};

/* Where accesses go; called in the loop thread. */
struct access_sink {
    void (*push)(void *userdata, const struct access *accesses, size_t n);
    void *userdata;
    /* NULL: not counted (call through access_sink_work). */
    void (*work)(void *userdata, pid_t pid, const struct access_work *work);
};

static inline void access_sink_work(const struct access_sink *sink, pid_t pid,
                                    const struct access_work *work)
{
    if (sink->work)
        sink->work(sink->userdata, pid, work);
}

/* Which processes are sampled; asked before anything of a sample is decoded or kept. */
struct sample_filter {
    bool (*wants)(void *userdata, pid_t pid);
    void *userdata;
};

struct sample_counts {
    uint64_t n_samples;    /* taken from the rings */
    uint64_t n_foreign;    /* of processes that are not targets, or stuck: dropped undecoded */
    uint64_t n_lost;       /* the kernel had no room in a ring */
    uint64_t n_unresolved; /* no address could be computed */
    uint64_t n_accesses;   /* handed to the sink */
    uint64_t n_interrupts; /* times that the source interrupted a CPU, as far as it can tell */
};

/* A target as sources see it. */
struct sample_target {
    pid_t pid;
    uint64_t start_ticks;
    uint64_t rss_bytes;
    unsigned n_threads;
    unsigned rate_hz;   /* samples per second and CPU that it deserves now */
    const char *cgroup; /* cgroup v2 path, NULL where unknown */
    bool allows_faults; /* a rule allows write_fault for it */
};

/* Memory of a target that matters now: accessed or to be judged. */
struct sample_range {
    pid_t pid;
    uint64_t start, end; /* [start, end) */
};

/* What each round tells the sources; valid during the call. */
struct sample_round {
    uint64_t now;                        /* CLOCK_MONOTONIC */
    const struct sample_target *targets; /* ascending pids, without stuck ones */
    size_t n_targets;
    const struct sample_range *ranges; /* by pid, then ascending */
    size_t n_ranges;
    /* What sources that are not paid by the rate may cost; both are 0 or more. */
    double sampling_budget; /* share of a target's CPU time */
    double cpu_budget;      /* numabd's own CPU time per second, for all it does */
};

enum {
    /* Reason filled in: call, errno, what to change; one line. */
    SOURCE_UNAVAILABLE = 1,
    SOURCE_UNMEASURED, /* nothing can be said (yet) */
};

struct cpu_use {
    double memory_bound; /* share of the time that waits for memory, 0 to 1 */
    double cpi;          /* cycles per instruction, above 0 */
};

struct source_reason {
    char text[256];
};

/* A source as the sampler sees it; `self` is made by the source's own constructor. */
struct source_ops {
    const char *name;
    /*
     * Follows the targets: opens, closes, re-rates, arms. NULL: nothing to do. Return: 0,
     * SOURCE_UNAVAILABLE when it cannot go on at all (the sampler frees it and tries again later),
     * or a negative errno. What concerns one target only is counted and skipped.
     */
    int (*round)(void *self, const struct sample_round *round, struct source_reason *reason);
    /* Takes what the rings hold; accesses may arrive later, through worker requests. */
    int (*drain)(void *self);
    const struct sample_counts *(*counts)(void *self);
    /* How it looks now, for status and doctor, in a few words: "12 cgroups, 96 events". NULL: none.
     */
    void (*describe)(void *self, char *text, size_t size);
    /*
     * Does it go on without something that it should have, so that some targets are seen worse or
     * not at all? The reason is then filled in, as for SOURCE_UNAVAILABLE; the sampler says once
     * that it began, and that it ended. NULL: never.
     */
    bool (*lacks)(void *self, struct source_reason *reason);
    /*
     * How the target used its CPU time since the last call for it. NULL: not measured.
     * Return: 0 or SOURCE_UNMEASURED (*use untouched).
     */
    int (*measure)(void *self, const struct sample_target *target, struct cpu_use *use);
    void (*free)(void *self);
};

struct source {
    const struct source_ops *ops;
    void *self;
};

/* Where events are opened. */
enum sample_scope {
    SAMPLE_SCOPE_AUTO, /* cgroups, threads of small targets in crowded ones, else the system */
    SAMPLE_SCOPE_CGROUP,
    SAMPLE_SCOPE_THREAD,
    SAMPLE_SCOPE_SYSTEM,
};

struct source_options {
    unsigned rate_hz; /* at the start, and rings are sized by it; then each target has its own */
    enum sample_scope scope;
    const bool *cpu_skip; /* [n_cpu_ids] no events on these (isolated) */
    int n_cpu_ids;
    int epoll_fd; /* fds that ask for a drain when readable are added here by the source, with
                     events EPOLLIN; -1: none */
    const struct topology *topology;
    const struct host *host;  /* files, code bytes and pages are read through it, in workers */
    struct worker_pool *pool; /* requests go to lane 0 */
    struct access_sink sink;
    struct sample_filter filter;
};

/*
 * Constructors. What options point to outlives the source. Return: 0, SOURCE_UNAVAILABLE, or a
 * negative errno.
 *
 * timer: perf software cpu-clock with user registers; data addresses are computed from the
 * instructions at the sampled IP. x86-64 only.
 */
int timer_new(struct source *source, const struct source_options *options,
              struct source_reason *reason);
/* mem_events: perf memory events of the PMU (Intel mem-loads and mem-stores, AMD IBS). */
int mem_events_new(struct source *source, const struct source_options *options,
                   struct source_reason *reason);
/* write_fault: soft-dirty bits cleared, then perf page fault events with address. */
int write_fault_new(struct source *source, const struct source_options *options,
                    struct source_reason *reason);
/* idle_page: which pages of the round's ranges were touched, not by whom (ACCESS_TOUCH). */
int idle_page_new(struct source *source, const struct source_options *options,
                  struct source_reason *reason);
/* kvm: vCPU threads of virtual machines stand for accesses to the memory of their guest node. */
int kvm_new(struct source *source, const struct source_options *options,
            struct source_reason *reason);

void source_deinit(struct source *source);
