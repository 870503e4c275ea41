/*
 * When a process counts as stable, and what ends that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "numabd/pace.h"
#include "util/nsec.h"
#include "workload.h"

#define GIB (UINT64_C(1) << 30)

static struct pace_facts facts_at(uint64_t second)
{
    return (struct pace_facts){.now = (100 + second) * NSEC_PER_SEC,
                               .remote_permyriad = 200,
                               .n_threads = 16,
                               .rss_bytes = GIB,
                               .n_outside = 3};
}

/* Judged each second until it is stable. Return: the second. */
static uint64_t make_stable(struct pace *pace)
{
    uint64_t second = 0;
    struct pace_facts facts;

    *pace = (struct pace){0};
    do
        facts = facts_at(second);
    while (pace_judge(pace, &facts) != PACE_STABLE && second++ < 100);
    return second;
}

static void quiet_process_becomes_stable(void **state)
{
    struct pace pace;

    (void)state;
    assert_int_equal(make_stable(&pace), PACE_QUIET_NSEC / NSEC_PER_SEC);
}

static void new_for_five_seconds(void **state)
{
    struct pace pace = {0};

    (void)state;
    for (uint64_t second = 0; second < 9; second++) {
        struct pace_facts facts = facts_at(second);

        facts.acted = true;
        assert_int_equal(pace_judge(&pace, &facts),
                         second < PACE_NEW_NSEC / NSEC_PER_SEC ? PACE_NEW : PACE_USUAL);
    }
}

static void planned_and_made_moves_start_over(void **state)
{
    struct pace pace;
    uint64_t second = make_stable(&pace);
    struct pace_facts facts = facts_at(second + 1);

    (void)state;
    facts.acted = true;
    assert_int_not_equal(pace_judge(&pace, &facts), PACE_STABLE);
    facts = facts_at(second + 5);
    facts.moved_nsec = facts.now - NSEC_PER_SEC;
    assert_int_not_equal(pace_judge(&pace, &facts), PACE_STABLE);
    facts.now += PACE_QUIET_NSEC - NSEC_PER_SEC;
    assert_int_not_equal(pace_judge(&pace, &facts), PACE_STABLE);
    facts.now += NSEC_PER_SEC;
    assert_int_equal(pace_judge(&pace, &facts), PACE_STABLE);
}

static void unknown_share_is_never_stable(void **state)
{
    struct pace pace = {0};

    (void)state;
    for (uint64_t second = 0; second < 60; second++) {
        struct pace_facts facts = facts_at(second);

        facts.remote_permyriad = -1;
        assert_int_not_equal(pace_judge(&pace, &facts), PACE_STABLE);
    }
}

/* Each ends it in the very round in which it shows; one step less does not. */
static void another_phase_ends_it_at_once(void **state)
{
    static const struct {
        int remote;
        unsigned n_threads;
        uint64_t rss_bytes, n_outside;
        bool stays;
    } cases[] = {
        {200, 16, GIB, 3, true},
        {200 + PACE_REMOTE_RISE, 16, GIB, 3, true},
        {201 + PACE_REMOTE_RISE, 16, GIB, 3, false},
        {0, 16, GIB, 3, true},
        {200, 18, GIB, 3, true},
        {200, 19, GIB, 3, false},
        {200, 13, GIB, 3, false},
        {200, 16, GIB + GIB / 8, 3, true},
        {200, 16, GIB + GIB / 8 + 1, 3, false},
        {200, 16, GIB / 2, 3, false},
        {200, 16, GIB, 3 + PACE_OUTSIDE_MOST, true},
        {200, 16, GIB, 4 + PACE_OUTSIDE_MOST, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pace pace;
        struct pace_facts facts = facts_at(make_stable(&pace) + 1);

        facts.remote_permyriad = cases[i].remote;
        facts.n_threads = cases[i].n_threads;
        facts.rss_bytes = cases[i].rss_bytes;
        facts.n_outside = cases[i].n_outside;
        assert_int_equal(pace_judge(&pace, &facts), cases[i].stays ? PACE_STABLE : PACE_NEW);
    }
}

/* A few samples outside each round are no new phase, however many rounds there are. */
static void strays_do_not_add_up(void **state)
{
    struct pace pace;
    uint64_t second = make_stable(&pace);

    (void)state;
    for (uint64_t i = 1; i < 100; i++) {
        struct pace_facts facts = facts_at(second + i);

        facts.n_outside = 3 + i * PACE_OUTSIDE_MOST;
        assert_int_equal(pace_judge(&pace, &facts), PACE_STABLE);
    }
}

/* The whole pipeline: a tenth of the rate once it is local, all of it one round after a change. */
static void stable_process_costs_a_tenth_until_it_changes(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "postgres");
    unsigned usual = pipeline_config(run->pipeline)->rate_hz;

    run->model.rate_hz = 0;
    model_run_rounds(run, 1);
    assert_int_equal(process->asked_hz, 4 * usual);
    model_run_rounds(run, 10);
    assert_int_equal(process->asked_hz, usual);
    model_run_rounds(run, 20);
    assert_true(model_remote_permyriad(&run->model, process) <= 500);
    assert_int_equal(process->asked_hz, usual / 10);
    for (size_t i = 0; i < process->n_threads; i++)
        process->threads[i].cpu = workload_cpus[(i + 2) % 4];
    model_run_rounds(run, 2); /* its samples come in the first, which ends with the rate */
    assert_int_equal(process->asked_hz, 4 * usual);
    model_run_rounds(run, 10);
    assert_int_equal(process->asked_hz, usual);
    model_run_rounds(run, 20);
    assert_true(model_remote_permyriad(&run->model, process) <= 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quiet_process_becomes_stable),
        cmocka_unit_test(new_for_five_seconds),
        cmocka_unit_test(planned_and_made_moves_start_over),
        cmocka_unit_test(unknown_share_is_never_stable),
        cmocka_unit_test(another_phase_ends_it_at_once),
        cmocka_unit_test(strays_do_not_add_up),
        cmocka_unit_test_setup_teardown(stable_process_costs_a_tenth_until_it_changes,
                                        workload_setup, workload_teardown),
    };

    return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
