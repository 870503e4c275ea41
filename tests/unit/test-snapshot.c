/* What users are shown of a pipeline's state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/tally.h"
#include "model_run.h"
#include "pipeline_state.h"
#include "util/array.h"
#include "util/nsec.h"

#define PID 100
#define TWIN 200
#define PAGES (64 * MODEL_MIB_PAGES)

static const int cpus[] = {0, 1, 2, 3};

static int setup(void **state)
{
    struct model_run *run = calloc(1, sizeof(*run));

    if (!run)
        return -1;
    model_run_init(run, &model_two_nodes, 1);
    *state = run;
    return 0;
}

static int teardown(void **state)
{
    model_run_deinit(*state);
    free(*state);
    return 0;
}

static struct model_process *add_workload(struct model_run *run, pid_t pid, size_t n_pages)
{
    struct model_process *process = model_add_process(&run->model, pid, "worker");

    model_add_vma(&run->model, process, n_pages, 0);
    model_add_workers(process, cpus, 4);
    return process;
}

/* The report of one process, its nodes to be freed; pid 0 when it is not listed. */
static struct process_report find_report(const struct model_run *run, pid_t pid, uid_t uid)
{
    struct process_reports reports = {0};
    struct process_report found = {0};

    assert_int_equal(pipeline_processes(run->pipeline, uid, &reports), 0);
    for (size_t i = 0; i < reports.n_items; i++)
        if (reports.items[i].pid == pid) {
            found = reports.items[i];
            reports.items[i].nodes = (struct node_list){0};
        }
    process_reports_deinit(&reports);
    return found;
}

static void nothing_is_known_before_the_first_round(void **state)
{
    struct status_report report = model_run_status(*state);

    assert_string_equal(report.state, "balancing");
    assert_string_equal(report.why, "");
    assert_string_equal(report.sources, "model");
    assert_string_equal(report.version, NUMABD_VERSION);
    assert_int_equal(report.n_memory_nodes, 2);
    assert_int_equal(report.remote_first_permyriad, -1);
    assert_int_equal(report.remote_permyriad, -1);
    assert_int_equal(report.n_rounds, 0);
    assert_int_equal(report.sampled_round, 0);
    assert_int_equal(report.converged_round, 0);
    assert_int_equal(report.uptime_sec, 0);
    assert_int_equal(report.moved_last_hour_bytes, 0);
}

static void kernel_balancing_is_read_from_its_mask(void **state)
{
    static const struct {
        const char *mask, *shown;
    } cases[] = {{NULL, "absent"}, {"0\n", "off"}, {"1\n", "on"},        {"2\n", "tiering"},
                 {"3\n", "on"},    {"4\n", "off"}, {"what\n", "absent"}, {"", "absent"}};
    struct model_run *run = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        if (cases[i].mask)
            tree_write(&run->tree, "proc/sys/kernel/numa_balancing", cases[i].mask,
                       strlen(cases[i].mask));
        assert_string_equal(model_run_status(run).kernel_balancing, cases[i].shown);
    }
}

/* The shares of two processes: 0.3 s and 0.1 s of access time behind them. */
static void overall_share_is_weighted_by_time(void **state)
{
    struct model_run *run = *state;
    struct pipeline *pipeline = run->pipeline;
    struct space *first, *second;

    add_workload(run, PID, PAGES);
    add_workload(run, TWIN, PAGES);
    model_run_rounds(run, 3);
    first = attribute_find(pipeline->attribute, PID);
    second = attribute_find(pipeline->attribute, TWIN);
    first->share_sec = 0.3;
    first->remote_permyriad = 1000;
    second->share_sec = 0.1;
    second->remote_permyriad = 5000;
    pipeline_close_round(pipeline, run->model.now, 0);
    assert_int_equal(model_run_status(run).remote_permyriad, 2000);
    second->remote_permyriad = -1; /* unknown does not count as local */
    pipeline_close_round(pipeline, run->model.now, 0);
    assert_int_equal(model_run_status(run).remote_permyriad, 1000);
}

static void converged_is_the_round_since_which_it_holds(void **state)
{
    static const struct {
        int remote_permyriad;
        uint64_t n_rounds, converged_round;
    } steps[] = {
        {5000, 10, 0}, {501, 11, 0},  {500, 12, 12}, {100, 13, 12},
        {501, 14, 0},  {500, 15, 15}, {0, 16, 15},   {-1, 17, 15},
    };
    struct model_run *run = *state;
    struct pipeline *pipeline = run->pipeline;
    struct space *space;

    add_workload(run, PID, PAGES);
    model_run_rounds(run, 2);
    space = attribute_find(pipeline->attribute, PID);
    pipeline->remote_first_permyriad = -1;
    space->share_sec = 1;
    for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
        space->remote_permyriad = steps[i].remote_permyriad;
        pipeline->n_rounds = steps[i].n_rounds;
        pipeline_close_round(pipeline, run->model.now, 0);
        assert_int_equal(model_run_status(run).converged_round, steps[i].converged_round);
        assert_int_equal(model_run_status(run).remote_first_permyriad, 5000);
    }
}

/* Cost and moving are told apart, over 5 s each. */
static void cost_is_everything_but_moving(void **state)
{
    struct model_run *run = *state;
    struct pipeline *pipeline = run->pipeline;
    uint64_t now = pipeline->cost_nsec;
    const uint64_t moving = migrate_counts(pipeline->migrate)->cpu_nsec;

    pipeline_close_round(pipeline, now + 4 * NSEC_PER_SEC, NSEC_PER_SEC);
    assert_int_equal(model_run_status(run).cost_permyriad, 0); /* not yet */
    pipeline_close_round(pipeline, now + 10 * NSEC_PER_SEC, NSEC_PER_SEC);
    assert_int_equal(model_run_status(run).cost_permyriad, 1000);
    assert_int_equal(model_run_status(run).moving_permyriad, 0);
    pipeline->cost_moving_nsec = moving - NSEC_PER_SEC / 2; /* as if half a second had gone to it */
    pipeline_close_round(pipeline, now + 20 * NSEC_PER_SEC, 2 * NSEC_PER_SEC);
    assert_int_equal(model_run_status(run).cost_permyriad, 500);
    assert_int_equal(model_run_status(run).moving_permyriad, 500);
    /* Clocks are read one after the other: moving may seem to exceed the whole. */
    pipeline->cost_moving_nsec = moving - NSEC_PER_SEC;
    pipeline_close_round(pipeline, now + 30 * NSEC_PER_SEC, 2 * NSEC_PER_SEC);
    assert_int_equal(model_run_status(run).cost_permyriad, 0);
    assert_int_equal(model_run_status(run).moving_permyriad, 1000);
}

static void process_goes_from_learning_to_stable(void **state)
{
    struct model_run *run = *state;
    const char *last = "learning";
    unsigned n_changes = 0;

    add_workload(run, PID, PAGES);
    model_run_rounds(run, 1);
    assert_string_equal(model_run_state(run, PID), "learning");
    for (unsigned round = 0; round < 30; round++) {
        const char *now;

        model_run_rounds(run, 1);
        now = model_run_state(run, PID);
        n_changes += strcmp(now, last) != 0;
        if (n_changes == 1)
            assert_true(run->model.n_migrated == 0 || !strcmp(now, "balancing") ||
                        !strcmp(now, "stable"));
        last = now;
    }
    assert_string_equal(last, "stable");
    assert_true(n_changes >= 2 && n_changes <= 4);
}

/* Nothing is sampled of it any more: what it did last is over all the same. */
static void process_that_sleeps_after_a_move_is_stable(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = add_workload(run, PID, PAGES);

    while (!run->model.n_migrated)
        model_run_rounds(run, 1);
    assert_string_equal(model_run_state(run, PID), "balancing");
    process->n_threads = 0;
    model_run_rounds(run, 10);
    assert_string_equal(model_run_state(run, PID), "stable");
}

static void nodes_are_shown_in_order_and_add_up(void **state)
{
    struct model_run *run = *state;
    struct process_report report;
    struct space *space;

    add_workload(run, PID, PAGES);
    model_run_rounds(run, 20);
    report = find_report(run, PID, 0);
    assert_true(report.nodes_known);
    assert_int_equal(report.nodes.n_items, 2);
    assert_int_equal(report.nodes.items[0].node, 0);
    assert_int_equal(report.nodes.items[1].node, 1);
    assert_int_equal(report.nodes.items[0].bytes, PAGES / 2 * MODEL_PAGE_BYTES);
    assert_int_equal(report.nodes.items[1].bytes, PAGES / 2 * MODEL_PAGE_BYTES);
    assert_int_equal(report.moved_bytes, PAGES / 2 * MODEL_PAGE_BYTES);
    assert_int_equal(report.rss_bytes, PAGES * MODEL_PAGE_BYTES);
    assert_int_equal(report.autonuma.numa_pages_migrated, PAGES / 2);
    assert_true(report.autonuma.numa_pte_updates > PAGES / 2); /* asked before each move */
    assert_true(report.autonuma.numa_hint_faults > report.autonuma.numa_hint_faults_local);
    assert_true(report.autonuma.numa_hint_faults_local > 0);
    assert_int_equal(model_run_status(run).autonuma.numa_pages_migrated, PAGES / 2);
    assert_true(model_run_status(run).scan_passes > 0);
    assert_int_equal(model_run_status(run).scan_verdicts.n[SCAN_FIRST_PASSES], 2);
    free(report.nodes.items);
    /* Moves that are counted off stale totals never show less than nothing. */
    space = attribute_find(run->pipeline->attribute, PID);
    assert_int_equal(tally_add(&space->totals, 0, -2.0 * PAGES, 0), 0);
    report = find_report(run, PID, 0);
    assert_int_equal(report.nodes.items[0].bytes, 0);
    free(report.nodes.items);
}

static void totals_follow_a_move_at_once(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = add_workload(run, PID, PAGES);
    struct process_report report;

    while (!run->model.n_migrated)
        model_run_rounds(run, 1);
    report = find_report(run, PID, 0);
    assert_int_equal(report.nodes.n_items, 2);
    assert_int_equal(report.nodes.items[1].bytes, model_pages_on(process, 1) * MODEL_PAGE_BYTES);
    assert_int_equal(report.nodes.items[0].bytes, model_pages_on(process, 0) * MODEL_PAGE_BYTES);
    free(report.nodes.items);
}

static void users_see_their_own_processes(void **state)
{
    struct model_run *run = *state;

    add_workload(run, PID, PAGES);
    add_workload(run, TWIN, MODEL_MIB_PAGES);
    model_run_rounds(run, 1);
    assert_int_equal(find_report(run, PID, 0).pid, PID);
    assert_int_equal(find_report(run, PID, 1000).pid, PID);
    assert_int_equal(find_report(run, PID, 1001).pid, 0);
    assert_int_equal(find_report(run, TWIN, 0).pid, 0); /* too small */
    assert_int_equal(model_run_status(run).n_too_small, 1);
    assert_int_equal(model_run_status(run).n_balanced, 1);
}

static void each_process_is_counted_in_one_place(void **state)
{
    struct model_run *run = *state;
    struct config *config = model_run_config(run);
    struct status_report report;

    model_add_rule(&config->exclude, RULE_PID, "300");
    pipeline_commit(run->pipeline, config);
    add_workload(run, 1, PAGES);          /* init */
    add_workload(run, MODEL_SELF, PAGES); /* self */
    add_workload(run, PID, PAGES);
    add_workload(run, TWIN, MODEL_MIB_PAGES);
    add_workload(run, 300, PAGES);
    add_workload(run, 400, PAGES)->mems_allowed = "1";
    model_run_rounds(run, 1);
    report = model_run_status(run);
    assert_int_equal(report.n_balanced, 1);
    assert_int_equal(report.n_observed, 0);
    assert_int_equal(report.n_too_small, 1);
    assert_int_equal(report.n_excluded, 1);
    assert_int_equal(report.n_other, 3);
    assert_string_equal(model_run_state(run, 400), "single_node");
    assert_string_equal(model_run_state(run, 1), "not listed");
}

static void counters_are_those_of_the_stages(void **state)
{
    struct model_run *run = *state;
    struct status_report report;

    add_workload(run, PID, PAGES)->vmas[0].pages[PAGES - 1].flags = MODEL_PAGE_SHARED;
    model_run_rounds(run, 12);
    report = model_run_status(run);
    assert_int_equal(report.n_rounds, 12);
    assert_int_equal(report.uptime_sec, 12);
    assert_int_equal(report.sampled_round, 2); /* the first one only discovers */
    assert_int_equal(report.n_accesses, run->model.counts.n_accesses);
    assert_int_equal(report.n_samples, run->model.counts.n_samples);
    assert_int_equal(report.pages_moved, PAGES / 2 - 1);
    assert_int_equal(report.moved_bytes, report.pages_moved * MODEL_PAGE_BYTES);
    assert_int_equal(report.moved_last_hour_bytes, report.moved_bytes);
    assert_int_equal(report.n_errnos, 1);
    assert_int_equal(report.errnos[0], EACCES);
    assert_int_equal(report.errno_pages[0], report.pages_failed);
    run->model.now += 3600 * NSEC_PER_SEC;
    assert_int_equal(model_run_status(run).moved_last_hour_bytes, 0);
    assert_int_equal(model_run_status(run).moved_bytes, report.moved_bytes);
}

static void idle_says_why_before_anything_else(void **state)
{
    struct model_run *run = *state;
    struct config *config = model_run_config(run);

    config->observe = true;
    pipeline_commit(run->pipeline, config);
    assert_string_equal(model_run_status(run).state, "observing");
    assert_true(model_run_status(run).why[0] != '\0');
    pipeline_set_idle(run->pipeline, "no source");
    assert_string_equal(model_run_status(run).state, "idle");
    assert_string_equal(model_run_status(run).why, "no source");
    assert_true(pipeline_is_idle(run->pipeline));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_known_before_the_first_round),
        TEST(kernel_balancing_is_read_from_its_mask),
        TEST(overall_share_is_weighted_by_time),
        TEST(converged_is_the_round_since_which_it_holds),
        TEST(cost_is_everything_but_moving),
        TEST(process_goes_from_learning_to_stable),
        TEST(process_that_sleeps_after_a_move_is_stable),
        TEST(nodes_are_shown_in_order_and_add_up),
        TEST(totals_follow_a_move_at_once),
        TEST(users_see_their_own_processes),
        TEST(each_process_is_counted_in_one_place),
        TEST(counters_are_those_of_the_stages),
        TEST(idle_says_why_before_anything_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
