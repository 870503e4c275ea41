/*
 * write_fault while its targets go, come back, hang and execute.
 */
#include "fault_world.h"

#include "sample/fault/fault_guard.h"
#include "sample/fault/fault_pace.h"
#include "sample/fault/fault_window.h"
#include "util/array.h"

#define PID 4711
#define SMALL_PAGES 2560 /* 10 MiB */

static void end_process(struct fault_world *world, struct fault_process *process)
{
    (void)world;
    process->gone = true;
}

/* It ends, and another process gets its pid, which must not be cleared in its place. */
static void reuse_pid(struct fault_world *world, struct fault_process *process)
{
    struct fault_process *next = world_add(world, process->pid, SMALL_PAGES);

    process->gone = true;
    next->told_ticks = next->start_ticks = 99999;
}

static void test_gone_between_guard_and_clear(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    world.before_write = end_process;
    assert_int_equal(world_round(&world, 0), 0);
    assert_int_equal(process->n_cleared, 0);
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world_scope->n_covered, 0);
    world_close(&world);
}

static void test_pid_used_again_between_guard_and_clear(void **state)
{
    struct fault_world world;

    (void)state;
    world_open(&world);
    world_add(&world, PID, SMALL_PAGES);
    world.before_write = reuse_pid;
    assert_int_equal(world_round(&world, 0), 0);
    assert_int_equal(world.processes[1].n_cleared, 0);
    world.before_write = NULL;
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0); /* a target of its own now */
    assert_int_equal(world.processes[1].n_cleared, 1);
    world_close(&world);
}

/* The round means a process that has ended; another has its pid. */
static void test_pid_used_again_before_the_guard(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    process->start_ticks = 99999;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(process->n_cleared, 0);
    process->told_ticks = 99999; /* the new one is a target, too: at once */
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(process->n_cleared, 1);
    world_close(&world);
}

/* Nobody knows whose the window's last faults were. */
static void test_pid_used_again_in_the_window(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    assert_int_equal(world_round(&world, 0), 0);
    process->cpu_ticks += 100;
    world_write(&world, process, PID, 1);
    assert_int_equal(world.source.ops->drain(world.source.self), 0);
    process->start_ticks = 99999;
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 0);
    assert_int_equal(process->n_cleared, 1);
    assert_int_equal(world_counts(&world).n_foreign, 1);
    world_close(&world);
}

/* Addresses of before the exec mean nothing in the new program. */
static void test_exec_drops_the_window(void **state)
{
    struct fault_world world;
    struct fault_process *process;
    char text[512];

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    assert_int_equal(world_round(&world, 0), 0);
    process->cpu_ticks += 100;
    world_write(&world, process, PID, 1);
    process->stack_start = 0x7ffd1000;
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 0);
    world_describe(&world, text);
    assert_non_null(strstr(text, "1 windows ended by exec"));
    assert_int_equal(process->n_cleared, 2); /* and it begins anew at once */
    process->cpu_ticks += 100;
    world_write(&world, process, PID, 2);
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 1);
    world_close(&world);
}

static void test_target_that_drops_out_in_its_window(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    assert_int_equal(world_round(&world, 0), 0);
    process->cpu_ticks += 100;
    world_write(&world, process, PID, 1);
    process->is_target = false;
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 0);
    assert_int_equal(world_scope->n_covered, 0);
    process->is_target = true;
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(process->n_cleared, 2);
    world_close(&world);
}

/* The filter is asked at each record and before a window is delivered (a stuck process). */
static void test_unwanted_process(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    assert_int_equal(world_round(&world, 0), 0);
    process->cpu_ticks += 100;
    world_write(&world, process, PID, 1);
    assert_int_equal(world.source.ops->drain(world.source.self), 0);
    world.wanted = false;
    world_write(&world, process, PID, 2);
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 0);
    assert_int_equal(world.source.ops->drain(world.source.self), 0);
    assert_int_equal(world_counts(&world).n_samples, 2);
    assert_int_equal(world_counts(&world).n_foreign, 2);
    world_close(&world);
}

/* Records of before the clear are no first writes, whenever they are read. */
static void test_faults_of_before_the_clear_are_dropped(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    world.now += 5 * NSEC_PER_MSEC;
    world_record(&world, PID, PID, WORLD_MEMORY); /* older than the clear */
    assert_int_equal(world_round(&world, NSEC_PER_MSEC), 0);
    process->cpu_ticks += 100;
    world_record(&world, PID, PID, WORLD_MEMORY + WORLD_PAGE_BYTES);
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 1);
    assert_int_equal(world.accesses[0].addr, WORLD_MEMORY + WORLD_PAGE_BYTES);
    assert_int_equal(world_counts(&world).n_foreign, 1);
    world_close(&world);
}

/* Other processes of the cgroup, exiting tasks, kernel addresses, instruction fetches, odd sizes.
 */
static void test_odd_records(void **state)
{
    struct fault_world world;
    struct fault_process *process;
    struct sample_counts counts;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    assert_int_equal(world_round(&world, 0), 0);
    process->cpu_ticks += 100;
    world_record(&world, PID + 1, PID + 1, WORLD_MEMORY);
    world_record(&world, -1, -1, WORLD_MEMORY);
    world_record(&world, 0, 0, WORLD_MEMORY);
    world_record(&world, PID, PID, WORLD_MEMORY);
    world_scope->records[world_scope->n_records - 1].header.size -= 8;
    world_record(&world, PID, PID, UINT64_C(0xffff888000000000));
    world_record(&world, PID, PID, 0x401000); /* the IP */
    world_record(&world, PID, PID, 0x401000 - 1);
    world_record(&world, PID, PID, 0);
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    counts = world_counts(&world);
    assert_int_equal(counts.n_samples, 8);
    assert_int_equal(counts.n_foreign, 4);
    assert_int_equal(counts.n_unresolved, 3);
    assert_int_equal(counts.n_accesses, 1);
    assert_int_equal(world.accesses[0].addr, 0x401000 - 1);
    world_close(&world);
}

/* A thread that ended in the window has its accesses all the same; the process goes on. */
static void test_thread_that_ends(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open(&world);
    process = world_add(&world, PID, SMALL_PAGES);
    assert_int_equal(world_round(&world, 0), 0);
    process->cpu_ticks += 100;
    world_write(&world, process, PID + 7, 1);
    world_record(&world, -1, -1, WORLD_MEMORY); /* its last fault, on the way out */
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world.n_accesses, 1);
    assert_int_equal(world.accesses[0].tid, PID + 7);
    world_close(&world);
}

/* All get their turn, though no more than so many are open at once. */
static void test_many_targets_take_turns(void **state)
{
    struct fault_world world;

    (void)state;
    world_open(&world);
    for (int i = 0; i < WORLD_PROCESSES; i++)
        world_add(&world, 100 + i, SMALL_PAGES);
    for (unsigned round = 0; round < 10; round++)
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world_scope->n_covered_max, WRITE_FAULT_WINDOWS_MAX);
    for (int i = 0; i < WORLD_PROCESSES; i++)
        assert_true(world.processes[i].n_cleared >= 1);
    world_close(&world);
}

/* Those that are busy and cheap were cleared again at once, and kept all windows for themselves. */
static void busy_targets_take_turns_too(void **state)
{
    struct fault_world world;

    (void)state;
    world_open(&world);
    for (int i = 0; i < WORLD_PROCESSES; i++)
        world_add(&world, 100 + i, SMALL_PAGES);
    for (unsigned round = 0; round < 10; round++) {
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
        for (int i = 0; i < WORLD_PROCESSES; i++)
            world.processes[i].cpu_ticks += 100;
    }
    assert_int_equal(world_scope->n_covered_max, WRITE_FAULT_WINDOWS_MAX);
    for (int i = 0; i < WORLD_PROCESSES; i++)
        assert_in_range(world.processes[i].n_cleared, 1, 4);
    world_close(&world);
}

static void test_scope_that_fails_is_told(void **state)
{
    struct fault_world world;

    (void)state;
    world_open(&world);
    world_add(&world, PID, SMALL_PAGES);
    world_scope->round_r = SOURCE_UNAVAILABLE;
    assert_int_equal(world_round(&world, 0), SOURCE_UNAVAILABLE);
    assert_string_equal(world.reason.text, "no events");
    assert_int_equal(world.processes[0].n_cleared, 0);
    world_close(&world);
}

/* A process that is cleared by somebody whose events are not open loses its bits for nothing. */
static void see_events_open(struct fault_world *world, struct fault_process *process)
{
    (void)world;
    assert_true(world_is_covered(process->pid));
}

static void test_events_are_open_before_the_clear(void **state)
{
    struct fault_world world;

    (void)state;
    world_open(&world);
    world_add(&world, PID, SMALL_PAGES);
    world.before_write = see_events_open;
    assert_int_equal(world_round(&world, 0), 0);
    assert_int_equal(world.processes[0].n_cleared, 1);
    world_close(&world);
}

static void test_source_freed_with_requests_waiting(void **state)
{
    struct fault_world world;
    struct sample_target target = {
        .pid = PID, .start_ticks = 7000 + PID, .rss_bytes = 4096, .allows_faults = true};
    struct sample_round round = {.targets = &target, .n_targets = 1, .sampling_budget = 0.01};

    (void)state;
    world_open(&world);
    world_add(&world, PID, SMALL_PAGES);
    round.now = world.now;
    assert_int_equal(world.source.ops->round(world.source.self, &round, &world.reason), 0);
    source_deinit(&world.source);
    assert_int_equal(worker_pool_dispatch(world.pool, 0), 1);
    world_close(&world);
}

static void block(struct fault_world *world, struct fault_process *process)
{
    (void)process;
    sem_post(&world->entered);
    sem_wait(&world->leave);
}

static void count_late(void *userdata, pid_t pid, const char *name)
{
    assert_int_equal(pid, PID);
    assert_string_equal(name, "write_fault");
    ++*(unsigned *)userdata;
}

/* What an abandoned thread still runs does not count as pending. */
static void wait_for_one(struct fault_world *world)
{
    for (unsigned i = 0; worker_pool_dispatch(world->pool, 0) == 0; i++) {
        assert_true(i < 60000); /* a hang, not a deadline */
        usleep(1000);
    }
}

static void wait_for_all(struct fault_world *world)
{
    for (unsigned i = 0; worker_pool_pending(world->pool, 0) > 0; i++) {
        assert_true(i < 60000);
        usleep(1000);
    }
    worker_pool_dispatch(world->pool, 0);
}

/* Whose clear does not end in time is asked once a minute at most, also if it was no target
   meanwhile. */
static void test_slow_clear(void **state)
{
    struct fault_world world;
    struct fault_process *process;
    unsigned n_late = 0;
    char text[512];

    (void)state;
    world_open_with(&world, true);
    sem_init(&world.entered, 0, 0);
    sem_init(&world.leave, 0, 0);
    process = world_add(&world, PID, SMALL_PAGES);
    world.before_write = block;
    assert_int_equal(world_round(&world, 0), 0);
    sem_wait(&world.entered);
    worker_pool_check(world.pool, nsec_now() + 3600 * NSEC_PER_SEC, count_late, &n_late);
    assert_int_equal(n_late, 1);
    process->is_target = false; /* stuck */
    assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(world_scope->n_covered, 0);
    world.before_write = NULL;
    sem_post(&world.leave);
    wait_for_one(&world);
    process->is_target = true;
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(world_round(&world, NSEC_PER_SEC), 0);
    assert_int_equal(process->n_cleared, 1);
    world_describe(&world, text);
    assert_non_null(strstr(text, fault_verdict_text(FAULT_LATE)));
    assert_int_equal(world_round(&world, 60 * NSEC_PER_SEC), 0);
    wait_for_all(&world);
    assert_int_equal(process->n_cleared, 2);
    world_close(&world);
}

/* What a target asked for before it dropped out and came back is not for its present life. */
static void test_answer_of_an_earlier_life(void **state)
{
    struct fault_world world;
    struct fault_process *process;

    (void)state;
    world_open_with(&world, true);
    sem_init(&world.entered, 0, 0);
    sem_init(&world.leave, 0, 0);
    process = world_add(&world, PID, SMALL_PAGES);
    world.before_write = block;
    assert_int_equal(world_round(&world, 0), 0);
    sem_wait(&world.entered);
    process->is_target = false;
    assert_int_equal(world_round(&world, NSEC_PER_MSEC), 0);
    process->is_target = true;
    assert_int_equal(world_round(&world, NSEC_PER_MSEC), 0);
    assert_int_equal(world_scope->n_covered, 0); /* it waits for the answer */
    world.before_write = NULL;
    sem_post(&world.leave);
    wait_for_one(&world);
    assert_int_equal(world_round(&world, NSEC_PER_MSEC), 0);
    wait_for_all(&world);
    assert_int_equal(process->n_cleared, 2);
    world_close(&world);
}

/* What comes back to a source that is gone goes nowhere. */
static void test_source_freed_before_its_request_returns(void **state)
{
    struct fault_world world;

    (void)state;
    world_open_with(&world, true);
    sem_init(&world.entered, 0, 0);
    sem_init(&world.leave, 0, 0);
    world_add(&world, PID, SMALL_PAGES);
    world.before_write = block;
    assert_int_equal(world_round(&world, 0), 0);
    sem_wait(&world.entered);
    source_deinit(&world.source);
    sem_post(&world.leave);
    wait_for_one(&world);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gone_between_guard_and_clear),
        cmocka_unit_test(test_pid_used_again_between_guard_and_clear),
        cmocka_unit_test(test_pid_used_again_before_the_guard),
        cmocka_unit_test(test_pid_used_again_in_the_window),
        cmocka_unit_test(test_exec_drops_the_window),
        cmocka_unit_test(test_target_that_drops_out_in_its_window),
        cmocka_unit_test(test_unwanted_process),
        cmocka_unit_test(test_faults_of_before_the_clear_are_dropped),
        cmocka_unit_test(test_odd_records),
        cmocka_unit_test(test_thread_that_ends),
        cmocka_unit_test(test_many_targets_take_turns),
        cmocka_unit_test(busy_targets_take_turns_too),
        cmocka_unit_test(test_scope_that_fails_is_told),
        cmocka_unit_test(test_events_are_open_before_the_clear),
        cmocka_unit_test(test_source_freed_with_requests_waiting),
        cmocka_unit_test(test_slow_clear),
        cmocka_unit_test(test_answer_of_an_earlier_life),
        cmocka_unit_test(test_source_freed_before_its_request_returns),
    };

    return cmocka_run_group_tests_name("write_fault", tests, NULL, NULL);
}
