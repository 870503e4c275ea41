/*
 * The scan filter's line in the pipeline: what the last pass skipped is nothing to decide about.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute/scans.h"
#include "pipeline_state.h"
#include "workload.h"

#define OTHER 1 /* the second mapping */
#define ROUNDS_LEARNING 6
#define ROUNDS_AWAY 20 /* two mask windows of four rounds, and turns of the starved */

/* Ranges and slabs of the second mapping, and how many of them the last round decided about. */
struct listed {
    size_t n_ranges, n_slabs, n_candidates;
};

static size_t known(const struct listed *listed)
{
    return listed->n_ranges + listed->n_slabs;
}

static struct space *find_space(const struct model_run *run)
{
    struct space *space = attribute_find(run->pipeline->attribute, WORKLOAD_PID);

    assert_non_null(space);
    return space;
}

static bool is_other(const struct range *range)
{
    return range->start >= MODEL_BASE + OTHER * MODEL_VMA_STEP;
}

static struct listed list_other(const struct model_run *run)
{
    const struct pipeline *pipeline = run->pipeline;
    struct listed listed = {0};
    struct range *range, *next;

    HASH_ITER (hh, find_space(run)->ranges, range, next)
        listed.n_ranges += is_other(range);
    HASH_ITER (hh, find_space(run)->groups[SLAB_LEVEL], range, next)
        listed.n_slabs += is_other(range);
    for (size_t i = 0; i < pipeline->n_candidates; i++)
        listed.n_candidates += is_other(pipeline->candidates[i].range);
    return listed;
}

/* On its first n_pages or all: of threads on one node, so that all of it belongs there. */
static void work_on(struct model_process *process, size_t vma, size_t n_pages)
{
    for (size_t i = 0; i < process->n_threads; i++) {
        process->threads[i].vma = vma;
        process->threads[i].cpu = workload_cpus[3];
        process->threads[i].first = 0;
        process->threads[i].n_pages = n_pages;
    }
}

/*
 * Everybody was at work in the second mapping, and now is in the first one. The second lies
 * elsewhere than it belongs and stays there: what lies well is no candidate either way. Its slabs
 * were decided by a part of it, so that they stand for the rest.
 */
static struct model_process *leave_other(struct model_run *run)
{
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");
    struct listed listed;

    model_add_vma(&run->model, process, WORKLOAD_PAGES, 0)->policy = "bind:0";
    work_on(process, OTHER, WORKLOAD_PAGES / 4);
    model_run_rounds(run, ROUNDS_LEARNING);
    listed = list_other(run);
    assert_true(listed.n_ranges > 0 && listed.n_slabs > 0);
    work_on(process, 0, WORKLOAD_PAGES);
    return process;
}

static void what_the_last_pass_skipped_is_no_candidate(void **state)
{
    struct model_run *run = *state;
    unsigned n_skipped = 0, n_let = 0;

    leave_other(run);
    for (int round = 0; round < ROUNDS_AWAY; round++) {
        enum scan_verdict verdict;
        struct listed listed;

        model_run_rounds(run, 1);
        verdict = find_space(run)->scans->items[OTHER].verdict;
        listed = list_other(run);
        assert_int_equal(listed.n_candidates, scan_verdict_lets(verdict) ? known(&listed) : 0);
        n_skipped += verdict == SCAN_INACTIVE && listed.n_ranges && listed.n_slabs;
        n_let += scan_verdict_lets(verdict) && listed.n_ranges && listed.n_slabs;
    }
    assert_true(n_skipped > 0 && n_let > 0); /* both were seen */
}

static void without_the_filter_all_that_lies_wrongly_is_a_candidate(void **state)
{
    struct model_run *run = *state;
    struct config *config = model_run_config(run);

    config->scan_filter = SCAN_FILTER_NONE;
    pipeline_commit(run->pipeline, config);
    leave_other(run);
    for (int round = 0; round < ROUNDS_AWAY; round++) {
        struct listed listed;

        model_run_rounds(run, 1);
        listed = list_other(run);
        assert_int_equal(listed.n_candidates, known(&listed));
        assert_true(listed.n_ranges > 0 && listed.n_slabs > 0);
    }
}

/* Its users come back: what they touch is decided about in the very next round. */
static void who_comes_back_is_a_candidate_within_one_pass(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = leave_other(run);

    do
        model_run_rounds(run, 1);
    while (find_space(run)->scans->items[OTHER].verdict != SCAN_INACTIVE);
    assert_int_equal(list_other(run).n_candidates, 0);
    work_on(process, OTHER, WORKLOAD_PAGES);
    model_run_rounds(run, 1);
    assert_int_equal(find_space(run)->scans->items[OTHER].verdict, SCAN_ACTIVE);
    assert_true(list_other(run).n_candidates > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workload_setup, workload_teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_the_last_pass_skipped_is_no_candidate),
        TEST(without_the_filter_all_that_lies_wrongly_is_a_candidate),
        TEST(who_comes_back_is_a_candidate_within_one_pass),
    };

    return cmocka_run_group_tests_name("pipeline-scan", tests, NULL, NULL);
}
