/*
 * Rounds on a model machine whose processes end, execute another program, or unmap their memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "pipeline_state.h"
#include "workload.h"

static void kill_moved(struct model *model, struct model_process *process, bool moves)
{
    if (moves && process->pid == WORKLOAD_PID)
        model_kill(model, process);
}

static void process_that_ends_between_query_and_move_is_forgotten(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");
    struct model_process *other = workload_add(run, WORKLOAD_TWIN, "other");
    struct status_report report;

    run->model.before_call = kill_moved;
    while (!process->ended)
        model_run_rounds(run, 1);
    assert_int_equal(model_n_calls(&run->model, MODEL_CALL_MOVE, WORKLOAD_PID), 1);
    model_run_rounds(run, WORKLOAD_LONG);
    report = model_run_status(run);
    assert_int_equal(report.pages_tried, report.pages_moved + report.pages_failed);
    assert_int_equal(report.pages_moved, WORKLOAD_PAGES / 2);
    assert_string_equal(model_run_state(run, WORKLOAD_PID), "not listed");
    assert_int_equal(model_n_calls(&run->model, MODEL_CALL_MOVE, WORKLOAD_PID), 1);
    assert_true(model_remote_permyriad(&run->model, other) <= 500);
    assert_int_equal(run->n_log, 0);
}

static void kill_planned(struct model_run *run)
{
    struct model_process *process = model_find(&run->model, WORKLOAD_PID);

    if (process && workload_has_plan(run))
        model_kill(&run->model, process);
}

static void process_that_ended_before_the_act_is_not_called(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");

    run->before_dispatch = kill_planned;
    while (!process->ended)
        model_run_rounds(run, 1);
    model_run_rounds(run, 3);
    assert_int_equal(model_n_calls(&run->model, MODEL_CALL_MOVE, WORKLOAD_PID), 0);
    assert_int_equal(model_run_status(run).pages_tried, 0);
}

static void exec_planned(struct model_run *run)
{
    struct model_process *process = model_find(&run->model, WORKLOAD_PID);

    if (!workload_has_plan(run))
        return;
    run->before_dispatch = NULL;
    model_exec(&run->model, process, "next");
    workload_fill(run, process);
}

/* The new program has other memory at the same addresses. */
static void check_exec(struct model_run *run, bool maps_are_read)
{
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");

    run->before_dispatch = exec_planned;
    while (run->before_dispatch) {
        struct space *space = attribute_find(run->pipeline->attribute, WORKLOAD_PID);

        if (space && maps_are_read)
            space->maps_wanted = true;
        model_run_rounds(run, 1);
    }
    assert_int_equal(model_n_calls(&run->model, MODEL_CALL_MOVE, WORKLOAD_PID), 0);
    assert_int_equal(run->model.n_migrated, 0);
    workload_assert_local(run, process);
    assert_true(run->model.n_migrated > 0);
}

static void exec_before_the_act_starts_learning_anew(void **state)
{
    check_exec(*state, false);
}

/* A request for the maps is out in the same round. */
static void exec_is_seen_while_the_maps_are_read(void **state)
{
    check_exec(*state, true);
}

/* The maps show the new program first, and then the move of the old one says that that has gone. */
static void move_of_the_old_program_does_not_drop_the_new_ones_space(void **state)
{
    struct model_run *run = *state;
    const struct space *space = NULL;
    uint64_t generation = 0;

    workload_add(run, WORKLOAD_PID, "worker");
    run->before_dispatch = exec_planned;
    while (run->before_dispatch) {
        struct space *old = attribute_find(run->pipeline->attribute, WORKLOAD_PID);

        if (old) {
            old->maps_wanted = true;
            generation = old->generation;
        }
        model_run_rounds(run, 1);
    }
    space = attribute_find(run->pipeline->attribute, WORKLOAD_PID);
    assert_non_null(space);
    assert_true(space->generation > generation);
}

/* As a read of maps and a sample do it while the move is out. */
static void make_ranges_anew(struct model_run *run)
{
    struct space *space = attribute_find(run->pipeline->attribute, WORKLOAD_PID);
    struct range *range, *next;

    if (!workload_has_plan(run))
        return;
    run->before_dispatch = NULL;
    HASH_ITER (hh, space->ranges, range, next)
        range->moving = false;
}

/* Named after the bug: a new mapping's range waited for the end of its predecessor's cool-down. */
static void no_range_cools_down_from_a_move_before_its_time(void **state)
{
    struct model_run *run = *state;
    struct range *range, *next;

    workload_add(run, WORKLOAD_PID, "worker");
    run->before_dispatch = make_ranges_anew;
    while (run->before_dispatch)
        model_run_rounds(run, 1);
    assert_true(run->model.n_migrated > 0);
    HASH_ITER (hh, attribute_find(run->pipeline->attribute, WORKLOAD_PID)->ranges, range, next) {
        assert_int_equal(range->cool_down_nsec, 0);
        assert_int_equal(range->moved_nsec, 0);
    }
}

/* Half of the last 50 end while requests to them wait, the others between two rounds. */
static void replace_half(struct model_run *run)
{
    struct model *model = &run->model;
    size_t end = model->n_processes;

    for (size_t i = end > 25 ? end - 25 : 1; i < end; i++)
        if (!model->processes[i]->ended)
            model_kill(model, model->processes[i]);
}

static void add_short_lived(struct model_run *run, unsigned round)
{
    struct model *model = &run->model;

    for (size_t i = 1; i < model->n_processes; i++)
        if (!model->processes[i]->ended)
            model_kill(model, model->processes[i]);
    for (pid_t i = 0; i < 50; i++) {
        struct model_process *process =
            model_add_process(model, 1000 + 50 * (pid_t)(round % 3) + i, "short");

        model_add_vma(model, process, 33 * MODEL_MIB_PAGES, i % 2);
        model_add_workers(process, workload_cpus, 1);
    }
}

static void short_lived_processes_disturb_nothing(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");
    struct status_report report;

    run->model.free_pages[0] = run->model.free_pages[1] = 4096 * MODEL_MIB_PAGES;
    run->before_dispatch = replace_half;
    for (unsigned round = 0; round < 20; round++) {
        add_short_lived(run, round);
        model_run_rounds(run, 1);
    }
    assert_true(model_remote_permyriad(&run->model, process) <= 500);
    assert_int_equal(run->n_log, 0);
    for (size_t i = 1; i < run->model.n_processes; i++)
        if (!run->model.processes[i]->ended)
            model_kill(&run->model, run->model.processes[i]);
    run->before_dispatch = NULL;
    model_run_rounds(run, 2);
    report = model_run_status(run);
    assert_int_equal(report.n_balanced, 1);
    assert_int_equal(report.vma_reasons.n[REASON_NONE], 1); /* nobody else is remembered */
    assert_int_equal(report.pages_moved, run->model.n_migrated);
}

/* Memory that is unmapped between plan and act is absent, not failed. */
static void unmap_planned(struct model_run *run)
{
    struct model_process *process = model_find(&run->model, WORKLOAD_PID);

    if (!workload_has_plan(run))
        return;
    run->before_dispatch = NULL;
    for (size_t page = WORKLOAD_PAGES / 2; page < WORKLOAD_PAGES; page++)
        process->vmas[0].pages[page].at = -ENOENT;
}

static void memory_that_went_is_no_failure(void **state)
{
    struct model_run *run = *state;
    struct status_report report;

    workload_add(run, WORKLOAD_PID, "worker");
    run->before_dispatch = unmap_planned;
    model_run_rounds(run, WORKLOAD_LONG);
    assert_null(run->before_dispatch);
    report = model_run_status(run);
    assert_int_equal(report.pages_failed, 0);
    assert_int_equal(report.pages_moved, run->model.n_migrated);
    assert_int_equal(report.pages_tried, report.pages_moved); /* they went before the query */
}

static void unmap_at_move(struct model *model, struct model_process *process, bool moves)
{
    if (!moves)
        return;
    model->before_call = NULL;
    for (size_t page = WORKLOAD_PAGES / 2; page < WORKLOAD_PAGES; page += 2)
        process->vmas[0].pages[page].at = -ENOENT;
}

static void memory_that_goes_between_query_and_move_is_absent(void **state)
{
    struct model_run *run = *state;
    const struct ledger *ledger;

    workload_add(run, WORKLOAD_PID, "worker");
    run->model.before_call = unmap_at_move;
    model_run_rounds(run, WORKLOAD_LONG);
    assert_null(run->model.before_call);
    ledger = &migrate_counts(run->pipeline->migrate)->ledger;
    assert_true(ledger->n_absent > 0);
    assert_int_equal(ledger->n_failed, 0);
    assert_int_equal(ledger->n_tried, ledger->n_moved + ledger->n_absent);
    assert_int_equal(ledger->n_moved, run->model.n_migrated);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workload_setup, workload_teardown)
    const struct CMUnitTest tests[] = {
        TEST(process_that_ends_between_query_and_move_is_forgotten),
        TEST(process_that_ended_before_the_act_is_not_called),
        TEST(exec_before_the_act_starts_learning_anew),
        TEST(exec_is_seen_while_the_maps_are_read),
        TEST(move_of_the_old_program_does_not_drop_the_new_ones_space),
        TEST(no_range_cools_down_from_a_move_before_its_time),
        TEST(short_lived_processes_disturb_nothing),
        TEST(memory_that_went_is_no_failure),
        TEST(memory_that_goes_between_query_and_move_is_absent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
