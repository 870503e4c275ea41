#include "workload.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdlib.h>

const int workload_cpus[4] = {0, 1, 2, 3};

int workload_setup(void **state)
{
    struct model_run *run = calloc(1, sizeof(*run));

    if (!run)
        return -1;
    model_run_init(run, &model_two_nodes, 1);
    *state = run;
    return 0;
}

int workload_teardown(void **state)
{
    model_run_deinit(*state);
    free(*state);
    return 0;
}

void workload_fill(struct model_run *run, struct model_process *process)
{
    model_add_vma(&run->model, process, WORKLOAD_PAGES, 0);
    model_add_workers(process, workload_cpus, 4);
}

struct model_process *workload_add(struct model_run *run, pid_t pid, const char *comm)
{
    struct model_process *process = model_add_process(&run->model, pid, comm);

    workload_fill(run, process);
    return process;
}

void workload_assert_local(struct model_run *run, const struct model_process *process)
{
    assert_true(model_run_until_local(run, process, WORKLOAD_ROUNDS) <= WORKLOAD_ROUNDS);
}

size_t workload_n_calls(const struct model_run *run, pid_t pid)
{
    size_t n = 0;

    for (size_t i = 0; i < run->model.n_calls; i++)
        n += run->model.calls[i].pid == pid;
    return n;
}

bool workload_has_plan(const struct model_run *run)
{
    return model_run_status(run).range_reasons.n[REASON_NONE] > 0;
}
