#pragma once
/*
 * The unchanged pipeline on a model machine, with a virtual clock and requests that run inline.
 */
#include "model_machine.h"
#include "numabd/pipeline.h"
#include "util/worker.h"

#define MODEL_SELF 2 /* numabd's own pid */

struct model_run {
    struct model model;
    struct tree tree;
    struct topology *topology;
    struct procs procs;
    struct host host;
    struct worker_pool *pool;
    struct pipeline *pipeline;
    unsigned n_log;
    char log[512]; /* last line */
    /* Called between the plan of a round and the requests that carry it out. */
    void (*before_dispatch)(struct model_run *run);
};

void model_run_init(struct model_run *run, const struct model_shape *shape, uint64_t seed);
void model_run_deinit(struct model_run *run);

/* Another source instead of the model's (taken over); ops NULL: none. */
void model_run_sample(struct model_run *run, struct source source);

void model_run_rounds(struct model_run *run, unsigned n);
/*
 * Rounds until `process` is at 5 % remote or less by its page table. Return: how many it took from
 * its first sample on, or limit + 1 when it did not get there.
 */
unsigned model_run_until_local(struct model_run *run, const struct model_process *process,
                               unsigned limit);

struct status_report model_run_status(const struct model_run *run);
/* As shown by `numabctl ps`; a static string. */
const char *model_run_state(const struct model_run *run, pid_t pid);

/* A copy of the configuration in force, to be changed and handed to pipeline_commit. */
struct config *model_run_config(const struct model_run *run);
void model_add_rule(struct rule_list *list, enum rule_field field, const char *pattern);

/* Machines. */
extern const struct model_shape model_two_nodes;   /* 4 CPUs */
extern const struct model_shape model_four_nodes;  /* 8 CPUs */
extern const struct model_shape model_memory_node; /* nodes 0 and 1, and node 2 without CPUs */
extern const struct model_shape model_fake_numa;   /* two nodes at distance 10 */
