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

static void exclude_planned(struct model_run *run)
{
    struct config *config;

    if (!workload_has_plan(run))
        return;
    config = model_run_config(run);
    model_add_rule(&config->exclude, RULE_COMM, "postgres");
    pipeline_commit(run->pipeline, config);
}

/* Named after the bug: moves that waited were made after a reload that excluded their process. */
static void what_is_excluded_by_a_reload_never_moves_after_it(void **state)
{
    struct model_run *run = *state;
    const struct model_process *process = workload_add(run, WORKLOAD_PID, "postgres");

    run->before_dispatch = exclude_planned;
    model_run_rounds(run, WORKLOAD_LONG);
    assert_int_equal(model_n_calls(&run->model, MODEL_CALL_MOVE, WORKLOAD_PID), 0);
    assert_int_equal(model_pages_on(process, 0), WORKLOAD_PAGES);
    assert_string_equal(model_run_state(run, WORKLOAD_PID), "excluded");
}

static void hold_planned(struct model_run *run)
{
    if (workload_has_plan(run))
        pipeline_hold(run->pipeline, true);
}

static void nothing_moves_while_held(void **state)
{
    struct model_run *run = *state;
    const struct model_process *process = workload_add(run, WORKLOAD_PID, "postgres");

    run->before_dispatch = hold_planned;
    model_run_rounds(run, WORKLOAD_LONG);
    assert_int_equal(model_pages_on(process, 0), WORKLOAD_PAGES);
    assert_string_equal(model_run_status(run).state, "paused");
    assert_string_equal(model_run_state(run, WORKLOAD_PID), "observed");
    commit_rate(run, 500);
    model_run_rounds(run, 3);
    assert_string_equal(model_run_status(run).state, "paused");
    run->before_dispatch = NULL;
    pipeline_hold(run->pipeline, false);
    model_run_rounds(run, 4);
    assert_true(model_remote_permyriad(&run->model, process) <= 500);
    assert_string_equal(model_run_status(run).state, "balancing");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workload_setup, workload_teardown)
    const struct CMUnitTest tests[] = {
        TEST(rate_changes_on_reload),
        TEST(nothing_is_sampled_without_a_source),
        TEST(what_is_excluded_by_a_reload_never_moves_after_it),
        TEST(nothing_moves_while_held),
    };

    return cmocka_run_group_tests_name("pipeline-reload", tests, NULL, NULL);
}
