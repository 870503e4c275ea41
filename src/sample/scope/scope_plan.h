#pragma once
/*
 * Scope plan: which kind of place covers each target. Pure.
 */
#include <stddef.h>

#include "numabd/sample.h"

/* A process with at most this many threads may get an event for each: as many files and rings as a
   cgroup's events on a machine of 32 CPUs. */
#define SCOPE_PLAN_SMALL_THREADS 32
/* One that has them keeps them up to here, so that it does not go to and fro. */
#define SCOPE_PLAN_SMALL_KEPT 48
/* Together: with rings of 20 KiB they take 10 MiB; beyond that events per CPU are the cheaper. */
#define SCOPE_PLAN_THREADS_MAX 512
/* A cgroup is crowded when it holds this many processes for each target, and at least so many:
   below, most of its samples are of targets, or it hardly runs. */
#define SCOPE_PLAN_CROWD_FACTOR 8
#define SCOPE_PLAN_CROWD_MIN 16

struct scope_plan_target {
    const char *cgroup; /* path in the hierarchy of perf; NULL: unknown or not usable */
    bool cgroup_failed; /* events could not be opened for it: another place is needed */
    size_t n_processes; /* in that cgroup and below; 0: not known */
    unsigned n_threads;
    bool had_threads; /* per-thread events cover it now */
};

enum scope_cover {
    SCOPE_COVER_NONE,
    SCOPE_COVER_CGROUP,
    SCOPE_COVER_THREADS,
    SCOPE_COVER_SYSTEM,
};

struct scope_plan_choice {
    enum scope_cover cover;
    const char *cgroup; /* of COVER_CGROUP: the target's own or one above */
};

/* Why the whole system is sampled, or another place than was asked for. */
enum scope_plan_note {
    SCOPE_PLAN_AS_ASKED,
    SCOPE_PLAN_NO_CGROUP,    /* a target with many threads has no cgroup that can be used */
    SCOPE_PLAN_MANY_THREADS, /* small targets have too many threads together */
};

/*
 * Fills choices[n]. When one target needs the whole system all have it, since no place may lie in
 * another: samples would count twice. For the same reason the topmost cgroup covers those below.
 * Return: 0 or -ENOMEM.
 */
int scope_plan_make(enum sample_scope scope, const struct scope_plan_target *targets, size_t n,
                    struct scope_plan_choice *choices, enum scope_plan_note *notep);
