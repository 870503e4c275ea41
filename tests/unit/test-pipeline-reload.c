/*
 * Settings that a stage keeps for itself follow a reload.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "workload.h"

static void commit_rate(struct model_run *run, unsigned rate_hz)
{
    struct config *config = model_run_config(run);

    config->rate_hz = rate_hz;
    pipeline_commit(run->pipeline, config);
}

/* Named after the bug: a new `rate` was accepted on reload and changed nothing. */
static void rate_changes_on_reload(void **state)
{
    struct model_run *run = *state;
    const struct model_process *process = workload_add(run, WORKLOAD_PID, "postgres");
    unsigned before = pipeline_config(run->pipeline)->rate_hz;

    model_run_rounds(run, 1);
    assert_int_equal(process->asked_hz, 4 * before);
    commit_rate(run, 2 * before);
    model_run_rounds(run, 1);
    assert_int_equal(process->asked_hz, 8 * before);
    assert_int_equal(run->n_log, 0);
}

static void nothing_is_sampled_without_a_source(void **state)
{
    struct model_run *run = *state;

    workload_add(run, WORKLOAD_PID, "postgres");
    model_run_sample(run, (struct source){0});
    commit_rate(run, 1000);
    model_run_rounds(run, 2);
    assert_int_equal(model_run_status(run).n_samples, 0);
    assert_string_equal(model_run_status(run).state, "idle");
    assert_string_equal(model_run_status(run).sources, "none");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workload_setup, workload_teardown)
    const struct CMUnitTest tests[] = {
        TEST(rate_changes_on_reload),
        TEST(nothing_is_sampled_without_a_source),
    };

    return cmocka_run_group_tests_name("pipeline-reload", tests, NULL, NULL);
}
