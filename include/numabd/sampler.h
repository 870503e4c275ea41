#pragma once
/*
 * Sampler: the sources of one machine. It makes those that are wanted and possible, tells them what
 * to sample and how often, drops one that fails and tries it again later.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "numabd/config.h"
#include "numabd/pace.h"
#include "numabd/sample.h"
#include "util/cleanup.h"

/* A kind of source, as src/sample/sources.c lists them. */
struct source_kind {
    const char *name; /* as in numabd.conf */
    /* NULL for one that is only added. */
    int (*make)(struct source *source, const struct source_options *options,
                struct source_reason *reason);
    bool sees_who;     /* thread and CPU of accesses: without such a source nothing is decided */
    bool by_rule;      /* only used while [write_fault] names a process */
    bool is_spare;     /* only used while no source before it in the list that sees who works */
    unsigned n_events; /* perf events that it opens at most for one CPU of one cgroup */
    const char *sees, *blind; /* what it sees and what it cannot, a clause each, for people */
    const char *only;         /* whose accesses, where not everybody's; NULL: everybody's */
};

struct sampler_options {
    struct source_options source;    /* epoll_fd is the sampler's own */
    const struct source_kind *kinds; /* in order of preference; they outlive the sampler */
    size_t n_kinds;                  /* bit i of config's source_mask is kind i */
    uint64_t sample_cost_nsec;       /* what one sample takes of the sampled CPU's time */
    /* One line when a source drops out or comes back. */
    void (*log)(void *userdata, const char *line);
    void *userdata;
};

/* A kind and how it fares. */
struct source_state {
    const struct source_kind *kind;
    bool wanted; /* by the configuration */
    bool works;
    char text[256];              /* works: what it does now; else why not, in one line */
    struct sample_counts counts; /* since it was made */
};

struct sampler;

/* Makes the sources. Return: 0 (also when none works) or a negative errno. */
int sampler_new(struct sampler **samplerp, const struct sampler_options *options,
                const struct config *config, uint64_t now);
/*
 * Adds a source that is made already (taken over); it is always wanted and, once it has failed,
 * never made again. Return: 0 or -ENOMEM.
 */
int sampler_add(struct sampler *sampler, const struct source_kind *kind, struct source source);
/* Free the pool of the options before: requests point to sources. */
struct sampler *sampler_free(struct sampler *sampler);
CLEANUP_DEFINE(struct sampler *, sampler_free)

/* Readable when sampler_drain has something to do. */
int sampler_fd(const struct sampler *sampler);

/* Does a source that sees who work? */
bool sampler_sees_who(const struct sampler *sampler);
/* Why none does, in one line; "" when one does. */
const char *sampler_why(const struct sampler *sampler);
/* Why those that work see some processes only, in one line; "" when one sees all, or none works. */
const char *sampler_gap(const struct sampler *sampler);

/* Takes what is there. Return: 0 or a negative errno. */
int sampler_drain(struct sampler *sampler);

/*
 * Samples per second and CPU from now on, for targets of a level: what
 * config's rate, sampling_budget and cpu_budget allow.
 */
unsigned sampler_rate(const struct sampler *sampler, enum pace_level level);

/* What a round costs: numabd used cpu_nsec (without page copying) in elapsed_nsec. */
void sampler_spend(struct sampler *sampler, uint64_t cpu_nsec, uint64_t elapsed_nsec);

/* Another configuration: rates and budgets change at once, sources with the next round. */
void sampler_configure(struct sampler *sampler, const struct config *config);

/* Tells the sources; drops and retries. Return: 0 or a negative errno. */
int sampler_round(struct sampler *sampler, const struct sample_round *round);

/* As source_ops.measure, of the first source that can. */
int sampler_measure(const struct sampler *sampler, const struct sample_target *target,
                    struct cpu_use *use);

/* State of kind `i`. */
size_t sampler_n_kinds(const struct sampler *sampler);
void sampler_state(const struct sampler *sampler, size_t i, struct source_state *state);
