/* What a request finds in its thread, and pools without threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>

#include "worker-job.h"

static void check_thread(struct work *work)
{
    struct job *job = (struct job *)work;

    assert_string_equal(job->thread_name, "numabd-lane2");
    assert_int_equal(sigismember(&job->mask, SIGTERM), 1);
    assert_int_equal(sigismember(&job->mask, SIGHUP), 1);
    assert_int_equal(sigismember(&job->mask, SIGCHLD), 1);
    job_done(work);
}

static void burn(struct work *work)
{
    uint64_t start_nsec = nsec_of_clock(CLOCK_THREAD_CPUTIME_ID);

    while (nsec_of_clock(CLOCK_THREAD_CPUTIME_ID) - start_nsec < NSEC_PER_MSEC)
        ;
    job_run(work);
}

static void check_burnt(struct work *work)
{
    assert_true(work->cpu_nsec >= NSEC_PER_MSEC);
    assert_true(work->started_nsec > 0);
    assert_true(work->started_nsec <= nsec_now());
    job_done(work);
}

static void test_threads_are_named_and_block_signals(void **state)
{
    const struct work_ops ops = {
        .name = "job", .run = job_run, .done = check_thread, .free = job_free};
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct record record = {0};
    struct job *job = job_new(&record, 0);
    sigset_t mask;

    (void)state;
    job->work.ops = &ops;
    assert_int_equal(worker_pool_new(&pool, 3), 0);
    worker_pool_submit(pool, 2, &job->work);
    dispatch_until(pool, &record, 1);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_int_equal(sigismember(&mask, SIGTERM), 0); /* the loop's own mask is as it was */
}

static void test_cpu_time_is_measured(void **state)
{
    const struct work_ops ops = {.name = "job", .run = burn, .done = check_burnt, .free = job_free};
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct record record = {0};
    struct job *job = job_new(&record, 0);

    (void)state;
    job->work.ops = &ops;
    assert_int_equal(worker_pool_new(&pool, 1), 0);
    worker_pool_submit(pool, 0, &job->work);
    dispatch_until(pool, &record, 1);
}

static void test_inline_runs_in_dispatch_in_order(void **state)
{
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct record record = {0}, told = {0};

    (void)state;
    assert_int_equal(worker_pool_new_inline(&pool), 0);
    assert_int_equal(worker_pool_fd(pool), -1);
    for (int id = 0; id < 5; id++)
        submit(pool, (size_t)(4 - id), &record, id);
    assert_int_equal(worker_pool_pending(pool, 0), 5);
    assert_int_equal(record.n_done, 0);
    worker_pool_check(pool, AFTER_ALL, count_late, &told);
    assert_int_equal(told.n_done, 0);
    assert_int_equal(worker_pool_dispatch(pool, 2), 2);
    assert_int_equal(worker_pool_pending(pool, 0), 3);
    assert_int_equal(worker_pool_dispatch(pool, 0), 3);
    assert_int_equal(worker_pool_dispatch(pool, 0), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(record.order[i], i);
    submit(pool, 0, &record, 9);
    pool = worker_pool_free(pool);
    assert_int_equal(record.n_freed, 1);
}

struct chain {
    struct job job;
    struct worker_pool *pool;
};

static void chain_done(struct work *work)
{
    struct chain *chain = (struct chain *)work;

    submit(chain->pool, 0, chain->job.record, 2);
    job_done(work);
}

static void test_done_may_submit(void **state)
{
    const struct work_ops ops = {
        .name = "job", .run = job_run, .done = chain_done, .free = job_free};
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct record record = {0};
    struct chain *chain = calloc(1, sizeof *chain);

    (void)state;
    assert_non_null(chain);
    assert_int_equal(worker_pool_new_inline(&pool), 0);
    chain->job = (struct job){.work = {.ops = &ops}, .id = 1, .record = &record};
    chain->job.started_fd = chain->job.gate_fd = chain->job.freed_fd = -1;
    chain->pool = pool;
    worker_pool_submit(pool, 0, &chain->job.work);
    assert_int_equal(worker_pool_dispatch(pool, 0), 1);
    assert_int_equal(worker_pool_dispatch(pool, 0), 1);
    assert_int_equal(record.order[0], 1);
    assert_int_equal(record.order[1], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_are_named_and_block_signals),
        cmocka_unit_test(test_cpu_time_is_measured),
        cmocka_unit_test(test_inline_runs_in_dispatch_in_order),
        cmocka_unit_test(test_done_may_submit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
