/*
 * Rounds of the unchanged pipeline on model machines: does memory come to its threads, and does it
 * stay where it is when it should?
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model_run.h"
#include "pipeline_state.h"
#include "util/array.h"

#define PID 100
#define PAGES (64 * MODEL_MIB_PAGES)
#define N_RANGES 32
#define CONVERGED 500
#define ROUNDS 3 /* from the first sample: a pass in each of two, and one more */
#define LONG 24  /* by then what must not happen would have happened */

static const int two_nodes_cpus[] = {0, 1, 2, 3};
static const int four_nodes_cpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const int swapped_cpus[] = {2, 3, 0, 1};

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct model_run));
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    model_run_deinit(*state);
    free(*state);
    return 0;
}

static struct model_process *add_workload(struct model_run *run, pid_t pid, int node,
                                          const int *cpus, size_t n_cpus)
{
    struct model_process *process = model_add_process(&run->model, pid, "worker");

    model_add_vma(&run->model, process, PAGES, node);
    model_add_workers(process, cpus, n_cpus);
    return process;
}

static void check_moves_nothing(struct model_run *run)
{
    uint64_t n_migrated = run->model.n_migrated;

    model_run_rounds(run, 30);
    assert_int_equal(run->model.n_migrated, n_migrated);
}

/* Nothing moves in 30 further rounds, and the counters agree with the machine. */
static void check_stays(struct model_run *run)
{
    struct status_report report;

    check_moves_nothing(run);
    report = model_run_status(run);
    assert_int_equal(report.pages_moved, run->model.n_migrated);
    assert_int_equal(report.pages_failed, 0);
    assert_true(report.remote_permyriad <= CONVERGED);
    assert_int_equal(report.n_balanced, 1);
    assert_string_equal(model_run_state(run, PID), "stable");
}

static void check_converges(struct model_run *run, const struct model_shape *shape, int node,
                            const int *cpus, size_t n_cpus)
{
    struct model_process *process;
    struct status_report report;

    model_run_init(run, shape, 1);
    process = add_workload(run, PID, node, cpus, n_cpus);
    assert_true(model_remote_permyriad(&run->model, process) >= 4500);
    assert_true(model_run_until_local(run, process, ROUNDS) <= ROUNDS);
    check_stays(run);
    report = model_run_status(run);
    assert_true(report.remote_first_permyriad >= 4500);
    assert_true(report.converged_round > 0);
    assert_true(report.converged_round - report.sampled_round <= ROUNDS);
}

static void misplaced_memory_comes_home_on_two_nodes(void **state)
{
    check_converges(*state, &model_two_nodes, 0, two_nodes_cpus, 4);
}

static void misplaced_memory_comes_home_on_four_nodes(void **state)
{
    check_converges(*state, &model_four_nodes, 3, four_nodes_cpus, 8);
}

static void memory_comes_home_from_a_node_without_cpus(void **state)
{
    struct model_run *run = *state;

    check_converges(run, &model_memory_node, 2, two_nodes_cpus, 4);
    assert_int_equal(model_pages_on(model_find(&run->model, PID), 2), 0);
}

static void node_without_cpus_is_never_a_target(void **state)
{
    struct model_run *run = *state;
    struct model_process *process;

    /* Node 2 is nearer to node 0 than node 1 is, and has room. */
    model_run_init(run, &model_memory_node, 2);
    process = add_workload(run, PID, 1, two_nodes_cpus, 4);
    model_run_rounds(run, 30);
    assert_int_equal(model_pages_on(process, 2), 0);
    assert_int_equal(model_pages_on(process, 0), PAGES / 2);
}

static void threads_without_memory_of_their_own_get_the_nearest(void **state)
{
    static const struct model_shape memoryless = {
        .n_nodes = 3,
        .cpus = {2, 2, 2},
        .memory_mib = {1024, 0, 1024},
        .distances = {{10, 16, 21}, {16, 10, 12}, {21, 12, 10}},
    };
    struct model_run *run = *state;
    struct model_process *process;

    model_run_init(run, &memoryless, 13);
    process = add_workload(run, PID, 0, (int[]){2, 3}, 2); /* both on node 1 */
    model_run_rounds(run, ROUNDS);
    assert_int_equal(model_pages_on(process, 2), PAGES);
    check_moves_nothing(run);
}

static void huge_pages_come_home(void **state)
{
    struct model_run *run = *state;
    struct model_process *process;

    model_run_init(run, &model_two_nodes, 3);
    process = add_workload(run, PID, 0, two_nodes_cpus, 4);
    model_set_huge(&process->vmas[0]);
    assert_true(model_run_until_local(run, process, ROUNDS) <= ROUNDS);
    check_stays(run);
}

static void held_pages_stay_and_the_others_move(void **state)
{
    struct model_run *run = *state;
    struct model_process *process;
    struct status_report report;

    model_run_init(run, &model_two_nodes, 4);
    process = add_workload(run, PID, 0, two_nodes_cpus, 4);
    process->vmas[0].pages[PAGES - 100].flags = MODEL_PAGE_HELD;
    process->vmas[0].pages[PAGES - 5000].flags = MODEL_PAGE_HELD;
    model_run_rounds(run, LONG);
    assert_int_equal(model_pages_on(process, 1), PAGES / 2 - 2);
    report = model_run_status(run);
    assert_int_equal(report.pages_moved, PAGES / 2 - 2);
    assert_int_equal(report.pages_tried, report.pages_moved + report.pages_failed);
    assert_true(report.pages_failed >= 2 && report.pages_failed < 12);
    assert_int_equal(report.errnos[0], EAGAIN);
}

/* Tried again after 10, 20, 40 ... rounds: cool-downs of 5, doubled with each refusal. */
static void refusing_page_is_tried_less_and_less(void **state)
{
    struct model_run *run = *state;
    struct model_process *process;

    model_run_init(run, &model_two_nodes, 4);
    process = add_workload(run, PID, 0, two_nodes_cpus, 4);
    process->vmas[0].pages[PAGES - 100].flags = MODEL_PAGE_HELD;
    process->vmas[0].pages[PAGES - 101].flags = MODEL_PAGE_HELD;
    /* The few pages left of a range are worth a call again and again. */
    for (size_t page = PAGES - 512; page < PAGES - 256; page++)
        process->vmas[0].pages[page].flags = MODEL_PAGE_HELD;
    model_run_rounds(run, LONG);
    assert_true(model_run_status(run).range_reasons.n[REASON_REFUSED] > 0);
    model_run_rounds(run, 120);
    assert_true(model_run_status(run).pages_failed <= 6 * 258);
    assert_true(model_run_status(run).pages_failed >= 3 * 258);
}

static unsigned n_ranges_for(const struct model_run *run, enum reason reason)
{
    return (unsigned)model_run_status(run).range_reasons.n[reason];
}

static void evenly_shared_memory_stays(void **state)
{
    struct model_run *run = *state;

    model_run_init(run, &model_two_nodes, 5);
    model_share_all(add_workload(run, PID, 0, two_nodes_cpus, 4));
    model_run_rounds(run, 60);
    assert_int_equal(n_ranges_for(run, REASON_SHARED), N_RANGES);
    run->model.rate_hz = 2500;
    model_run_rounds(run, 10);
    assert_int_equal(n_ranges_for(run, REASON_SHARED), N_RANGES);
    assert_int_equal(run->model.n_migrated, 0);
}

/* 1.25 samples a round in each range. */
static void evenly_shared_memory_is_called_so_with_few_samples(void **state)
{
    struct model_run *run = *state;

    model_run_init(run, &model_two_nodes, 14);
    run->model.rate_hz = MODEL_DRAINS;
    model_share_all(add_workload(run, PID, 0, two_nodes_cpus, 4));
    model_run_rounds(run, 10);
    assert_int_equal(n_ranges_for(run, REASON_FEW_SAMPLES), N_RANGES);
    model_run_rounds(run, 490);
    assert_true(n_ranges_for(run, REASON_SHARED) >= N_RANGES * 7 / 8);
    assert_int_equal(run->model.n_migrated, 0);
}

/*
 * As few samples, from both nodes in turn: only groups of 8 MiB are used from one node, pass after
 * 14 of 5 samples a round, and must do so twice.
 */
static void parts_come_home_though_the_whole_looks_shared(void **state)
{
    struct model_run *run = *state;
    struct model_process *process;
    struct range *group, *next;

    model_run_init(run, &model_two_nodes, 15);
    run->model.rate_hz = MODEL_DRAINS;
    process = add_workload(run, PID, 0, (int[]){2, 0, 3, 1}, 4);
    assert_true(model_run_until_local(run, process, 10) <= 10);
    for (unsigned level = 1; level <= 2; level++) {
        HASH_ITER (hh, attribute_find(run->pipeline->attribute, PID)->groups[level], group, next)
            assert_true(group->claim.looks_shared);
    }
    check_stays(run);
}

static void equal_distances_move_nothing(void **state)
{
    struct model_run *run = *state;

    model_run_init(run, &model_fake_numa, 6);
    add_workload(run, PID, 0, two_nodes_cpus, 4);
    model_run_rounds(run, 30);
    assert_int_equal(model_n_calls(&run->model, MODEL_CALL_MOVE, PID), 0);
    assert_true(model_run_status(run).range_reasons.n[REASON_LOCAL] > 0);
}

static void observe_counts_and_moves_nothing(void **state)
{
    struct model_run *run = *state;
    struct status_report report;
    struct config *config;
    uint64_t n_observed;

    model_run_init(run, &model_two_nodes, 7);
    config = model_run_config(run);
    config->observe = true;
    pipeline_commit(run->pipeline, config);
    add_workload(run, PID, 0, two_nodes_cpus, 4);
    model_run_rounds(run, 20);
    n_observed = model_run_status(run).pages_observed;
    model_run_rounds(run, 40);
    report = model_run_status(run);
    assert_int_equal(run->model.n_migrated, 0);
    assert_int_equal(model_n_calls(&run->model, MODEL_CALL_MOVE, PID), 0);
    assert_int_equal(report.pages_tried, 0);
    assert_int_equal(report.moved_bytes, 0);
    assert_string_equal(report.state, "observing");
    assert_string_equal(model_run_state(run, PID), "observed");
    assert_int_equal(report.n_observed, 1);
    assert_int_equal(n_observed, PAGES / 2);
    assert_int_equal(report.pages_observed, n_observed); /* each range once */
    assert_true(report.remote_permyriad >= 4500);
}

/* Named after the bug: what is observed was planned anew each round, at the full rate for good. */
static void observed_process_is_sampled_at_a_tenth(void **state)
{
    struct model_run *run = *state;
    const struct model_process *process;
    struct config *config;

    model_run_init(run, &model_two_nodes, 7);
    config = model_run_config(run);
    config->observe = true;
    pipeline_commit(run->pipeline, config);
    process = add_workload(run, PID, 0, two_nodes_cpus, 4);
    model_run_rounds(run, 1);
    assert_int_equal(process->asked_hz, 1000); /* it is new */
    model_run_rounds(run, 40);
    assert_int_equal(process->asked_hz, 25);
}

static void threads_that_swap_nodes_are_followed(void **state)
{
    struct model_run *run = *state;
    struct model_process *process;

    model_run_init(run, &model_two_nodes, 8);
    process = add_workload(run, PID, 0, two_nodes_cpus, 4);
    assert_true(model_run_until_local(run, process, ROUNDS) <= ROUNDS);
    for (size_t i = 0; i < 4; i++)
        process->threads[i].cpu = swapped_cpus[i];
    assert_int_equal(model_remote_permyriad(&run->model, process), 10000);
    assert_true(model_run_until_local(run, process, 2 * ROUNDS) <= 2 * ROUNDS);
    assert_true(run->model.n_migrated <= PAGES / 2 + PAGES);
    check_stays(run);
}

static void full_node_takes_nothing(void **state)
{
    struct model_run *run = *state;
    struct model_process *process;

    model_run_init(run, &model_two_nodes, 9);
    process = add_workload(run, PID, 0, two_nodes_cpus, 4);
    run->model.free_pages[1] = 32 * MODEL_MIB_PAGES; /* half of its headroom */
    model_run_rounds(run, 30);
    assert_int_equal(model_n_calls(&run->model, MODEL_CALL_MOVE, PID), 0);
    assert_true(model_run_status(run).range_reasons.n[REASON_NO_ROOM] > 0);
    run->model.free_pages[1] = 512 * MODEL_MIB_PAGES;
    assert_true(model_run_until_local(run, process, ROUNDS) <= ROUNDS);
}

static void headroom_is_kept_when_room_runs_out(void **state)
{
    struct model_run *run = *state;
    struct model_process *process;

    model_run_init(run, &model_two_nodes, 10);
    process = add_workload(run, PID, 0, two_nodes_cpus, 4);
    run->model.free_pages[1] = 80 * MODEL_MIB_PAGES; /* 64 MiB of them are headroom */
    model_run_rounds(run, 40);
    assert_true(model_pages_on(process, 1) >= 8 * MODEL_MIB_PAGES);
    assert_true(run->model.free_pages[1] >= 64 * MODEL_MIB_PAGES);
}

static void rate_limits_each_round(void **state)
{
    struct model_run *run = *state;
    struct config *config;
    uint64_t before = 0;

    model_run_init(run, &model_two_nodes, 11);
    config = model_run_config(run);
    config->migration_rate_bytes = 1 << 20; /* a batch of 4,096 pages goes in any case */
    pipeline_commit(run->pipeline, config);
    add_workload(run, PID, 0, two_nodes_cpus, 4);
    for (unsigned round = 0; round < 2 * ROUNDS; round++) {
        model_run_rounds(run, 1);
        assert_true(run->model.n_migrated - before <= 4096);
        before = run->model.n_migrated;
    }
    assert_int_equal(run->model.n_migrated, PAGES / 2);
}

static void one_node_does_nothing_and_says_so(void **state)
{
    static const struct model_shape one_node = {
        .n_nodes = 1, .cpus = {4}, .memory_mib = {1024}, .distances = {{10}}};
    struct model_run *run = *state;
    struct status_report report;

    model_run_init(run, &one_node, 12);
    pipeline_set_idle(run->pipeline, "one memory node: nothing to balance");
    add_workload(run, PID, 0, two_nodes_cpus, 4);
    model_run_rounds(run, 10);
    report = model_run_status(run);
    assert_string_equal(report.state, "idle");
    assert_string_equal(report.why, "one memory node: nothing to balance");
    assert_int_equal(run->model.n_calls, 0);
    assert_int_equal(report.process_reasons.n[REASON_SINGLE_NODE], 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(misplaced_memory_comes_home_on_two_nodes),
        TEST(misplaced_memory_comes_home_on_four_nodes),
        TEST(memory_comes_home_from_a_node_without_cpus),
        TEST(node_without_cpus_is_never_a_target),
        TEST(threads_without_memory_of_their_own_get_the_nearest),
        TEST(huge_pages_come_home),
        TEST(held_pages_stay_and_the_others_move),
        TEST(refusing_page_is_tried_less_and_less),
        TEST(evenly_shared_memory_stays),
        TEST(evenly_shared_memory_is_called_so_with_few_samples),
        TEST(parts_come_home_though_the_whole_looks_shared),
        TEST(equal_distances_move_nothing),
        TEST(observe_counts_and_moves_nothing),
        TEST(observed_process_is_sampled_at_a_tenth),
        TEST(threads_that_swap_nodes_are_followed),
        TEST(full_node_takes_nothing),
        TEST(headroom_is_kept_when_room_runs_out),
        TEST(rate_limits_each_round),
        TEST(one_node_does_nothing_and_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
