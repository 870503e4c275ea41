#pragma once
/*
 * Sample: who accessed what. Every source yields the same record.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/host.h"
#include "util/cleanup.h"
#include "util/worker.h"

enum access_kind {
    ACCESS_READ,
    ACCESS_WRITE,
    ACCESS_READ_WRITE,
};

enum access_source {
    ACCESS_SOURCE_TIMER,
    ACCESS_SOURCE_REPLAY,
    ACCESS_SOURCE_COUNT
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
};

/* Where accesses go; called in the loop thread. */
struct access_sink {
    void (*push)(void *userdata, const struct access *accesses, size_t n);
    void *userdata;
};

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
};

/* A source as the sampler sees it; `self` is made by the source's own constructor. */
struct source_ops {
    const char *name;
    /* Takes what the rings hold; accesses may arrive later, through worker requests. */
    int (*drain)(void *self);
    /* Fds that become readable when a ring is half full; NULL when there are none. */
    const int *(*fds)(void *self, size_t *np);
    const struct sample_counts *(*counts)(void *self);
    /* Samples per second and CPU from now on. NULL: has no rate. Return: 0 or a negative errno. */
    int (*set_rate)(void *self, unsigned rate_hz);
    void (*free)(void *self);
};

struct source {
    const struct source_ops *ops;
    void *self;
};

struct source_options {
    unsigned rate_hz;     /* samples per second and CPU */
    const bool *cpu_skip; /* [n_cpu_ids] no events on these (isolated or offline) */
    int n_cpu_ids;
    const struct host *host;  /* code bytes are read through it, in workers */
    struct worker_pool *pool; /* requests go to lane 0 */
    struct access_sink sink;
    struct sample_filter filter;
};

enum {
    SOURCE_UNAVAILABLE = 1, /* reason filled in: call, errno, what to change; one line */
};

struct source_reason {
    char text[256];
};

/*
 * The timer source: perf software cpu-clock with user registers; data addresses are computed from
 * the instructions at the sampled IP. x86-64 only.
 * Return: 0, SOURCE_UNAVAILABLE, or a negative errno.
 */
int timer_new(struct source *source, const struct source_options *options,
              struct source_reason *reason);

void source_deinit(struct source *source);
