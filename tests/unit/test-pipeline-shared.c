/* Rounds on a model machine whose processes share memory, and lose each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "attribute/objects.h"
#include "model_run.h"
#include "pipeline_state.h"

#define SERVER 100 /* the lowest pid serves, all else being equal */
#define OWNER 200
#define PAGES (64 * MODEL_MIB_PAGES)
#define LIMIT 30

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

static void use_all(struct model_process *process, int cpu)
{
    process->threads[process->n_threads++] =
        (struct model_thread){.tid = process->pid, .cpu = cpu, .n_pages = PAGES};
}

/* 64 MiB on node 0 that two processes map and use from node 1. */
static struct model_process *init(struct model_run *run)
{
    struct model_process *server, *owner;

    model_run_init(run, &model_two_nodes, 1);
    server = model_add_process(&run->model, SERVER, "server");
    owner = model_add_process(&run->model, OWNER, "owner");
    model_add_shared(server, model_add_vma(&run->model, owner, PAGES, 0));
    use_all(server, 2);
    use_all(owner, 3);
    return owner;
}

static void rounds_until_moved(struct model_run *run, const struct model_process *owner)
{
    for (unsigned n = 0; n < LIMIT && model_pages_on(owner, 1) < PAGES; n++)
        model_run_rounds(run, 1);
}

static uint64_t moved_of(const struct model_run *run, pid_t pid)
{
    return attribute_find(run->pipeline->attribute, pid)->moved_bytes;
}

static void shared_memory_moves_once_for_all(void **state)
{
    struct model_run *run = *state;
    struct model_process *owner = init(run);
    struct status_report report;

    rounds_until_moved(run, owner);
    model_run_rounds(run, LIMIT);
    assert_int_equal(model_pages_on(owner, 1), PAGES);
    assert_int_equal(run->model.n_migrated, PAGES);
    assert_int_equal(model_n_calls(&run->model, MODEL_CALL_MOVE, OWNER), 0);
    assert_true(moved_of(run, SERVER) == PAGES * MODEL_PAGE_BYTES);
    assert_true(moved_of(run, OWNER) == 0);
    report = model_run_status(run);
    assert_int_equal(report.pages_moved, PAGES);
    assert_int_equal(report.pages_failed, 0);
    assert_true(report.remote_permyriad <= 500);
    assert_int_equal(report.vma_reasons.n[REASON_SHARED_MAPPING], 0);
}

static void kill_server(struct model *model, struct model_process *process, bool moves)
{
    if (moves && process->pid == SERVER)
        model_kill(model, process);
}

/* Its ranges were on their way: another mapper must be able to serve for them. */
static void mapper_that_ends_in_the_middle_holds_up_nothing(void **state)
{
    struct model_run *run = *state;
    struct model_process *owner = init(run);

    run->model.before_call = kill_server;
    rounds_until_moved(run, owner);
    assert_true(model_n_calls(&run->model, MODEL_CALL_MOVE, SERVER) > 0);
    assert_int_equal(model_pages_on(owner, 1), PAGES);
    assert_int_equal(run->model.n_migrated, PAGES);
}

static void without_cap_sys_nice_shared_memory_is_observed(void **state)
{
    struct model_run *run = *state;
    struct model_process *owner = init(run), *other;
    struct status_report report;

    run->model.no_move_all = true;
    other = model_add_process(&run->model, 300, "private");
    model_add_vma(&run->model, other, PAGES, 0);
    use_all(other, 2);
    model_run_rounds(run, LIMIT);
    assert_int_equal(model_pages_on(owner, 0), PAGES);
    assert_int_equal(model_pages_on(other, 1), PAGES); /* which needs no such right */
    assert_int_equal(run->n_log, 1);
    assert_non_null(strstr(run->log, "shared memory"));
    report = model_run_status(run);
    assert_true(report.pages_observed >= PAGES - MODEL_HUGE_PAGES * 8);
    assert_string_not_equal(model_run_state(run, SERVER), "no_permission");
}

/* Used evenly from both nodes it stays, whoever maps it. */
static void memory_that_two_processes_share_evenly_stays(void **state)
{
    struct model_run *run = *state;
    struct model_process *owner = init(run);

    owner->threads[0].cpu = 0;
    model_run_rounds(run, 2 * LIMIT);
    assert_true(run->model.n_migrated < PAGES / 100);
    assert_true(pipeline_plan(run->pipeline)->reasons.n[REASON_SHARED] > 0);
}

/* What a thread uses that has a policy of its own is its owner's, also where others use it. */
static void thread_with_a_policy_of_its_own_leaves_it_alone(void **state)
{
    struct model_run *run = *state;

    init(run)->threads[0].policy = "bind:0";
    model_run_rounds(run, LIMIT);
    assert_int_equal(run->model.n_migrated, 0);
    assert_true(pipeline_plan(run->pipeline)->reasons.n[REASON_THREAD_POLICY] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shared_memory_moves_once_for_all, setup, teardown),
        cmocka_unit_test_setup_teardown(mapper_that_ends_in_the_middle_holds_up_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_cap_sys_nice_shared_memory_is_observed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(memory_that_two_processes_share_evenly_stays, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(thread_with_a_policy_of_its_own_leaves_it_alone, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
