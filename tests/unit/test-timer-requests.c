/*
 * The timer source's requests: how they are gathered, bounded, delivered and discarded, and what
 * outlives what.
 */
#include "timer_world.h"

#include <errno.h>

#include "util/array.h"
#include "util/nsec.h"

/* Many IPs cost few calls, and the same IP is read once. */
static void test_reads_are_gathered(void **state)
{
    struct timer_world world;

    (void)state;
    timer_world_open(&world, false);
    for (unsigned i = 0; i < 200; i++) {
        timer_world_code(&world, CODE_START + 0x100 + i * 16, one_access, sizeof one_access);
        for (unsigned j = 0; j < 3; j++)
            timer_world_sample(&world, TIMER_WORLD_PID, CODE_START + 0x100 + i * 16);
    }
    timer_world_drain(&world);
    assert_int_equal(worker_pool_dispatch(world.pool, 0), 1);
    assert_int_equal(world.n_reads, 1);
    assert_int_equal(timer_world_counts(&world).n_accesses, 600);
    timer_world_close(&world);
}

static void test_process_that_refuses(void **state)
{
    const ssize_t refusals[] = {-ESRCH, -EPERM, -EOPNOTSUPP};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(refusals); i++) {
        struct timer_world world;

        timer_world_open(&world, false);
        world.refuse = refusals[i];
        timer_world_sample(&world, TIMER_WORLD_PID, CODE_START);
        timer_world_sample(&world, TIMER_WORLD_PID, CODE_START + 2 * PAGE);
        timer_world_drain(&world);
        worker_pool_dispatch(world.pool, 0);
        assert_int_equal(world.n_reads, 1); /* not asked again */
        assert_int_equal(timer_world_counts(&world).n_unresolved, 2);
        timer_world_close(&world);
    }
}

/* What a slow process is asked next waits for its answer. */
static void test_one_request_in_flight(void **state)
{
    struct timer_world world;

    (void)state;
    timer_world_open(&world, false);
    timer_world_code(&world, CODE_START, one_access, sizeof one_access);
    for (unsigned i = 0; i < 3; i++) {
        timer_world_sample(&world, TIMER_WORLD_PID, CODE_START);
        timer_world_drain(&world);
        assert_int_equal(worker_pool_pending(world.pool, 0), 1);
    }
    assert_int_equal(worker_pool_dispatch(world.pool, 0), 1);
    assert_int_equal(world.n_accesses, 1);
    timer_world_drain(&world);
    assert_int_equal(worker_pool_dispatch(world.pool, 0), 1);
    assert_int_equal(world.n_accesses, 3);
    timer_world_close(&world);
}

static void test_waiting_samples_are_bounded(void **state)
{
    const unsigned bound = 8192, beyond = 10;
    struct timer_world world;

    (void)state;
    timer_world_open(&world, false);
    timer_world_code(&world, CODE_START, one_access, sizeof one_access);
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START);
    timer_world_drain(&world);
    for (unsigned i = 0; i < bound + beyond; i++) {
        timer_world_sample(&world, TIMER_WORLD_PID, CODE_START);
        if (i % 1000 == 0) /* the ring is smaller */
            timer_world_drain(&world);
    }
    timer_world_drain(&world);
    assert_int_equal(timer_world_counts(&world).n_unresolved, beyond);
    worker_pool_dispatch(world.pool, 0);
    timer_world_drain(&world);
    worker_pool_dispatch(world.pool, 0);
    assert_int_equal(timer_world_counts(&world).n_accesses, 1 + bound);
    timer_world_close(&world);
}

static void test_excluded_meanwhile(void **state)
{
    struct timer_world world;

    (void)state;
    timer_world_open(&world, false);
    timer_world_code(&world, CODE_START, one_access, sizeof one_access);
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START);
    timer_world_drain(&world); /* in flight */
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START);
    timer_world_drain(&world); /* waits */
    world.wanted = TIMER_WORLD_PID + 1;
    worker_pool_dispatch(world.pool, 0);
    timer_world_drain(&world);
    assert_int_equal(worker_pool_dispatch(world.pool, 0), 0);
    assert_int_equal(world.n_accesses, 0);
    assert_int_equal(timer_world_counts(&world).n_foreign, 2);
    timer_world_close(&world);
}

static void test_source_freed_before_its_request_returns(void **state)
{
    struct timer_world world;

    (void)state;
    timer_world_open(&world, false);
    timer_world_code(&world, CODE_START, one_access, sizeof one_access);
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START);
    timer_world_drain(&world);
    source_deinit(&world.source);
    assert_int_equal(worker_pool_dispatch(world.pool, 0), 1);
    assert_int_equal(world.n_accesses, 0);
    timer_world_close(&world);
}

/* One request with the pool, one with the source, and nobody takes either. */
static void test_freed_with_requests_waiting(void **state)
{
    struct timer_world world;

    (void)state;
    timer_world_open(&world, false);
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START);
    timer_world_drain(&world);
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START);
    timer_world_drain(&world);
    timer_world_close(&world);
}

static void ignore_late(void *userdata, pid_t pid, const char *name)
{
    (void)name;
    assert_int_equal(pid, TIMER_WORLD_PID);
    ++*(unsigned *)userdata;
}

static void test_late_request_is_discarded(void **state)
{
    struct timer_world world;
    unsigned n_late = 0;

    (void)state;
    timer_world_open(&world, true);
    timer_world_code(&world, CODE_START + 0x800, one_access, sizeof one_access);
    world.blocks = true;
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START + 0x800);
    timer_world_drain(&world);
    sem_wait(&world.entered);
    worker_pool_check(world.pool, nsec_now() + 3600 * NSEC_PER_SEC, ignore_late, &n_late);
    assert_int_equal(n_late, 1);
    sem_post(&world.leave);
    timer_world_dispatch_one(&world);
    assert_int_equal(world.n_accesses, 0);
    assert_int_equal(timer_world_counts(&world).n_unresolved, 1);
    world.blocks = false;
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START + 0x800);
    timer_world_drain(&world);
    timer_world_dispatch_one(&world);
    assert_int_equal(world.n_accesses, 1); /* and the next one counts again */
    timer_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_are_gathered),
        cmocka_unit_test(test_process_that_refuses),
        cmocka_unit_test(test_one_request_in_flight),
        cmocka_unit_test(test_waiting_samples_are_bounded),
        cmocka_unit_test(test_excluded_meanwhile),
        cmocka_unit_test(test_source_freed_before_its_request_returns),
        cmocka_unit_test(test_freed_with_requests_waiting),
        cmocka_unit_test(test_late_request_is_discarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
