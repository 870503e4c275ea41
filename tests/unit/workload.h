#pragma once
/*
 * The pipeline on a machine of two nodes, and processes whose memory wants to move there.
 */
#include "model_run.h"

#define WORKLOAD_PID 100
#define WORKLOAD_TWIN 200
#define WORKLOAD_PAGES (64 * MODEL_MIB_PAGES)
#define WORKLOAD_ROUNDS 3 /* to be local, from the first sample: two passes, and one more */
#define WORKLOAD_LONG 24  /* by then what must not happen would have happened */

/* CPUs of its threads: two on each node. */
extern const int workload_cpus[4];

/* cmocka's, with a model_run as the state. */
int workload_setup(void **state);
int workload_teardown(void **state);

/* Four threads on two nodes, all memory on node 0. */
struct model_process *workload_add(struct model_run *run, pid_t pid, const char *comm);
/* The same for a process that has no memory. */
void workload_fill(struct model_run *run, struct model_process *process);

/* Rounds until its memory is local, within WORKLOAD_ROUNDS. */
void workload_assert_local(struct model_run *run, const struct model_process *process);
/* Calls of any kind that concern the process. */
size_t workload_n_calls(const struct model_run *run, pid_t pid);
/* Did the last round plan any move? */
bool workload_has_plan(const struct model_run *run);
