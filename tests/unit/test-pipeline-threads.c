/*
 * Threads that come and go, and threads that do not stay.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "workload.h"

static void replace_all_threads(struct model_run *run)
{
    struct model_process *process = run->model.processes[0];

    for (size_t i = 0; i < process->n_threads; i++)
        process->threads[i].tid += 100;
}

/* Named after the bug: one new thread in each round made every range policy_unknown for ever. */
static void memory_of_short_lived_threads_comes_home(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");

    run->before_dispatch = replace_all_threads;
    model_run_rounds(run, WORKLOAD_LONG);
    assert_true(model_remote_permyriad(&run->model, process) <= 500);
}

static void replace_one_thread(struct model_run *run)
{
    struct model_process *process = run->model.processes[0];

    process->threads[process->n_threads - 1].tid++;
}

static void one_short_lived_thread_does_not_stop_the_others_moves(void **state)
{
    static const int before[] = {0, 0, 1, 1, 0}, after[] = {2, 2, 3, 3, 2};
    struct model_run *run = *state;
    struct model_process *process = model_add_process(&run->model, WORKLOAD_PID, "worker");

    model_add_vma(&run->model, process, WORKLOAD_PAGES, 0);
    model_add_workers(process, before, 5);
    process->threads[4].first = 0; /* it looks at everything */
    process->threads[4].n_pages = WORKLOAD_PAGES;
    process->threads[4].tid = 100000;
    run->before_dispatch = replace_one_thread;
    model_run_rounds(run, 300); /* more threads than there are slots */
    for (size_t i = 0; i < 5; i++)
        process->threads[i].cpu = after[i];
    model_run_rounds(run, WORKLOAD_LONG);
    assert_true(model_remote_permyriad(&run->model, process) <= 500);
}

/*
 * Threads that change their node again and again: without a brake their memory follows each time
 * (30 times in 240 rounds where they change every 8), and the copying eats what it gains.
 */
static void memory_of_bouncing_threads_stops_following(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");

    for (unsigned round = 0; round < 240; round += 8) {
        model_run_rounds(run, 8);
        for (size_t i = 0; i < process->n_threads; i++)
            process->threads[i].cpu = 3 - process->threads[i].cpu;
    }
    /* Cool-downs of 5, 10, 20, 40, 80 rounds: six moves of all of it, after half of it at first. */
    assert_true(run->model.n_migrated <= 7 * WORKLOAD_PAGES);
}

static void memory_that_stayed_follows_at_once_again(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");

    for (unsigned change = 0; change < 3; change++) {
        model_run_rounds(run, 620); /* longer than the longest horizon */
        assert_true(model_remote_permyriad(&run->model, process) <= 500);
        for (size_t i = 0; i < process->n_threads; i++)
            process->threads[i].cpu = 3 - process->threads[i].cpu;
        model_run_rounds(run, WORKLOAD_LONG);
        assert_true(model_remote_permyriad(&run->model, process) <= 500);
    }
}

/* Named after the attack: memory bound after its policy was read was moved against it. */
static void memory_that_was_just_bound_stays(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "worker");
    uint64_t n_migrated;

    model_run_rounds(run, 2 * WORKLOAD_LONG);
    assert_true(model_remote_permyriad(&run->model, process) <= 500);
    n_migrated = run->model.n_migrated;
    process->vmas[0].policy = "bind:0-1"; /* maps shows nothing of it */
    for (size_t i = 0; i < process->n_threads; i++)
        process->threads[i].cpu = 3 - process->threads[i].cpu;
    model_run_rounds(run, WORKLOAD_LONG);
    assert_int_equal(run->model.n_migrated, n_migrated);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, workload_setup, workload_teardown)
    const struct CMUnitTest tests[] = {
        TEST(memory_of_short_lived_threads_comes_home),
        TEST(one_short_lived_thread_does_not_stop_the_others_moves),
        TEST(memory_of_bouncing_threads_stops_following),
        TEST(memory_that_stayed_follows_at_once_again),
        TEST(memory_that_was_just_bound_stays),
    };

    return cmocka_run_group_tests_name("pipeline threads", tests, NULL, NULL);
}
