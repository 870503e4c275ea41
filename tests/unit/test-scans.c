/*
 * Passes over the VMAs of an address space: budgets, turns, and what stays true when VMAs change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "attribute/scans.h"
#include "attribute/vmas.h"
#include "space_rig.h"
#include "util/nsec.h"

#define SEC NSEC_PER_SEC
#define N_WORDS 4
#define BASE (16 * M)
/* Three of 2 MiB each with gaps between, and a library that is never scanned. */
#define THREE                                                                                      \
    "1000000-1200000 rw-p 0 0:0 0 \n"                                                              \
    "1400000-1600000 rw-p 0 0:0 0 \n"                                                              \
    "1800000-1a00000 rw-p 0 0:0 0 \n"                                                              \
    "2000000-2200000 r--p 0 8:1 7 /usr/lib/x\n"

struct rig {
    struct scans *scans;
    struct vma_list vmas;
    uint64_t bits[N_WORDS]; /* threads at work */
    unsigned n_threads;
    uint64_t now;
};

static void rig_set(struct rig *rig, const char *maps)
{
    struct vma_list vmas = vmas_of(maps);

    scans_follow(rig->scans, &rig->vmas, &vmas, rig->now);
    vma_list_deinit(&rig->vmas);
    rig->vmas = vmas;
}

static void rig_init(struct rig *rig, enum scan_filter_kind kind, const char *maps)
{
    *rig = (struct rig){.n_threads = 1000, .now = 100 * SEC};
    assert_int_equal(scans_new(&rig->scans, kind, N_WORDS), 0);
    rig_set(rig, maps);
}

static void rig_deinit(struct rig *rig)
{
    scans_free(rig->scans);
    vma_list_deinit(&rig->vmas);
}

static void rig_begin(struct rig *rig)
{
    const struct scan_who who = {.bits = rig->bits, .n_threads = rig->n_threads};

    rig->now += SEC;
    scans_begin_pass(rig->scans, &rig->vmas, &who, rig->now);
}

/* A pass with budget for everything. Return: a bit for each VMA that was scanned. */
static unsigned rig_pass(struct rig *rig)
{
    unsigned scanned = 0;

    rig_begin(rig);
    for (size_t i = 0; i < rig->vmas.n_items; i++)
        scanned |= (unsigned)scans_lets(rig->scans, i) << i;
    scans_end_pass(rig->scans, &rig->vmas);
    return scanned;
}

static void rig_pass_twice(struct rig *rig)
{
    assert_int_equal(rig_pass(rig), 7);
    assert_int_equal(rig_pass(rig), 7);
}

static enum scan_verdict verdict(const struct rig *rig, size_t index)
{
    return rig->scans->items[index].verdict;
}

static void no_alternative_means_exactly_one_in_turns(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_NUMABD, THREE);
    rig_pass_twice(&rig);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_pass(&rig), 1);
        assert_int_equal(verdict(&rig, 0), SCAN_NO_ALTERNATIVE);
        assert_int_equal(rig_pass(&rig), 2);
        assert_int_equal(rig_pass(&rig), 4);
    }
    rig_deinit(&rig);
}

static void who_is_at_work_leaves_the_others_alone(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_NUMABD, THREE);
    rig_pass_twice(&rig);
    rig.bits[1] = 2; /* slot 65 */
    for (int i = 0; i < 20; i++) {
        assert_int_equal(scans_note(rig.scans, 1, 4711, 65, false), 0);
        assert_int_equal(rig_pass(&rig), 2);
        scans_rotate(rig.scans);
    }
    assert_int_equal(rig.scans->counts.n[SCAN_ACTIVE], 20);
    assert_int_equal(rig.scans->counts.n[SCAN_INACTIVE], 40);
    assert_int_equal(rig.scans->counts.n[SCAN_SHARED_RO], 22);
    assert_int_equal(rig.scans->counts.n[SCAN_FIRST_PASSES], 6);
    assert_int_equal(rig.scans->counts.n_passes, 22);
    assert_true(rig.scans->counts.scanned_bytes == 26 * 2 * M);
    rig_deinit(&rig);
}

static void asleep_over_two_windows_then_awake_is_scanned_within_one_pass(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_NUMABD, THREE);
    rig_pass_twice(&rig);
    rig.bits[0] = 3; /* slots 0 and 1 */
    scans_note(rig.scans, 2, 4711, 0, false);
    scans_note(rig.scans, 0, 4712, 1, false);
    assert_int_equal(rig_pass(&rig), 5);
    scans_rotate(rig.scans);
    scans_rotate(rig.scans);
    scans_note(rig.scans, 0, 4712, 1, false);
    assert_int_equal(rig_pass(&rig), 1);
    scans_note(rig.scans, 2, 4711, 0, false);
    assert_int_equal(rig_pass(&rig), 5);
    rig_deinit(&rig);
}

static void starved_vmas_are_scanned_whoever_is_at_work(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_NUMABD, THREE);
    rig.n_threads = 4;
    rig_pass_twice(&rig);
    rig.bits[0] = 1;
    scans_note(rig.scans, 1, 4711, 0, false);
    for (int i = 0; i < 3; i++) {
        for (int pass = 0; pass < 4; pass++)
            assert_int_equal(rig_pass(&rig), 2);
        assert_int_equal(rig_pass(&rig), 7);
        assert_int_equal(verdict(&rig, 0), SCAN_STARVED);
    }
    rig_deinit(&rig);
}

static void a_partial_vma_is_finished_by_another_threads_pass(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_NUMABD, THREE);
    rig_pass_twice(&rig);
    scans_note(rig.scans, 1, 4711, 0, false);
    scans_note(rig.scans, 2, 4712, 1, false);
    rig.bits[0] = 1;
    rig_begin(&rig);
    assert_int_equal(verdict(&rig, 1), SCAN_ACTIVE);
    scans_leave_over(rig.scans, 1);
    scans_end_pass(rig.scans, &rig.vmas);
    rig.bits[0] = 2; /* the other one */
    assert_int_equal(rig_pass(&rig), 6);
    assert_int_equal(verdict(&rig, 1), SCAN_UNFINISHED);
    assert_int_equal(rig_pass(&rig), 4);
    rig_deinit(&rig);
}

/* One that was forced and is larger than the budget: finished before the next one's turn. */
static void a_forced_vma_is_finished_too(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_NUMABD, THREE);
    rig_pass_twice(&rig);
    for (int i = 0; i < 3; i++) {
        rig_begin(&rig);
        assert_int_equal(verdict(&rig, 0), i ? SCAN_UNFINISHED : SCAN_NO_ALTERNATIVE);
        assert_int_equal(verdict(&rig, 1), SCAN_INACTIVE);
        scans_leave_over(rig.scans, 0);
        scans_end_pass(rig.scans, &rig.vmas);
    }
    assert_int_equal(rig_pass(&rig), 1);
    assert_int_equal(rig_pass(&rig), 2);
    rig_deinit(&rig);
}

/* No memory for a request: the pass did nothing, and nothing counts as scanned. */
static void a_pass_that_did_not_end_begins_anew(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_NUMABD, THREE);
    rig_begin(&rig);
    rig_begin(&rig);
    rig_begin(&rig);
    assert_int_equal(rig.scans->pass.number, 0);
    scans_end_pass(rig.scans, &rig.vmas);
    assert_int_equal(rig.scans->items[0].state.n_complete, 1);
    assert_int_equal(rig_pass(&rig), 7);
    rig.bits[0] = 1;
    scans_note(rig.scans, 0, 4711, 0, false);
    rig_begin(&rig);
    assert_int_equal(verdict(&rig, 0), SCAN_ACTIVE);
    rig_set(&rig, "1400000-1600000 rw-p 0 0:0 0 \n1800000-1a00000 rw-p 0 0:0 0 \n");
    assert_int_equal(rig_pass(&rig), 1); /* exactly one */
    rig_deinit(&rig);
}

static void a_new_vma_waits_but_not_in_pass_0(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_NUMABD, "1000000-1200000 rw-p 0 0:0 0 \n");
    rig.now -= SEC; /* pass 0 at the time of birth */
    assert_int_equal(rig_pass(&rig), 1);
    rig.now += SEC / 2;
    rig_set(&rig, THREE);
    rig.now -= SEC / 2;
    assert_int_equal(rig_pass(&rig), 1);
    assert_int_equal(verdict(&rig, 1), SCAN_DELAY);
    assert_int_equal(rig_pass(&rig), 6); /* the first one had its two */
    assert_int_equal(rig_pass(&rig), 6);
    rig_deinit(&rig);
}

/* A VMA of which mprotect or munmap changes a part: what was learned stays with both halves. */
static void split_and_merged_vmas_keep_what_was_learned(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_NUMABD, "1000000-1800000 rw-p 0 0:0 0 \n");
    assert_int_equal(rig_pass(&rig), 1);
    assert_int_equal(rig_pass(&rig), 1);
    scans_note(rig.scans, 0, 4711, 9, false);
    rig_set(&rig, "1000000-1200000 rw-p 0 0:0 0 \n"
                  "1200000-1400000 r--p 0 0:0 0 \n"
                  "1600000-1800000 rw-p 0 0:0 0 \n");
    rig.bits[0] = 1 << 9;
    rig_begin(&rig);
    scans_leave_over(rig.scans, 0);
    scans_end_pass(rig.scans, &rig.vmas);
    assert_int_equal(verdict(&rig, 0), SCAN_ACTIVE); /* no free passes again */
    assert_int_equal(verdict(&rig, 2), SCAN_ACTIVE);
    scans_note(rig.scans, 2, 4711, 10, false);
    rig_set(&rig, "f00000-1800000 rw-p 0 0:0 0 \n");
    assert_true(recent_has(&rig.scans->items[0].state.recent, 9));
    assert_true(recent_has(&rig.scans->items[0].state.recent, 10));
    assert_int_equal(rig.scans->items[0].state.n_complete, 2); /* as the least of them */
    assert_true(rig.scans->items[0].state.begun);
    assert_int_equal(rig_pass(&rig), 1);
    assert_int_equal(verdict(&rig, 0), SCAN_ACTIVE);
    rig_deinit(&rig);
}

static void nothing_passes_to_another_mapping(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_NUMABD, "1000000-1200000 rw-p 0 8:1 5 /tmp/a\n");
    assert_int_equal(rig_pass(&rig), 1);
    scans_note(rig.scans, 0, 4711, 9, false);
    rig_set(&rig, "1000000-1200000 rw-p 0 8:1 6 /tmp/b\n");
    assert_int_equal(rig.scans->items[0].state.n_complete, 0);
    assert_false(recent_has(&rig.scans->items[0].state.recent, 9));
    assert_int_equal(verdict(&rig, 0), SCAN_UNJUDGED);
    scans_note(rig.scans, 0, 4711, 9, false);
    rig_set(&rig, "1400000-1600000 rw-p 0 8:1 6 /tmp/b\n");
    assert_null(rig.scans->items[0].state.recent.words);
    rig_deinit(&rig);
}

static void only_vmas_with_samples_have_masks(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_NUMABD, THREE);
    scans_note(rig.scans, 1, 4711, 255, true);
    scans_note(rig.scans, 7, 4711, 255, false); /* no such VMA */
    assert_null(rig.scans->items[0].state.recent.words);
    assert_non_null(rig.scans->items[1].state.recent.words);
    assert_int_equal(rig.scans->counts.n_noted, 2);
    assert_int_equal(rig.scans->counts.n_shared, 1);
    scans_rotate(rig.scans);
    assert_non_null(rig.scans->items[1].state.recent.words);
    scans_rotate(rig.scans);
    assert_null(rig.scans->items[1].state.recent.words);
    rig_deinit(&rig);
}

static void rfc4_never_forgets_and_kernel_hashes(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_RFC4, THREE);
    for (unsigned slot = 0; slot < 10; slot++)
        scans_note(rig.scans, 0, 4711, slot, false);
    scans_rotate(rig.scans);
    scans_rotate(rig.scans);
    assert_int_equal(recent_count(&rig.scans->items[0].state.recent), 4);
    rig_deinit(&rig);
    rig_init(&rig, SCAN_FILTER_KERNEL, THREE);
    assert_int_equal(rig.scans->n_words, 1);
    scans_note(rig.scans, 0, 1, 200, false);
    assert_true(recent_has(&rig.scans->items[0].state.recent, 24));
    rig_deinit(&rig);
}

static void another_program_begins_with_pass_0(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_NUMABD, THREE);
    rig_pass_twice(&rig);
    scans_reset(rig.scans);
    assert_int_equal(rig.scans->pass.number, 0);
    assert_int_equal(rig.scans->n_items, 0);
    assert_int_equal(rig.scans->counts.n_passes, 2);
    assert_true(scans_lets(rig.scans, 0)); /* what is not known is not kept back */
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_alternative_means_exactly_one_in_turns),
        cmocka_unit_test(who_is_at_work_leaves_the_others_alone),
        cmocka_unit_test(asleep_over_two_windows_then_awake_is_scanned_within_one_pass),
        cmocka_unit_test(starved_vmas_are_scanned_whoever_is_at_work),
        cmocka_unit_test(a_partial_vma_is_finished_by_another_threads_pass),
        cmocka_unit_test(a_forced_vma_is_finished_too),
        cmocka_unit_test(a_pass_that_did_not_end_begins_anew),
        cmocka_unit_test(a_new_vma_waits_but_not_in_pass_0),
        cmocka_unit_test(split_and_merged_vmas_keep_what_was_learned),
        cmocka_unit_test(nothing_passes_to_another_mapping),
        cmocka_unit_test(only_vmas_with_samples_have_masks),
        cmocka_unit_test(rfc4_never_forgets_and_kernel_hashes),
        cmocka_unit_test(another_program_begins_with_pass_0),
    };

    return cmocka_run_group_tests_name("scans", tests, NULL, NULL);
}
