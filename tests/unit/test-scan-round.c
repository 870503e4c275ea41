/*
 * The scan filter at work: what is asked, listed and decided in a round is about memory of VMAs
 * that the pass lets through.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute/ranges.h"
#include "attribute/requests.h"
#include "attribute/scans.h"
#include "attribute/slots.h"
#include "attribute/space_scan.h"
#include "attribute/tally.h"
#include "attribute/thread_mask.h"
#include "attribute_rig.h"

#define BASE (16 * M)
#define OTHER (64 * M)
#define TWO                                                                                        \
    "1000000-2000000 rw-p 0 0:0 0 \n"                                                              \
    "4000000-5000000 rw-p 0 0:0 0 \n"
#define DEFAULT "1000000 default anon=4096 N0=4096\n4000000 default anon=4096 N0=4096\n"
/* 4 GiB from 16 MiB on: 2048 ranges, two requests. */
#define LARGE "1000000-101000000 rw-p 0 0:0 0 \n"
#define LARGE_DEFAULT "1000000 default anon=1048576 N0=1048576\n"

static void init(struct attribute_rig *rig, const char *maps, const char *numa_maps)
{
    attribute_rig_init(rig, maps, numa_maps);
    rig->target.process.n_threads = 1000;
    rig->target.process.rss_bytes = 4096 * M;
    attribute_rig_push(rig, 0, BASE, 1);
    attribute_rig_dispatch(rig); /* the maps are known */
}

static uint64_t looked_at(const struct attribute_rig *rig, uint64_t addr)
{
    return attribute_rig_range(rig, addr)->residency_nsec;
}

static enum scan_verdict verdict(const struct attribute_rig *rig, size_t index)
{
    return attribute_rig_space(rig)->scans->items[index].verdict;
}

/* The thread used both, and goes on in the first one only. */
static void leave_other(struct attribute_rig *rig)
{
    attribute_rig_push(rig, 0, OTHER, 40);
    for (int round = 0; round < 20; round++) {
        attribute_rig_push(rig, 0, BASE, 40);
        attribute_rig_round(rig, 1);
    }
}

static void residency_is_asked_where_threads_at_work_have_been(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init(&rig, TWO, DEFAULT);
    leave_other(&rig);
    assert_int_equal(verdict(&rig, 0), SCAN_ACTIVE);
    assert_int_equal(verdict(&rig, 1), SCAN_INACTIVE);
    assert_true(looked_at(&rig, BASE) + 3 * SEC > rig.now);
    assert_true(looked_at(&rig, OTHER) + 8 * SEC < rig.now); /* two windows and a turn ago */
    attribute_rig_push(&rig, 0, OTHER, 1);
    attribute_rig_round(&rig, 1);
    assert_true(looked_at(&rig, OTHER) == rig.now); /* within one pass */
    attribute_rig_deinit(&rig);
}

static void without_the_filter_it_is_asked_everywhere(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init(&rig, TWO, DEFAULT);
    rig.config->scan_filter = SCAN_FILTER_NONE;
    leave_other(&rig);
    assert_int_equal(verdict(&rig, 1), SCAN_UNFILTERED);
    assert_true(looked_at(&rig, OTHER) + 6 * SEC > rig.now);
    attribute_rig_deinit(&rig);
}

/* Nothing is decided there either, nor are policies read anew for it. */
static void no_move_is_awaited_where_nobody_is_at_work(void **state)
{
    struct attribute_rig rig;
    struct range *range;

    (void)state;
    init(&rig, TWO, DEFAULT);
    leave_other(&rig);
    range = attribute_rig_range(&rig, OTHER);
    range->claim = (struct claim){.node = 8, .n_passes = 2};
    tally_clear(&range->residency);
    tally_add(&range->residency, 0, 16, 0);
    attribute_rig_range(&rig, BASE)->claim = (struct claim){.node = -1};
    range->cool_down_nsec = 0;
    assert_false(space_lets(attribute_rig_space(&rig), OTHER));
    assert_true(space_lets(attribute_rig_space(&rig), BASE));
    assert_false(space_lets(attribute_rig_space(&rig), 1 * M)); /* no VMA */
    assert_false(space_awaits_move(attribute_rig_space(&rig), 0.6, rig.now));
    attribute_rig_space(&rig)->scans->items[1].verdict = SCAN_ACTIVE;
    assert_true(space_awaits_move(attribute_rig_space(&rig), 0.6, rig.now));
    attribute_rig_deinit(&rig);
}

static size_t n_known(const struct attribute_rig *rig)
{
    struct range *range, *next;
    size_t n = 0;

    HASH_ITER (hh, attribute_rig_space(rig)->ranges, range, next)
        n += range->residency_nsec != 0;
    return n;
}

static void what_one_request_cannot_hold_is_left_for_the_next_pass(void **state)
{
    struct attribute_rig rig;
    const struct scan_state *scan;

    (void)state;
    init(&rig, LARGE, LARGE_DEFAULT);
    for (uint64_t i = 0; i < 1500; i++)
        attribute_rig_push(&rig, i % 2 ? 3 : 0, BASE + i * 2 * M, 1); /* shared: no gap is filled */
    attribute_rig_round(&rig, 1);
    scan = &attribute_rig_space(&rig)->scans->items[0].state;
    assert_int_equal(n_known(&rig), RESIDENCY_RANGES_MAX);
    assert_true(scan->begun);
    assert_int_equal(scan->n_complete, 0);
    attribute_rig_round(&rig, 1);
    assert_int_equal(n_known(&rig), 1500);
    assert_false(scan->begun);
    assert_int_equal(scan->n_complete, 1);
    attribute_rig_deinit(&rig);
}

/* An answer is still out: no pass goes by, so that nobody seems starved or had its free ones. */
static void no_pass_goes_by_while_an_answer_is_out(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init(&rig, TWO, DEFAULT);
    rig.held = true;
    for (int round = 0; round < 5; round++) {
        attribute_rig_push(&rig, 0, BASE, 1);
        attribute_rig_round(&rig, 1);
    }
    assert_int_equal(attribute_rig_space(&rig)->scans->pass.number, 1);
    attribute_rig_dispatch(&rig);
    attribute_rig_round(&rig, 1);
    assert_int_equal(attribute_rig_space(&rig)->scans->pass.number, 2);
    attribute_rig_deinit(&rig);
}

static void passes_stop_for_a_process_that_sleeps(void **state)
{
    struct attribute_rig rig;
    int64_t number;
    uint64_t n;

    (void)state;
    init(&rig, TWO, DEFAULT);
    attribute_rig_round(&rig, 1);
    n = attribute_rig_space(&rig)->scans->counts.n[SCAN_FIRST_PASSES];
    number = attribute_rig_space(&rig)->scans->pass.number;
    attribute_rig_round(&rig, 11);
    attribute_rig_round(&rig, 1);
    assert_int_equal(attribute_rig_space(&rig)->scans->pass.number, number);
    assert_int_equal(attribute_rig_space(&rig)->scans->counts.n[SCAN_FIRST_PASSES], n);
    attribute_rig_deinit(&rig);
}

/* Masks of rounds that are longer than a window: who was sampled in the round is in them. */
static void long_rounds_do_not_empty_the_masks(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init(&rig, TWO, DEFAULT);
    for (int round = 0; round < 4; round++) {
        attribute_rig_push(&rig, 0, BASE, 1);
        rig.now += 9 * SEC;
        attribute_rig_push(&rig, 0, BASE, 1);
        attribute_rig_round(&rig, 1);
    }
    assert_int_equal(verdict(&rig, 0), SCAN_ACTIVE);
    assert_true(attribute_rig_range(&rig, BASE)->threads.words[0] != 0);
    attribute_rig_deinit(&rig);
}

static void another_width_forgets_threads_but_not_whose_memory_it_is(void **state)
{
    struct attribute_rig rig;
    struct space *space;

    (void)state;
    init(&rig, TWO, DEFAULT);
    space = attribute_rig_space(&rig);
    attribute_rig_push(&rig, 0, BASE, 1);
    attribute_rig_round(&rig, 1);
    assert_int_equal(space->slots->n_bits, 256);
    space->threads->policy = THREAD_POLICY_OWN;
    thread_mask_set(&space->own_policy, space->threads->slot);
    rig.config->mask_bits = 1000;
    attribute_rig_round(&rig, 1);
    assert_int_equal(space->slots->n_bits, 1024);
    assert_int_equal(space->scans->n_words, 16);
    assert_int_equal(space->scans->n_items, 2);
    assert_null(space->threads);
    assert_true(attribute_rig_range(&rig, BASE)->bound_thread);
    assert_int_equal(attribute_rig_range(&rig, BASE)->threads.words[0], 0);
    attribute_rig_push(&rig, 0, BASE, 1);
    attribute_rig_round(&rig, 1);
    assert_true(space_lets(space, BASE));
    attribute_rig_deinit(&rig);
}

static void push_thread(struct attribute_rig *rig, pid_t tid, uint64_t addr)
{
    const struct access access = {
        .when_nsec = ++rig->now, .pid = SPACE_PID, .tid = tid, .addr = addr, .weight_sec = 0.004};

    assert_int_equal(attribute_push(rig->attribute, &rig->target, &access, 1), 0);
}

static void collisions_are_counted_also_of_processes_that_have_gone(void **state)
{
    struct attribute_rig rig;
    struct scan_counts counts;

    (void)state;
    init(&rig, TWO, DEFAULT);
    attribute_rig_round(&rig, 1);
    for (pid_t tid = 1; tid <= 257; tid++)
        push_thread(&rig, tid, BASE);
    attribute_count_scans(rig.attribute, &counts);
    assert_int_equal(counts.n_noted, 257);
    assert_int_equal(counts.n_shared, 1);
    push_thread(&rig, 257, OTHER);
    push_thread(&rig, 100, OTHER);
    attribute_drop(rig.attribute, SPACE_PID);
    attribute_count_scans(rig.attribute, &counts);
    assert_int_equal(counts.n_noted, 259);
    assert_int_equal(counts.n_shared, 2);
    assert_int_equal(counts.n_passes, 1);
    assert_int_equal(counts.n[SCAN_FIRST_PASSES], 2);
    attribute_rig_deinit(&rig);
}

/* One thread makes each pass: a VMA is scanned in that of its user. */
static void kernel_passes_are_made_by_one_thread_after_the_other(void **state)
{
    struct attribute_rig rig;
    unsigned n_both = 0, n_each[2] = {0};

    (void)state;
    init(&rig, TWO, DEFAULT);
    rig.config->scan_filter = SCAN_FILTER_KERNEL;
    for (int round = 0; round < 22; round++) {
        push_thread(&rig, 1, BASE);
        push_thread(&rig, 2, OTHER);
        attribute_rig_round(&rig, 1);
        if (round < 4)
            continue;
        n_each[0] += verdict(&rig, 0) == SCAN_ACTIVE;
        n_each[1] += verdict(&rig, 1) == SCAN_ACTIVE;
        n_both += verdict(&rig, 0) == SCAN_ACTIVE && verdict(&rig, 1) == SCAN_ACTIVE;
    }
    assert_int_equal(n_both, 0);
    assert_int_equal(n_each[0], 9);
    assert_int_equal(n_each[1], 9);
    attribute_rig_deinit(&rig);
}

/* Its user is still remembered, but sleeps while another thread is at work elsewhere. */
static void who_sleeps_in_this_window_does_not_count(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init(&rig, TWO, DEFAULT);
    attribute_rig_round(&rig, 1); /* begins the first window */
    push_thread(&rig, 2, OTHER);
    for (int round = 0; round < 6; round++) {
        push_thread(&rig, 1, BASE);
        attribute_rig_round(&rig, 1);
        assert_int_equal(attribute_rig_space(&rig)->slots->window, round < 3 ? 0 : 1);
        if (round > 1) /* the free passes are over */
            assert_int_equal(verdict(&rig, 1), round < 4 ? SCAN_ACTIVE : SCAN_INACTIVE);
    }
    assert_true(recent_has(&attribute_rig_space(&rig)->scans->items[1].state.recent, 0));
    attribute_rig_deinit(&rig);
}

/* A thread is forgotten in the round after its last sample, when masks still hold its bit. */
static void slots_of_forgotten_threads_rest(void **state)
{
    struct attribute_rig rig;
    struct space *space;

    (void)state;
    init(&rig, TWO, DEFAULT);
    space = attribute_rig_space(&rig);
    rig.config->mask_bits = 64;
    for (int round = 0; round < 3; round++)
        attribute_rig_round(&rig, 4);
    assert_int_equal(space->slots->window, 2);
    push_thread(&rig, 1, BASE);
    attribute_rig_round(&rig, 11);
    assert_null(space->threads);
    assert_true(recent_has(&space->scans->items[0].state.recent, 0));
    assert_true(slots_is_shared(space->slots, 0));
    attribute_rig_round(&rig, 4);
    assert_false(slots_is_shared(space->slots, 0));
    attribute_rig_deinit(&rig);
}

static void wide_slots_are_folded_onto_the_masks_of_ranges(void **state)
{
    struct attribute_rig rig;
    const struct recent *recent;

    (void)state;
    init(&rig, TWO, DEFAULT);
    rig.config->mask_bits = 1024;
    attribute_rig_round(&rig, 1);
    for (pid_t tid = 1; tid <= 259; tid++)
        push_thread(&rig, tid, tid == 259 ? BASE : OTHER);
    recent = &attribute_rig_space(&rig)->scans->items[0].state.recent;
    assert_int_equal(recent_count(recent), 1);
    assert_true(recent_has(recent, 258));
    assert_true(attribute_rig_range(&rig, BASE)->threads.words[0] == 1 << 2);
    attribute_rig_deinit(&rig);
}

static void what_is_skipped_is_not_listed_as_unsampled(void **state)
{
    struct sample_range ranges[64];
    struct attribute_rig rig;

    (void)state;
    init(&rig, TWO, DEFAULT);
    attribute_rig_push(&rig, 0, OTHER, 60);
    attribute_rig_round(&rig, 1); /* its groups have passed */
    assert_int_equal(attribute_list_unsampled(rig.attribute, rig.now, ranges, 64), 7);
    attribute_rig_space(&rig)->scans->items[1].verdict = SCAN_INACTIVE;
    assert_int_equal(attribute_list_unsampled(rig.attribute, rig.now, ranges, 64), 0);
    attribute_rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residency_is_asked_where_threads_at_work_have_been),
        cmocka_unit_test(without_the_filter_it_is_asked_everywhere),
        cmocka_unit_test(no_move_is_awaited_where_nobody_is_at_work),
        cmocka_unit_test(what_one_request_cannot_hold_is_left_for_the_next_pass),
        cmocka_unit_test(no_pass_goes_by_while_an_answer_is_out),
        cmocka_unit_test(passes_stop_for_a_process_that_sleeps),
        cmocka_unit_test(long_rounds_do_not_empty_the_masks),
        cmocka_unit_test(another_width_forgets_threads_but_not_whose_memory_it_is),
        cmocka_unit_test(collisions_are_counted_also_of_processes_that_have_gone),
        cmocka_unit_test(kernel_passes_are_made_by_one_thread_after_the_other),
        cmocka_unit_test(who_sleeps_in_this_window_does_not_count),
        cmocka_unit_test(slots_of_forgotten_threads_rest),
        cmocka_unit_test(wide_slots_are_folded_onto_the_masks_of_ranges),
        cmocka_unit_test(what_is_skipped_is_not_listed_as_unsampled),
    };

    return cmocka_run_group_tests_name("scan-round", tests, NULL, NULL);
}
