/*
 * Late requests, as the worker pool tells of them: who is stuck, until when, and what happens when
 * all workers that may be lost are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "pipeline_state.h"
#include "workload.h"

static void process_whose_late_code_read_returned_is_balanced_again(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");

    run->model.rate_hz = 100;
    model_run_rounds(run, 2);
    assert_non_null(attribute_find(run->pipeline->attribute, WORKLOAD_PID));
    pipeline_on_late(run->pipeline, WORKLOAD_PID, "timer");
    model_run_rounds(run, WORKLOAD_LONG);
    assert_string_equal(model_run_state(run, WORKLOAD_PID), "stuck");
    assert_int_equal(model_n_calls(&run->model, MODEL_CALL_MOVE, WORKLOAD_PID), 0);
    pipeline_on_returned(run->pipeline, WORKLOAD_PID);
    assert_string_not_equal(model_run_state(run, WORKLOAD_PID), "stuck");
    model_run_rounds(run, WORKLOAD_LONG);
    assert_true(model_remote_permyriad(&run->model, process) <= 500);
}

static void of_two_late_requests_one_returns(void **state)
{
    struct model_run *run = *state;

    workload_add(run, WORKLOAD_PID, "worker");
    run->model.rate_hz = 100;
    model_run_rounds(run, 1);
    pipeline_on_late(run->pipeline, WORKLOAD_PID, "timer");
    pipeline_on_late(run->pipeline, WORKLOAD_PID, "numa_maps");
    pipeline_on_late(run->pipeline, WORKLOAD_TWIN, "timer");
    pipeline_on_returned(run->pipeline, WORKLOAD_TWIN);
    pipeline_on_returned(run->pipeline, WORKLOAD_TWIN); /* once too often: nothing happens */
    pipeline_on_returned(run->pipeline, WORKLOAD_PID);
    model_run_rounds(run, WORKLOAD_LONG);
    assert_string_equal(model_run_state(run, WORKLOAD_PID), "stuck");
    assert_int_equal(run->model.n_migrated, 0);
    pipeline_on_returned(run->pipeline, WORKLOAD_PID);
    model_run_rounds(run, WORKLOAD_LONG);
    assert_true(run->model.n_migrated > 0);
}

static void late_planned(struct model_run *run)
{
    if (!workload_has_plan(run))
        return;
    run->before_dispatch = NULL;
    pipeline_on_late(run->pipeline, WORKLOAD_PID, "timer");
}

/* The moves return in time; the code read is still out. */
static void request_in_time_does_not_end_what_a_late_one_began(void **state)
{
    struct model_run *run = *state;

    workload_add(run, WORKLOAD_PID, "worker");
    run->before_dispatch = late_planned;
    while (run->before_dispatch)
        model_run_rounds(run, 1);
    assert_true(run->model.n_migrated > 0);
    assert_string_equal(model_run_state(run, WORKLOAD_PID), "stuck");
    assert_true(attribute_find(run->pipeline->attribute, WORKLOAD_PID)->stuck);
}

static void stuck_process_without_a_space_is_said_and_not_sampled(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");
    struct access access = {
        .pid = WORKLOAD_PID, .tid = WORKLOAD_PID, .addr = MODEL_BASE, .weight_sec = 1};

    pipeline_on_late(run->pipeline, WORKLOAD_PID, "timer");
    pipeline_on_late(run->pipeline, WORKLOAD_PID, "timer");
    model_run_rounds(run, WORKLOAD_LONG);
    run->model.sink.push(run->model.sink.userdata, &access, 1); /* on its way before */
    assert_int_equal(process->n_pushed, 0);
    assert_int_equal(workload_n_calls(run, WORKLOAD_PID), 0);
    assert_null(attribute_find(run->pipeline->attribute, WORKLOAD_PID));
    assert_string_equal(model_run_state(run, WORKLOAD_PID), "stuck");
    assert_int_equal(model_run_status(run).n_observed, 1);
    assert_int_equal(run->n_log, 1);
    assert_non_null(strstr(run->log, "100"));
    pipeline_on_returned(run->pipeline, WORKLOAD_PID);
    pipeline_on_returned(run->pipeline, WORKLOAD_PID);
    workload_assert_local(run, process);
}

static void when_all_workers_are_lost_it_observes_until_one_returns(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");
    struct status_report report;

    pipeline_on_late(run->pipeline, 4711, "maps");
    pipeline_on_late(run->pipeline, 4712, "maps");
    pipeline_on_lost(run->pipeline, WORKER_LOST_MAX - 1);
    assert_string_equal(model_run_status(run).state, "balancing");
    assert_int_equal(run->n_log, 2);
    pipeline_on_lost(run->pipeline, WORKER_LOST_MAX);
    pipeline_on_lost(run->pipeline, WORKER_LOST_MAX);
    assert_int_equal(run->n_log, 3);
    assert_non_null(strstr(run->log, "4711, 4712"));
    model_run_rounds(run, WORKLOAD_LONG);
    report = model_run_status(run);
    assert_string_equal(report.state, "observing");
    assert_non_null(strstr(report.why, "4711, 4712"));
    assert_int_equal(run->model.n_migrated, 0);
    assert_true(report.pages_observed > 0);
    assert_int_equal(report.n_observed, 1);
    assert_string_equal(model_run_state(run, WORKLOAD_PID), "observed");
    pipeline_on_lost(run->pipeline, WORKER_LOST_MAX - 1);
    workload_assert_local(run, process);
    assert_string_equal(model_run_status(run).state, "balancing");
    assert_string_equal(model_run_status(run).why, "");
    assert_int_equal(run->n_log, 3);
}

/* As many as may be lost, and one on each lane. */
static void names_of_stuck_processes_fit_into_one_line(void **state)
{
    struct model_run *run = *state;

    for (pid_t pid = 4000001; pid <= 4000100; pid++)
        pipeline_on_late(run->pipeline, pid, "maps");
    pipeline_on_lost(run->pipeline, WORKER_LOST_MAX);
    assert_non_null(strstr(model_run_status(run).why, "4000001, 4000002"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workload_setup, workload_teardown)
    const struct CMUnitTest tests[] = {
        TEST(process_whose_late_code_read_returned_is_balanced_again),
        TEST(of_two_late_requests_one_returns),
        TEST(request_in_time_does_not_end_what_a_late_one_began),
        TEST(stuck_process_without_a_space_is_said_and_not_sampled),
        TEST(when_all_workers_are_lost_it_observes_until_one_returns),
        TEST(names_of_stuck_processes_fit_into_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
