#pragma once
/*
 * The processes of a model machine, and discover looking at them: two nodes with memory, one with
 * CPUs only.
 */
#include "fake-procs.h"
#include "numabd/config.h"
#include "numabd/discover.h"
#include "util/nsec.h"

#define MIB ((uint64_t)1 << 20)
#define HOUR (3600 * NSEC_PER_SEC) /* longer than any pause after a scan here */
#define DISCOVER_WORLD_SELF 50     /* numabd's own pid */

struct discover_world {
    struct fake_procs fake;
    struct node nodes[4];
    struct topology topology;
    struct config *config;
    struct procs procs;
    struct discover *discover;
    uint64_t now;
};

/* cmocka's, with a world as the state. */
int discover_world_setup(void **state);
int discover_world_teardown(void **state);

/* The processes of the machine; they stay the caller's. */
void discover_world_set(struct discover_world *world, struct fake_process *items, size_t n_items);

/* A round that scans, since the last one is an hour ago. */
void discover_world_scan(struct discover_world *world);

/* Of a pid that must be a target. */
enum reason discover_world_reason(const struct discover_world *world, pid_t pid);
uint64_t discover_world_count(const struct discover_world *world, enum reason reason);
