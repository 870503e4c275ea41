/* From plan to requests: batches, queues, lanes, observing, learned cost. */
#include "migrate_bed.h"

#include <errno.h>
#include <unistd.h>

static void moves_travel_by_process_and_node_in_batches(void **state)
{
    static const struct seen expected[] = {
        {.pid = PID, .node = 2, .n_ranges = 8}, {.pid = PID, .node = 2, .n_ranges = 8},
        {.pid = PID, .node = 2, .n_ranges = 4}, {.pid = TWIN, .node = 2, .n_ranges = 3},
        {.pid = PID, .node = 5, .n_ranges = 1}, {.pid = TWIN, .node = 5, .n_ranges = 8},
    };
    struct bed *bed = *state;

    plan_moves(bed, PID, 2, 0, 20);
    plan_moves(bed, TWIN, 2, 0, 3);
    plan_moves(bed, PID, 5, 40, 1);
    plan_moves(bed, TWIN, 5, 40, 8);
    submit(bed);
    assert_int_equal(bed->n_seen, 0);
    dispatch(bed);
    assert_int_equal(bed->n_seen, ARRAY_LENGTH(expected));
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
        assert_int_equal(bed->seen[i].pid, expected[i].pid);
        assert_int_equal(bed->seen[i].node, expected[i].node);
        assert_int_equal(bed->seen[i].n_ranges, expected[i].n_ranges);
        assert_int_equal(bed->seen[i].ledger.n_moved, 512 * expected[i].n_ranges);
        assert_false(bed->seen[i].gone);
    }
    for (size_t i = 0; i < bed->model.n_calls; i++)
        assert_true(bed->model.calls[i].n <= MIGRATE_BATCH_PAGES);
    assert_int_equal(migrate_counts(bed->migrate)->ledger.n_moved, 32 * 512);
    assert_int_equal(migrate_counts(bed->migrate)->moved_bytes, 32 * RANGE_BYTES);
}

static void range_is_moving_until_its_outcome(void **state)
{
    struct bed *bed = *state;

    plan_moves(bed, PID, 2, 0, 1);
    submit(bed);
    assert_true(find_range(bed, PID, 0)->moving);
    assert_false(find_range(bed, PID, 1)->moving);
    assert_int_equal(attribute_find(bed->attribute, PID)->n_planned, 1);
}

static void move_of_what_was_forgotten_is_left_out(void **state)
{
    struct bed *bed = *state;

    plan_moves(bed, PID, 2, RANGES + 5, 1); /* no such range */
    plan_moves(bed, 4711, 2, 0, 1);         /* no such process */
    attribute_drop(bed->attribute, TWIN);
    plan_moves(bed, TWIN, 2, 0, 1);
    submit(bed);
    dispatch(bed);
    assert_int_equal(bed->n_seen, 0);
    assert_int_equal(model_n_calls(&bed->model, MODEL_CALL_MOVE, TWIN), 0);
}

static void allowance_is_the_rate_less_what_waits(void **state)
{
    struct bed *bed = *state;
    const uint64_t rate = (uint64_t)1 << 30;

    assert_int_equal(allowance(bed, 2), rate);
    plan_moves(bed, PID, 2, 0, 20);
    submit(bed);
    assert_int_equal(allowance(bed, 2), rate - 20 * RANGE_BYTES);
    assert_int_equal(allowance(bed, 5), rate);
    dispatch(bed);
    assert_int_equal(allowance(bed, 2), rate);
    bed->config->interval_nsec = NSEC_PER_SEC / 4;
    assert_int_equal(allowance(bed, 2), rate / 4);
    /* A batch fits in any case. */
    bed->config->migration_rate_bytes = 1 << 20;
    assert_int_equal(allowance(bed, 2), MIGRATE_BATCH_PAGES * MODEL_PAGE_BYTES);
    plan_moves(bed, PID, 2, 20, 8);
    submit(bed);
    assert_int_equal(allowance(bed, 2), 0);
}

static void full_queue_allows_nothing(void **state)
{
    struct bed *bed = *state;

    plan_moves(bed, PID, 2, 0, 8 * MIGRATE_QUEUE_MAX - 8);
    submit(bed);
    assert_true(allowance(bed, 2) > 0);
    plan_moves(bed, PID, 2, 90, 1);
    submit(bed);
    assert_int_equal(allowance(bed, 2), 0);
    assert_true(allowance(bed, 0) > 0);
    dispatch(bed);
    assert_true(allowance(bed, 2) > 0);
}

/* The gate is a pipe: a move does not return before a byte is written. */
static long gated_move_pages(void *self, pid_t pid, size_t n, void *const *pages, const int *nodes,
                             int *status, int flags)
{
    char byte;

    (void)pid, (void)n, (void)pages, (void)nodes, (void)status, (void)flags;
    if (read(((int *)self)[0], &byte, 1) != 1)
        return -EIO;
    return -ESRCH;
}

static void each_node_with_memory_has_its_own_lane(void **state)
{
    static const struct {
        int node;
        size_t lane;
    } lanes[] = {{0, 1}, {2, 2}, {5, 3}};
    static const struct host_ops ops = {.move_pages = gated_move_pages};
    struct bed *bed = *state;
    struct worker_pool *pool = NULL;
    struct host host;
    int gate[2];

    assert_int_equal(pipe(gate), 0);
    host = (struct host){.ops = &ops, .self = gate, .page_bytes = MODEL_PAGE_BYTES};
    assert_int_equal(worker_pool_new(&pool, 1 + (size_t)bed->topology->n_memory_nodes), 0);
    bed_new_migrate(bed, &host, pool);
    for (size_t i = 0; i < ARRAY_LENGTH(lanes); i++) {
        plan_moves(bed, PID, lanes[i].node, 10 * i, 1);
        submit(bed);
        for (size_t lane = 0; lane < 4; lane++)
            assert_int_equal(worker_pool_pending(pool, lane), lane > 0 && lane <= i + 1);
    }
    assert_int_equal(write(gate[1], "abc", 3), 3);
    while (bed->n_seen < 3)
        worker_pool_dispatch(pool, 0);
    for (size_t i = 0; i < 3; i++)
        assert_true(bed->seen[i].gone);
    worker_pool_free(pool);
    close(gate[0]);
    close(gate[1]);
}

static void observed_move_is_counted_once_for_each_node(void **state)
{
    struct bed *bed = *state;
    const struct migrate_counts *counts = migrate_counts(bed->migrate);

    for (int turn = 0; turn < 3; turn++) {
        plan_moves(bed, PID, 2, 0, 2);
        bed->plan.moves[0].observe = bed->plan.moves[1].observe = true;
        submit(bed);
        dispatch(bed);
        assert_int_equal(counts->n_observed, 2 * 512);
    }
    plan_moves(bed, PID, 5, 0, 1);
    bed->plan.moves[0].observe = true;
    submit(bed);
    assert_int_equal(counts->n_observed, 3 * 512);
    assert_int_equal(counts->ledger.n_tried, 0);
    assert_int_equal(bed->n_seen, 0);
    assert_false(find_range(bed, PID, 0)->moving);
    assert_int_equal(model_n_calls(&bed->model, MODEL_CALL_MOVE, PID), 0);
}

/* Every call takes 10 ms of CPU time, as on a busy machine. */
static void burn_call(struct model *model, struct model_process *process, bool moves)
{
    uint64_t end = nsec_of_clock(CLOCK_THREAD_CPUTIME_ID) + 10 * NSEC_PER_MSEC;

    (void)model, (void)process, (void)moves;
    while (nsec_of_clock(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

static void one_page_does_not_spoil_the_learned_cost(void **state)
{
    struct bed *bed = *state;
    const struct migrate_counts *counts = migrate_counts(bed->migrate);
    struct model_vma *vma = &model_find(&bed->model, PID)->vmas[0];

    assert_true(counts->sec_per_byte == DECIDE_SEC_PER_BYTE);
    for (size_t page = 1; page < 512; page++)
        vma->pages[page].at = 2;
    bed->model.before_call = burn_call;
    plan_moves(bed, PID, 2, 0, 1);
    submit(bed);
    dispatch(bed);
    assert_int_equal(counts->ledger.n_moved, 1);
    assert_true(counts->cpu_nsec >= 20 * NSEC_PER_MSEC);
    assert_true(counts->sec_per_byte > DECIDE_SEC_PER_BYTE);
    assert_true(counts->sec_per_byte < 2 * DECIDE_SEC_PER_BYTE);
}

static void move_of_nothing_teaches_nothing(void **state)
{
    struct bed *bed = *state;
    struct model_vma *vma = &model_find(&bed->model, PID)->vmas[0];

    for (size_t page = 0; page < 512; page++)
        vma->pages[page].flags = MODEL_PAGE_HELD;
    plan_moves(bed, PID, 2, 0, 1);
    submit(bed);
    dispatch(bed);
    assert_int_equal(migrate_counts(bed->migrate)->ledger.n_failed, 512);
    assert_true(migrate_counts(bed->migrate)->sec_per_byte == DECIDE_SEC_PER_BYTE);
}

/* 20 ms or more for each 16 MiB, so over 1.2 s a GiB: the guess of 1 s gives way. */
static void cost_is_learned_from_many_bytes(void **state)
{
    struct bed *bed = *state;
    double before = DECIDE_SEC_PER_BYTE;

    bed->model.before_call = burn_call;
    for (int turn = 0; turn < 5; turn++) {
        plan_moves(bed, PID, turn % 2 ? 0 : 2, 0, RANGES / 4);
        submit(bed);
        dispatch(bed);
        assert_true(migrate_counts(bed->migrate)->sec_per_byte > before);
        before = migrate_counts(bed->migrate)->sec_per_byte;
    }
}

static void ended_process_is_not_called(void **state)
{
    struct bed *bed = *state;

    plan_moves(bed, PID, 2, 0, 4);
    submit(bed);
    model_kill(&bed->model, model_find(&bed->model, PID));
    dispatch(bed);
    assert_int_equal(bed->n_seen, 1);
    assert_true(bed->seen[0].gone);
    assert_int_equal(bed->seen[0].ledger.n_tried, 0);
    assert_int_equal(model_n_calls(&bed->model, MODEL_CALL_QUERY, PID), 0);
}

static void refused_call_is_told(void **state)
{
    struct bed *bed = *state;

    model_find(&bed->model, PID)->denied = true;
    plan_moves(bed, PID, 2, 0, 4);
    plan_moves(bed, TWIN, 2, 0, 4);
    submit(bed);
    dispatch(bed);
    assert_int_equal(bed->n_seen, 2);
    assert_int_equal(bed->seen[0].call_error, EPERM);
    assert_false(bed->seen[0].gone);
    assert_int_equal(bed->seen[1].call_error, 0);
    assert_int_equal(bed->seen[1].ledger.n_moved, 4 * 512);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(moves_travel_by_process_and_node_in_batches),
        TEST(range_is_moving_until_its_outcome),
        TEST(move_of_what_was_forgotten_is_left_out),
        TEST(allowance_is_the_rate_less_what_waits),
        TEST(full_queue_allows_nothing),
        TEST(each_node_with_memory_has_its_own_lane),
        TEST(observed_move_is_counted_once_for_each_node),
        TEST(one_page_does_not_spoil_the_learned_cost),
        TEST(move_of_nothing_teaches_nothing),
        TEST(cost_is_learned_from_many_bytes),
        TEST(ended_process_is_not_called),
        TEST(refused_call_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
