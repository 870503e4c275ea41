#pragma once
/*
 * Migrate between a plan and a model machine, for its tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "attribute/ranges.h"
#include "attribute/tally.h"
#include "model_machine.h"
#include "numabd/attribute.h"
#include "numabd/migrate.h"
#include "util/array.h"
#include "util/nsec.h"

#define PID 100
#define TWIN 200
#define SELF 2
#define RANGES 100 /* of each process */
#define OUTCOMES_MAX 64

/* Nodes 0, 2 and 5 have memory. */
static const struct model_shape sparse = {
    .n_nodes = 6,
    .cpus = {1, 0, 1, 0, 0, 1},
    .memory_mib = {1024, 0, 1024, 0, 0, 1024},
    .distances = {{10, 20, 20, 20, 20, 20},
                  {20, 10, 20, 20, 20, 20},
                  {20, 20, 10, 20, 20, 20},
                  {20, 20, 20, 10, 20, 20},
                  {20, 20, 20, 20, 10, 20},
                  {20, 20, 20, 20, 20, 10}},
};

struct seen {
    pid_t pid;
    int node;
    size_t n_ranges;
    bool recalled;
    uint64_t n_pages; /* found, wherever they ended */
    bool gone;
    int call_error;
    struct ledger ledger;
};

struct bed {
    struct model model;
    struct tree tree;
    struct topology *topology;
    struct host host;
    struct procs procs;
    struct config *config;
    struct worker_pool *pool;
    struct discover *discover;
    struct attribute *attribute;
    struct migrate *migrate;
    struct plan plan;
    struct seen seen[OUTCOMES_MAX];
    size_t n_seen;
};

static inline void on_outcome(void *userdata, const struct outcome *outcome)
{
    struct bed *bed = userdata;

    uint64_t n_pages = 0;

    assert_true(bed->n_seen < OUTCOMES_MAX);
    for (size_t i = 0; i < outcome->n_ranges; i++)
        n_pages += (uint64_t)tally_total_n(&outcome->ranges[i].after);
    bed->seen[bed->n_seen++] = (struct seen){.pid = outcome->pid,
                                             .node = outcome->node,
                                             .n_ranges = outcome->n_ranges,
                                             .n_pages = n_pages,
                                             .gone = outcome->gone,
                                             .recalled = outcome->recalled,
                                             .call_error = outcome->call_error,
                                             .ledger = outcome->ledger};
}

static inline void add_process(struct bed *bed, pid_t pid)
{
    struct model_process *process = model_add_process(&bed->model, pid, "worker");

    model_add_vma(&bed->model, process, RANGES * 512, 0);
    model_add_workers(process, (int[]){0}, 1);
}

/* One access to each range, twice: the first ones only ask for the maps. */
static inline void touch_ranges(struct bed *bed, pid_t pid)
{
    const struct target *target = discover_find(bed->discover, pid);

    assert_non_null(target);
    for (int turn = 0; turn < 2; turn++) {
        for (uint64_t i = 0; i < RANGES; i++) {
            const struct access access = {.when_nsec = bed->model.now,
                                          .pid = pid,
                                          .tid = pid,
                                          .addr = MODEL_BASE + i * RANGE_BYTES,
                                          .weight_sec = 0.004};

            assert_int_equal(attribute_push(bed->attribute, target, &access, 1), 0);
        }
        while (worker_pool_dispatch(bed->pool, 0))
            ;
    }
}

static inline void bed_new_migrate(struct bed *bed, const struct host *host,
                                   struct worker_pool *pool)
{
    const struct migrate_options options = {.host = host,
                                            .topology = bed->topology,
                                            .pool = pool,
                                            .on_outcome = on_outcome,
                                            .userdata = bed};

    migrate_free(bed->migrate);
    assert_int_equal(migrate_new(&bed->migrate, &options), 0);
}

static inline int setup(void **state)
{
    struct bed *bed = calloc(1, sizeof(*bed));
    struct attribute_options options;

    model_init(&bed->model, &sparse, 1);
    tree_init(&bed->tree);
    model_write_tree(&bed->model, &bed->tree);
    assert_int_equal(topology_new(&bed->topology, bed->tree.root), 0);
    assert_int_equal(bed->topology->n_memory_nodes, 3);
    bed->host = model_host(&bed->model);
    bed->procs = model_procs(&bed->model);
    assert_int_equal(config_new_default(&bed->config), 0);
    assert_int_equal(worker_pool_new_inline(&bed->pool), 0);
    options = (struct attribute_options){
        .topology = bed->topology, .host = &bed->host, .pool = bed->pool};
    assert_int_equal(attribute_new(&bed->attribute, &options), 0);
    assert_int_equal(discover_new(&bed->discover, &bed->procs, bed->topology, SELF), 0);
    bed_new_migrate(bed, &bed->host, bed->pool);
    add_process(bed, PID);
    add_process(bed, TWIN);
    assert_int_equal(discover_round(bed->discover, bed->config, bed->model.now), 0);
    touch_ranges(bed, PID);
    touch_ranges(bed, TWIN);
    *state = bed;
    return 0;
}

static inline int teardown(void **state)
{
    struct bed *bed = *state;

    worker_pool_free(bed->pool);
    migrate_free(bed->migrate);
    attribute_free(bed->attribute);
    discover_free(bed->discover);
    config_free(bed->config);
    topology_free(bed->topology);
    plan_deinit(&bed->plan);
    tree_deinit(&bed->tree);
    model_deinit(&bed->model);
    free(bed);
    return 0;
}

/* Ranges [first, first + n) of a process to a node. */
static inline void plan_moves(struct bed *bed, pid_t pid, int node, uint64_t first, uint64_t n)
{
    struct plan *plan = &bed->plan;

    assert_int_equal(ARRAY_RESERVE(plan->moves, plan->cap, plan->n_moves + n), 0);
    for (uint64_t i = first; i < first + n; i++) {
        uint64_t start = MODEL_BASE + i * RANGE_BYTES;

        plan->moves[plan->n_moves++] = (struct move){.pid = pid,
                                                     .start = start,
                                                     .end = start + RANGE_BYTES,
                                                     .node = node,
                                                     .bytes = RANGE_BYTES};
    }
}

static inline void submit(struct bed *bed)
{
    assert_int_equal(migrate_submit(bed->migrate, &bed->plan, bed->discover, bed->attribute), 0);
    bed->plan.n_moves = 0;
}

static inline void dispatch(struct bed *bed)
{
    while (worker_pool_dispatch(bed->pool, 0))
        ;
}

static inline const struct range *find_range(const struct bed *bed, pid_t pid, uint64_t i)
{
    return space_find_range(attribute_find(bed->attribute, pid), MODEL_BASE + i * RANGE_BYTES);
}

static inline uint64_t allowance(const struct bed *bed, int node)
{
    uint64_t rate_bytes[6];

    migrate_allowance(bed->migrate, bed->config, rate_bytes);
    return rate_bytes[node];
}
