#pragma once
/*
 * Scope facts: what is known of targets and their cgroups from one round to the next: the cgroup in
 * perf's hierarchy, how crowded it is, what failed there, what covers the target.
 */

#include "sample/perf/perf_kernel.h"
#include "sample/retry.h"
#include "sample/scope/cgroup_mounts.h"
#include "sample/scope/scope_plan.h"
#include "util/hash.h"

struct scope_cgroup {
    char *path; /* key */
    size_t n_processes;
    uint64_t counted_nsec; /* 0: never */
    struct retry retry;    /* of opening its events */
    unsigned seen;         /* facts.round that a target was in it */
    UT_hash_handle hh;
};

struct scope_process {
    pid_t pid; /* key */
    uint64_t start_ticks;
    char *v1_path;                   /* only where the hierarchy is v1; NULL: none */
    unsigned looked;                 /* facts.round of that; 0: never */
    struct scope_plan_choice choice; /* of the last plan; its cgroup is a scope_cgroup's path */
    unsigned seen;
    UT_hash_handle hh;
};

struct scope_facts {
    const struct host *host;
    struct perf_kernel kernel;
    struct perf_event_attr attr; /* what is tried at a cgroup that failed */
    int cpu;                     /* and where */
    struct cgroup_mounts mounts;
    struct retry mount_retry; /* looked for again then, while there is none */
    struct scope_cgroup *cgroups;
    struct scope_process *processes;
    unsigned round; /* since the start, 1 in the first */
};

void scope_facts_deinit(struct scope_facts *facts);

/*
 * Looks at the targets of a round: plan[n_targets], whose strings live until the next call, and
 * processes[n_targets]. Return: 0 or -ENOMEM.
 */
int scope_facts_look(struct scope_facts *facts, const struct sample_round *round,
                     enum sample_scope scope, struct scope_plan_target *plan,
                     struct scope_process **processes);

/* Where perf's hierarchy is mounted; NULL: nowhere. */
const char *scope_facts_mount(const struct scope_facts *facts);
struct scope_process *scope_facts_process(const struct scope_facts *facts, pid_t pid);
/* NULL: not known. */
struct scope_cgroup *scope_facts_cgroup(const struct scope_facts *facts, const char *path);
