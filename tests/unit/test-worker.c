/* Lanes, late requests and the end of a pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "worker-job.h"

static void test_a_lane_keeps_order(void **state)
{
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct record record = {0};

    (void)state;
    assert_int_equal(worker_pool_new(&pool, 2), 0);
    for (int id = 0; id < 50; id++)
        submit(pool, 1, &record, id);
    dispatch_until(pool, &record, 50);
    for (int i = 0; i < 50; i++)
        assert_int_equal(record.order[i], i);
    assert_int_equal(record.n_late, 0);
    assert_false(fd_readable(worker_pool_fd(pool)));
}

static void test_a_blocked_lane_does_not_hold_up_another(void **state)
{
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct gate gate = gate_open();
    struct record record = {0};

    (void)state;
    assert_int_equal(worker_pool_new(&pool, 2), 0);
    submit_blocked(pool, 0, &record, 7, &gate);
    submit(pool, 0, &record, 8);
    wait_byte(gate.started[0]);
    submit(pool, 3, &record, 1); /* lane 1: 3 modulo 2 */
    dispatch_until(pool, &record, 1);
    assert_int_equal(record.order[0], 1);
    assert_int_equal(worker_pool_pending(pool, 0), 2);
    assert_int_equal(worker_pool_pending(pool, 1), 0);
    gate_release(&gate);
    dispatch_until(pool, &record, 3);
    assert_int_equal(record.order[1], 7);
    assert_int_equal(record.order[2], 8);
    assert_int_equal(worker_pool_pending(pool, 0), 0);
    gate_close(&gate);
}

static void test_a_late_request_is_told_once_and_delivered_later(void **state)
{
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct gate gate = gate_open();
    struct record record = {0}, told = {0};

    (void)state;
    assert_int_equal(worker_pool_new(&pool, 1), 0);
    submit_blocked(pool, 0, &record, 5, &gate);
    submit(pool, 0, &record, 6);
    wait_byte(gate.started[0]);
    worker_pool_check(pool, 0, count_late, &told); /* no time has passed */
    assert_int_equal(told.n_done, 0);
    assert_int_equal(worker_pool_lost(pool), 0);
    worker_pool_check(pool, AFTER_ALL, count_late, &told);
    assert_int_equal(told.n_done, 1);
    assert_int_equal(told.order[0], 5);
    assert_int_equal(worker_pool_lost(pool), 1);
    dispatch_until(pool, &record, 1); /* the next one, by the new thread */
    assert_int_equal(record.order[0], 6);
    assert_int_equal(record.n_late, 0);
    worker_pool_check(pool, AFTER_ALL, count_late, &told);
    assert_int_equal(told.n_done, 1);
    gate_release(&gate);
    dispatch_until(pool, &record, 2);
    assert_int_equal(record.order[1], 5);
    assert_int_equal(record.n_late, 1);
    assert_int_equal(worker_pool_lost(pool), 0);
    gate_close(&gate);
}

/* For worker_pool_on_returned: adds 1000 + the job's id to the record. */
static void count_returned(void *userdata, pid_t pid)
{
    struct record *record = userdata;

    record->order[record->n_done++] = 1000 + pid - 100;
}

static void test_the_return_of_late_requests_is_told_before_done(void **state)
{
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct gate gate = gate_open();
    struct record record = {0}, told = {0};

    (void)state;
    assert_int_equal(worker_pool_new(&pool, 1), 0);
    worker_pool_on_returned(pool, count_returned, &record);
    submit_blocked(pool, 0, &record, 5, &gate);
    submit(pool, 0, &record, 6);
    wait_byte(gate.started[0]);
    worker_pool_check(pool, AFTER_ALL, count_late, &told);
    dispatch_until(pool, &record, 1);
    assert_int_equal(record.order[0], 6); /* in time: not told */
    gate_release(&gate);
    dispatch_until(pool, &record, 3);
    assert_int_equal(record.order[1], 1005);
    assert_int_equal(record.order[2], 5);
    gate_close(&gate);
}

static void test_no_deadline_never_is_late(void **state)
{
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct gate gate = gate_open();
    struct record record = {0}, told = {0};
    struct job *job = job_new(&record, 1);

    (void)state;
    job->work.timeout_nsec = NSEC_NEVER;
    job->started_fd = gate.started[1];
    job->gate_fd = gate.gate[0];
    assert_int_equal(worker_pool_new(&pool, 1), 0);
    worker_pool_submit(pool, 0, &job->work);
    wait_byte(gate.started[0]);
    worker_pool_check(pool, NSEC_NEVER, count_late, &told);
    assert_int_equal(told.n_done, 0);
    gate_release(&gate);
    dispatch_until(pool, &record, 1);
    gate_close(&gate);
}

static void test_lost_threads_have_a_limit(void **state)
{
    enum {
        N_JOBS = WORKER_LOST_MAX + 2
    };
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct gate gates[N_JOBS];
    struct record record = {0}, told = {0};

    (void)state;
    assert_int_equal(worker_pool_new(&pool, 1), 0);
    for (int i = 0; i < N_JOBS; i++) {
        gates[i] = gate_open();
        submit_blocked(pool, 0, &record, i, &gates[i]);
    }
    for (int i = 0; i <= WORKER_LOST_MAX; i++) {
        wait_byte(gates[i].started[0]);
        worker_pool_check(pool, AFTER_ALL, count_late, &told);
        assert_int_equal(told.n_done, i + 1);
        assert_int_equal(worker_pool_lost(pool), i < WORKER_LOST_MAX ? i + 1 : WORKER_LOST_MAX);
    }
    worker_pool_check(pool, AFTER_ALL, count_late, &told); /* blocked, and told once only */
    assert_int_equal(told.n_done, WORKER_LOST_MAX + 1);
    assert_int_equal(worker_pool_pending(pool, 0), 2);
    assert_false(fd_readable(gates[N_JOBS - 1].started[0]));

    gate_release(&gates[2]); /* one lost thread comes back: its place is used at the next check */
    dispatch_until(pool, &record, 1);
    assert_int_equal(record.order[0], 2);
    assert_int_equal(worker_pool_lost(pool), WORKER_LOST_MAX - 1);
    worker_pool_check(pool, AFTER_ALL, count_late, &told);
    assert_int_equal(worker_pool_lost(pool), WORKER_LOST_MAX);
    wait_byte(gates[N_JOBS - 1].started[0]);

    for (int i = 0; i < N_JOBS; i++)
        gate_release(&gates[i]);
    dispatch_until(pool, &record, N_JOBS);
    assert_int_equal(record.n_late, N_JOBS - 1);
    assert_int_equal(worker_pool_lost(pool), 0);
    submit(pool, 0, &record, 50); /* the lane still serves */
    dispatch_until(pool, &record, N_JOBS + 1);
    for (int i = 0; i < N_JOBS; i++)
        gate_close(&gates[i]);
}

static void test_the_limit_is_the_pools_not_the_lanes(void **state)
{
    enum {
        N_LANES = WORKER_LOST_MAX + 2
    };
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct gate gate = gate_open();
    struct record record = {0}, told = {0};

    (void)state;
    assert_int_equal(worker_pool_new(&pool, N_LANES), 0);
    for (int lane = 0; lane < N_LANES; lane++)
        submit_blocked(pool, (size_t)lane, &record, lane, &gate);
    for (int lane = 0; lane < N_LANES; lane++)
        wait_byte(gate.started[0]);
    worker_pool_check(pool, AFTER_ALL, count_late, &told);
    assert_int_equal(told.n_done, N_LANES);
    assert_int_equal(worker_pool_lost(pool), WORKER_LOST_MAX);
    gate_release(&gate);
    dispatch_until(pool, &record, N_LANES);
    assert_int_equal(record.n_late, N_LANES);
    gate_close(&gate);
}

/* Blocked: one lost and one not yet known to be late. Waiting and finished requests are freed. */
static void test_free_leaves_blocked_threads_behind(void **state)
{
    struct worker_pool *pool = NULL;
    struct gate gate = gate_open();
    struct record record = {0}, told = {0};
    int freed[2];

    (void)state;
    assert_int_equal(pipe(freed), 0);
    assert_int_equal(worker_pool_new(&pool, 3), 0);
    for (int i = 0; i < 2; i++) {
        struct job *job = job_new(&record, i);

        job->started_fd = gate.started[1];
        job->gate_fd = gate.gate[0];
        job->freed_fd = freed[1];
        worker_pool_submit(pool, 0, &job->work);
        wait_byte(gate.started[0]);
        if (i == 0)
            worker_pool_check(pool, AFTER_ALL, count_late, &told);
    }
    submit(pool, 0, &record, 10);
    submit(pool, 0, &record, 11);
    submit(pool, 1, &record, 12);
    wait_readable(worker_pool_fd(pool));
    assert_null(worker_pool_free(pool));
    assert_int_equal(record.n_freed, 3);
    assert_int_equal(record.n_done, 0);
    assert_false(fd_readable(freed[0])); /* still blocked */
    gate_release(&gate);
    wait_byte(freed[0]);
    wait_byte(freed[0]);
    gate_close(&gate);
    fd_close(freed[0]);
    fd_close(freed[1]);
}

/* What waits at the end is not carried out while one waits for what runs. */
static void test_winding_down_drops_what_waits(void **state)
{
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct gate gate = gate_open();
    struct record record = {0};

    (void)state;
    assert_int_equal(worker_pool_new(&pool, 2), 0);
    submit(pool, 1, &record, 1);
    wait_idle(pool, 1);
    submit_blocked(pool, 0, &record, 2, &gate);
    wait_byte(gate.started[0]);
    submit(pool, 0, &record, 3);
    submit(pool, 0, &record, 4);
    worker_pool_wind_down(pool);
    assert_int_equal(record.n_freed, 2);
    submit(pool, 1, &record, 5);
    assert_int_equal(record.n_freed, 3);
    assert_int_equal(worker_pool_pending(pool, 0), 1);
    assert_int_equal(worker_pool_pending(pool, 1), 0);
    gate_release(&gate);
    dispatch_until(pool, &record, 2);
    wait_idle(pool, 0);
    assert_int_equal(record.order[0], 1);
    assert_int_equal(record.order[1], 2);
    gate_close(&gate);
}

#define RECALLED 100 /* from here on the record holds what was recalled */

static void on_recalled(struct work *work)
{
    struct job *job = (struct job *)work;

    job->record->order[RECALLED + job->record->n_late++] = job->id;
    work->ops->free(work);
}

static void test_what_waits_can_be_recalled_by_its_kind(void **state)
{
    static const struct work_ops others = {
        .name = "other", .run = job_run, .done = job_done, .free = job_free};
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct gate gate = gate_open();
    struct record record = {0};
    struct job *other = job_new(&record, 4);
    const struct work_ops *kind = other->work.ops;

    (void)state;
    assert_int_equal(worker_pool_new(&pool, 1), 0);
    submit_blocked(pool, 0, &record, 1, &gate);
    wait_byte(gate.started[0]);
    for (int id = 2; id <= 3; id++)
        submit(pool, 0, &record, id);
    other->work.ops = &others;
    worker_pool_submit(pool, 0, &other->work);
    submit(pool, 0, &record, 5);
    worker_pool_recall(pool, 0, kind, on_recalled);
    assert_int_equal(record.n_late, 3);
    assert_int_equal(record.order[RECALLED], 2);
    assert_int_equal(record.order[RECALLED + 1], 3);
    assert_int_equal(record.order[RECALLED + 2], 5);
    assert_int_equal(record.n_freed, 3);
    gate_release(&gate);
    dispatch_until(pool, &record, 2); /* the one that ran, and the other kind */
    assert_int_equal(record.order[0], 1);
    assert_int_equal(record.order[1], 4);
    gate_close(&gate);
}

static void test_many_requests(void **state)
{
    enum {
        N_LANES = 4,
        LIMIT = 100
    };
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    CLEANUP(freep) struct record *record = calloc(1, sizeof *record);
    int next[N_LANES] = {0};

    (void)state;
    assert_non_null(record);
    assert_int_equal(worker_pool_new(&pool, N_LANES), 0);
    for (int id = 0; id < N_MANY; id++)
        submit(pool, (size_t)id, record, id);
    while (record->n_done < N_MANY) {
        wait_readable(worker_pool_fd(pool));
        assert_in_range(worker_pool_dispatch(pool, LIMIT), 1, LIMIT);
    }
    assert_int_equal(worker_pool_dispatch(pool, 0), 0);
    for (int i = 0; i < N_MANY; i++) {
        int lane = record->order[i] % N_LANES;

        assert_int_equal(record->order[i] / N_LANES, next[lane]++);
    }
}

static void test_the_limit_of_dispatch_leaves_the_fd_readable(void **state)
{
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct record record = {0};

    (void)state;
    assert_int_equal(worker_pool_new(&pool, 1), 0);
    for (int id = 0; id < 3; id++)
        submit(pool, 0, &record, id);
    wait_idle(pool, 0);
    assert_int_equal(worker_pool_dispatch(pool, 2), 2);
    assert_true(fd_readable(worker_pool_fd(pool)));
    assert_int_equal(worker_pool_dispatch(pool, 2), 1);
    assert_false(fd_readable(worker_pool_fd(pool)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lane_keeps_order),
        cmocka_unit_test(test_a_blocked_lane_does_not_hold_up_another),
        cmocka_unit_test(test_a_late_request_is_told_once_and_delivered_later),
        cmocka_unit_test(test_the_return_of_late_requests_is_told_before_done),
        cmocka_unit_test(test_no_deadline_never_is_late),
        cmocka_unit_test(test_lost_threads_have_a_limit),
        cmocka_unit_test(test_the_limit_is_the_pools_not_the_lanes),
        cmocka_unit_test(test_free_leaves_blocked_threads_behind),
        cmocka_unit_test(test_winding_down_drops_what_waits),
        cmocka_unit_test(test_many_requests),
        cmocka_unit_test(test_the_limit_of_dispatch_leaves_the_fd_readable),
        cmocka_unit_test(test_what_waits_can_be_recalled_by_its_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
