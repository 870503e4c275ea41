/* Whether moves did a process good, and what follows when they did not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "numabd/benefit.h"
#include "pipeline_state.h"
#include "util/array.h"
#include "util/nsec.h"
#include "workload.h"

#define MIB ((uint64_t)1 << 20)
#define RSS (1024 * MIB)
#define TEST(name) cmocka_unit_test_setup_teardown(name, workload_setup, workload_teardown)
#define AFTER (BENEFIT_SETTLE_ROUNDS + BENEFIT_ROUNDS)

struct rig {
    struct benefit benefit;
    struct benefit_facts facts;
};

static void rig_init(struct rig *rig)
{
    *rig = (struct rig){.benefit = BENEFIT_START,
                        .facts = {.now = NSEC_PER_SEC, .rss_bytes = RSS, .remote_permyriad = -1}};
}

/* Rounds of a second, in each of which so much moves. */
static void rig_rounds(struct rig *rig, unsigned n, uint64_t bytes, double cpi, int remote)
{
    while (n-- > 0) {
        rig->facts.now += NSEC_PER_SEC;
        rig->facts.moved_bytes += bytes;
        rig->facts.cpi = cpi;
        rig->facts.remote_permyriad = remote;
        benefit_judge(&rig->benefit, &rig->facts);
    }
}

static bool rig_is_paused(const struct rig *rig)
{
    return benefit_is_paused(&rig->benefit, rig->facts.now);
}

static const struct {
    const char *shows;
    double before, during, after;
    uint64_t bytes; /* in each of four rounds */
    enum benefit_verdict verdict;
} episodes[] = {
    {"a fifth fewer cycles", 2.0, 3.0, 1.6, 64 * MIB, BENEFIT_GAINED},
    {"just the least that counts", 2.0, 2.0, 1.98, 64 * MIB, BENEFIT_GAINED},
    {"a little less than that", 2.0, 2.0, 1.981, 64 * MIB, BENEFIT_NOTHING},
    {"more cycles than before", 2.0, 2.0, 2.2, 64 * MIB, BENEFIT_NOTHING},
    {"nothing counts cycles", 0, 0, 0, 64 * MIB, BENEFIT_UNMEASURABLE},
    {"counted from the moves on only", 0, 2.0, 1.0, 64 * MIB, BENEFIT_UNMEASURABLE},
    {"too little moved to show", 2.0, 2.0, 2.2, 7 * MIB, BENEFIT_NONE_YET},
    {"just enough moved", 2.0, 2.0, 2.2, 8 * MIB, BENEFIT_NOTHING},
};

static void test_verdict(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(episodes); i++) {
        struct rig rig;

        print_message("  %s\n", episodes[i].shows);
        rig_init(&rig);
        rig_rounds(&rig, 10, 0, episodes[i].before, 5000);
        rig_rounds(&rig, 4, episodes[i].bytes, episodes[i].during, 4000);
        rig_rounds(&rig, AFTER - 1, 0, episodes[i].after, 100);
        assert_int_equal(rig.benefit.verdict, BENEFIT_NONE_YET);
        rig_rounds(&rig, 1, 0, episodes[i].after, 100);
        assert_int_equal(rig.benefit.verdict, episodes[i].verdict);
        assert_int_equal(rig_is_paused(&rig), episodes[i].verdict == BENEFIT_NOTHING);
    }
}

static void remote_share_is_told_before_and_after(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    rig_rounds(&rig, 3, 0, 0, 4800);
    rig_rounds(&rig, 4, 64 * MIB, 0, 2000); /* is falling already */
    rig_rounds(&rig, AFTER, 0, 0, 30);
    assert_int_equal(rig.benefit.remote_before_permyriad, 4800);
    assert_int_equal(rig.benefit.remote_after_permyriad, 30);
    assert_true(rig.benefit.cpi_before == 0 && rig.benefit.cpi_after == 0);
}

/* Their cost to the caches must not count as if the new place were worse. */
static void rounds_right_after_a_move_do_not_count(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    rig_rounds(&rig, 5, 0, 2.0, 5000);
    rig_rounds(&rig, 4, 64 * MIB, 4.0, 5000);
    rig_rounds(&rig, BENEFIT_SETTLE_ROUNDS, 0, 9.0, 100);
    rig_rounds(&rig, BENEFIT_ROUNDS, 0, 1.5, 100);
    assert_int_equal(rig.benefit.verdict, BENEFIT_GAINED);
    assert_true(rig.benefit.cpi_before == 2.0 && rig.benefit.cpi_after == 1.5);
}

static void one_episode_may_pause_in_between(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    rig_rounds(&rig, 5, 0, 2.0, 5000);
    for (unsigned i = 0; i < 4; i++) {
        rig_rounds(&rig, 1, 64 * MIB, 2.0, 4000);
        rig_rounds(&rig, AFTER - 1, 0, 1.9, 3000);
    }
    assert_int_equal(rig.benefit.verdict, BENEFIT_NONE_YET);
    rig_rounds(&rig, 1, 0, 1.9, 3000);
    assert_int_equal(rig.benefit.verdict, BENEFIT_GAINED);
    assert_int_equal(rig.benefit.remote_before_permyriad, 5000);
}

static void fail_once(struct rig *rig)
{
    rig_rounds(rig, 4, 64 * MIB, 2.0, 4000);
    rig_rounds(rig, AFTER, 0, 2.0, 4000);
}

static void pauses_double_up_to_ten_minutes_and_end_with_a_gain(void **state)
{
    struct rig rig;
    uint64_t pause = BENEFIT_PAUSE_NSEC;

    (void)state;
    rig_init(&rig);
    rig_rounds(&rig, 5, 0, 2.0, 5000);
    for (unsigned i = 0; i < 8; i++) {
        fail_once(&rig);
        assert_true(rig.benefit.pause_nsec == pause);
        assert_true(rig_is_paused(&rig));
        rig.facts.now += pause;
        assert_false(rig_is_paused(&rig));
        pause = pause < BENEFIT_PAUSE_MAX_NSEC / 2 ? 2 * pause : BENEFIT_PAUSE_MAX_NSEC;
    }
    assert_true(rig.benefit.pause_nsec == BENEFIT_PAUSE_MAX_NSEC);
    rig_rounds(&rig, 4, 64 * MIB, 2.0, 4000);
    rig_rounds(&rig, AFTER, 0, 1.0, 100);
    assert_int_equal(rig.benefit.verdict, BENEFIT_GAINED);
    fail_once(&rig);
    assert_true(rig.benefit.pause_nsec == BENEFIT_PAUSE_NSEC);
}

/* Or the second half of a job would be compared with what was before the first. */
static void the_next_episode_is_compared_with_what_followed_the_last(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    rig_rounds(&rig, 5, 0, 4.0, 5000);
    rig_rounds(&rig, 4, 64 * MIB, 4.0, 4000);
    rig_rounds(&rig, AFTER, 0, 2.0, 2000);
    assert_int_equal(rig.benefit.verdict, BENEFIT_GAINED);
    fail_once(&rig);
    assert_int_equal(rig.benefit.verdict, BENEFIT_NOTHING);
    assert_true(rig.benefit.cpi_before == 2.0);
}

/* Its threads go to the other node; does its memory follow within so many rounds? */
static bool follows(struct model_run *run, struct model_process *process, unsigned n_rounds)
{
    for (size_t i = 0; i < process->n_threads; i++)
        process->threads[i].cpu = workload_cpus[(i + 2) % 4];
    model_run_rounds(run, n_rounds);
    return model_remote_permyriad(&run->model, process) <= 500;
}

/* The whole pipeline. */
static void a_process_that_gained_nothing_is_paused(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "postgres");

    run->model.cpi = 2.0;
    model_run_rounds(run, 20);
    assert_true(model_remote_permyriad(&run->model, process) <= 500);
    assert_false(follows(run, process, 10));
    assert_true(model_run_status(run).range_reasons.n[REASON_NO_BENEFIT] > 0);
    model_run_rounds(run, 30);
    assert_true(model_remote_permyriad(&run->model, process) <= 500);
}

static void a_process_that_gained_goes_on(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "postgres");

    run->model.cpi = 2.0;
    model_run_rounds(run, 5);
    run->model.cpi = 1.5;
    model_run_rounds(run, 15);
    assert_true(follows(run, process, 15));
}

static void where_nothing_counts_cycles_nothing_is_claimed(void **state)
{
    struct model_run *run = *state;
    struct model_process *process = workload_add(run, WORKLOAD_PID, "postgres");

    model_run_rounds(run, 20);
    assert_int_equal(attribute_find(run->pipeline->attribute, WORKLOAD_PID)->benefit.verdict,
                     BENEFIT_UNMEASURABLE);
    assert_true(follows(run, process, 15));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdict),
        cmocka_unit_test(remote_share_is_told_before_and_after),
        cmocka_unit_test(rounds_right_after_a_move_do_not_count),
        cmocka_unit_test(one_episode_may_pause_in_between),
        cmocka_unit_test(pauses_double_up_to_ten_minutes_and_end_with_a_gain),
        cmocka_unit_test(the_next_episode_is_compared_with_what_followed_the_last),
        TEST(a_process_that_gained_nothing_is_paused),
        TEST(a_process_that_gained_goes_on),
        TEST(where_nothing_counts_cycles_nothing_is_claimed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
