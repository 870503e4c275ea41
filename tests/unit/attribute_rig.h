#pragma once
/*
 * Attribute with an inline pool, a fake host and two nodes (0: CPUs 0 and 1; 8: CPUs 2 and 3; no
 * node between them; CPU 4 is on no node).
 */
#include "fake_host.h"
#include "numabd/attribute.h"
#include "space_rig.h"

#define SEC ((uint64_t)1000000000)

struct attribute_rig {
    struct fake_host fake;
    struct topology topology;
    int cpu_node[5];
    struct worker_pool *pool;
    struct config *config;
    struct attribute *attribute;
    struct target target; /* SPACE_PID */
    uint64_t now;         /* of the last round or push */
    bool held;            /* requests wait: attribute_rig_round does not run them */
};

/* Maps of SPACE_PID, its numa_maps; the policy of thread SPACE_PID is "default". */
void attribute_rig_init(struct attribute_rig *rig, const char *maps, const char *numa_maps);
void attribute_rig_deinit(struct attribute_rig *rig);

void attribute_rig_set_maps(struct attribute_rig *rig, const char *maps);

/* n samples of thread SPACE_PID, a nanosecond apart. */
void attribute_rig_push(struct attribute_rig *rig, int cpu, uint64_t addr, unsigned n);

/* Runs requests and what they cause. */
void attribute_rig_dispatch(struct attribute_rig *rig);

/* A round, `sec` seconds after the last one, and its requests. */
void attribute_rig_round(struct attribute_rig *rig, uint64_t sec);

struct space *attribute_rig_space(const struct attribute_rig *rig);
struct range *attribute_rig_range(const struct attribute_rig *rig, uint64_t start);
enum reason attribute_rig_policy(const struct attribute_rig *rig, uint64_t addr);
