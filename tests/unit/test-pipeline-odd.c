/*
 * Rounds on a model machine whose processes are excluded, bound, refused, or do not answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "workload.h"

static void exclude(struct model_run *run, enum rule_field field, const char *pattern)
{
    struct config *config = model_run_config(run);

    model_add_rule(&config->exclude, field, pattern);
    pipeline_commit(run->pipeline, config);
}

static void excluded_twin_is_not_touched(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");
    struct model_process *twin = workload_add(run, WORKLOAD_TWIN, "twin");

    exclude(run, RULE_COMM, "twin");
    workload_assert_local(run, process);
    model_run_rounds(run, 20);
    assert_int_equal(twin->n_pushed, 0);
    assert_int_equal(workload_n_calls(run, WORKLOAD_TWIN), 0);
    assert_int_equal(model_pages_on(twin, 0), WORKLOAD_PAGES);
    assert_true(run->model.counts.n_foreign > 0);
    assert_int_equal(model_run_status(run).n_excluded, 1);
    assert_string_equal(model_run_state(run, WORKLOAD_TWIN), "excluded");
}

/* Samples that were on their way when the rules changed are dropped at the sink. */
static void sample_that_comes_late_is_not_kept(void **state)
{
    struct model_run *run = *state;
    struct access access = {
        .pid = WORKLOAD_TWIN, .tid = WORKLOAD_TWIN, .addr = MODEL_BASE, .weight_sec = 1};

    workload_add(run, WORKLOAD_TWIN, "twin");
    exclude(run, RULE_COMM, "twin");
    model_run_rounds(run, 1);
    run->model.sink.push(run->model.sink.userdata, &access, 1);
    model_run_rounds(run, 3);
    assert_int_equal(workload_n_calls(run, WORKLOAD_TWIN), 0);
    assert_int_equal(model_run_status(run).vma_reasons.n[REASON_NONE], 0);
    assert_int_equal(model_run_status(run).sampled_round, 0);
}

static void reload_to_exclude_stops_at_once(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");
    struct config *config = model_run_config(run);
    uint64_t n_pushed, n_migrated;
    size_t n_before;

    config->migration_rate_bytes = 1 << 20; /* one batch a round: two are needed */
    pipeline_commit(run->pipeline, config);
    while (!run->model.n_migrated)
        model_run_rounds(run, 1);
    assert_true(run->model.n_migrated < WORKLOAD_PAGES / 2);
    exclude(run, RULE_PID, "100");
    model_run_rounds(run, 1); /* drains before its round: the new rules hold from then on */
    n_migrated = run->model.n_migrated;
    n_pushed = process->n_pushed;
    n_before = workload_n_calls(run, WORKLOAD_PID);
    model_run_rounds(run, 20);
    assert_int_equal(process->n_pushed, n_pushed);
    assert_int_equal(run->model.n_migrated, n_migrated);
    assert_int_equal(workload_n_calls(run, WORKLOAD_PID), n_before);
}

static void reload_to_include_goes_on(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");
    struct config *config;

    exclude(run, RULE_PID, "100");
    model_run_rounds(run, 5);
    assert_int_equal(run->model.n_migrated, 0);
    assert_int_equal(config_new_default(&config), 0);
    pipeline_commit(run->pipeline, config);
    workload_assert_local(run, process);
}

static void bound_twin_stays(void **state)
{
    static const char *const policies[] = {"bind:0",
                                           "prefer:0",
                                           "interleave:0-1",
                                           "bind=static|balancing:0",
                                           "prefer (many):0-1",
                                           "some_new_policy:0"};
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");
    struct model_process *twins[6];

    for (size_t i = 0; i < 6; i++) {
        twins[i] = workload_add(run, WORKLOAD_TWIN + 10 * (pid_t)i, "worker");
        twins[i]->vmas[0].policy = policies[i];
    }
    workload_assert_local(run, process);
    model_run_rounds(run, 20);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(model_pages_on(twins[i], 0), WORKLOAD_PAGES);
        assert_int_equal(model_n_calls(&run->model, MODEL_CALL_MOVE, twins[i]->pid), 0);
    }
    assert_true(model_run_status(run).vma_reasons.n[REASON_BIND] == 2);
}

static void memory_of_a_bound_thread_stays(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");

    process->threads[3].policy = "bind:0";
    model_run_rounds(run, WORKLOAD_LONG);
    assert_int_equal(model_pages_on(process, 1), WORKLOAD_PAGES / 4); /* thread 2's part */
    for (size_t page = WORKLOAD_PAGES / 4 * 3; page < WORKLOAD_PAGES; page++)
        assert_int_equal(process->vmas[0].pages[page].at, 0);
    assert_true(model_run_status(run).range_reasons.n[REASON_THREAD_POLICY] > 0);
}

static void process_bound_by_its_cpuset_is_not_sampled(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");

    process->mems_allowed = "0";
    model_run_rounds(run, 20);
    assert_int_equal(process->n_pushed, 0);
    assert_int_equal(workload_n_calls(run, WORKLOAD_PID), 0);
    assert_int_equal(model_run_status(run).process_reasons.n[REASON_SINGLE_NODE], 1);
}

static void forbid_planned(struct model_run *run)
{
    if (workload_has_plan(run))
        model_find(&run->model, WORKLOAD_PID)->mems_allowed = "0";
}

/* The first EACCES has its status read again, long before the minute is over. */
static void process_whose_cpuset_shrinks_is_left_alone(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");
    struct status_report report;

    run->before_dispatch = forbid_planned;
    model_run_rounds(run, 20);
    assert_int_equal(model_pages_on(process, 0), WORKLOAD_PAGES);
    report = model_run_status(run);
    assert_int_equal(report.process_reasons.n[REASON_SINGLE_NODE], 1);
    assert_int_equal(report.n_errnos, 1);
    assert_int_equal(report.errnos[0], EACCES);
    assert_true(report.pages_failed <= WORKLOAD_PAGES / 2);
    assert_int_equal(run->n_log, 0);
}

static void refuse_planned(struct model_run *run)
{
    if (workload_has_plan(run))
        model_find(&run->model, WORKLOAD_PID)->denied = true;
}

static void refused_process_is_observed_and_it_is_said_once(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");

    run->before_dispatch = refuse_planned;
    model_run_rounds(run, WORKLOAD_LONG);
    assert_true(process->denied);
    assert_int_equal(model_pages_on(process, 0), WORKLOAD_PAGES);
    assert_int_equal(model_n_calls(&run->model, MODEL_CALL_MOVE, WORKLOAD_PID), 0);
    assert_string_equal(model_run_state(run, WORKLOAD_PID), "no_permission");
    assert_int_equal(run->n_log, 1);
    assert_non_null(strstr(run->log, "100"));
    assert_int_equal(model_run_status(run).n_observed, 1);
}

/* The first thing that is refused is a query. */
static void process_that_was_never_readable_is_said_once(void **state)
{
    struct model_run *run = *state;
    struct model_process *other = workload_add(run, WORKLOAD_TWIN, "other");

    workload_add(run, WORKLOAD_PID, "worker")->denied = true;
    workload_assert_local(run, other);
    model_run_rounds(run, WORKLOAD_LONG);
    assert_string_equal(model_run_state(run, WORKLOAD_PID), "no_permission");
    assert_int_equal(run->n_log, 1);
    assert_non_null(strstr(run->log, "100"));
}

static void late_request_leaves_the_others_alone(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");
    struct model_process *other = workload_add(run, WORKLOAD_TWIN, "other");
    size_t n_before;

    run->model.rate_hz = 100;
    model_run_rounds(run, 2);
    pipeline_on_late(run->pipeline, WORKLOAD_PID, "maps");
    pipeline_on_late(run->pipeline, WORKLOAD_PID, "move_pages"); /* said once */
    n_before = workload_n_calls(run, WORKLOAD_PID);
    model_run_rounds(run, WORKLOAD_LONG);
    assert_int_equal(workload_n_calls(run, WORKLOAD_PID), n_before);
    assert_int_equal(model_pages_on(process, 0), WORKLOAD_PAGES);
    assert_true(model_remote_permyriad(&run->model, other) <= 500);
    assert_string_equal(model_run_state(run, WORKLOAD_PID), "stuck");
    assert_int_equal(run->n_log, 1);
    pipeline_on_late(run->pipeline, 4711, "maps"); /* has no address space */
    assert_int_equal(run->n_log, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workload_setup, workload_teardown)
    const struct CMUnitTest tests[] = {
        TEST(excluded_twin_is_not_touched),
        TEST(sample_that_comes_late_is_not_kept),
        TEST(reload_to_exclude_stops_at_once),
        TEST(reload_to_include_goes_on),
        TEST(bound_twin_stays),
        TEST(memory_of_a_bound_thread_stays),
        TEST(process_bound_by_its_cpuset_is_not_sampled),
        TEST(process_whose_cpuset_shrinks_is_left_alone),
        TEST(refused_process_is_observed_and_it_is_said_once),
        TEST(process_that_was_never_readable_is_said_once),
        TEST(late_request_leaves_the_others_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
