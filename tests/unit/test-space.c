/* What an address space remembers of accesses, threads and policies, and what it forgets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute/groups.h"
#include "attribute/tally.h"
#include "attribute/thread_mask.h"
#include "attribute/threads.h"
#include "space_rig.h"
#include "util/array.h"
#include "util/nsec.h"

/* 16 MiB of anonymous memory at 16 MiB, and a file. */
#define ANON "1000000-2000000 rw-p 0 0:0 0 \n"
#define FILE_5 "4000000-5000000 rw-p 100000 fd:1 5 /a\n"
#define BASE (16 * M)
#define FILE_BASE (64 * M)

static void test_accesses_find_their_range(void **state)
{
    struct space *space = space_rig_new(ANON FILE_5 "7000000-8000000 r-xp 0 fd:1 6 /lib\n");
    const struct range *range;

    (void)state;
    assert_int_equal(space_rig_add(space, 1, 0, BASE - 1, 1), SPACE_OUTSIDE);
    assert_int_equal(space_rig_add(space, 1, 0, 32 * M, 1), SPACE_OUTSIDE);
    assert_int_equal(space_rig_add(space, 1, 0, 112 * M, 1), SPACE_UNMOVABLE);
    assert_int_equal(HASH_COUNT(space->ranges), 0);
    assert_int_equal(space_rig_add(space, 1, 0, BASE + 3 * M, 1), 0);
    assert_int_equal(space_rig_add(space, 1, 8, BASE + 2 * M, 3), 0);
    assert_int_equal(HASH_COUNT(space->ranges), 1);
    range = space_find_range(space, BASE + 2 * M);
    assert_non_null(range);
    assert_true(range->end == BASE + 4 * M);
    assert_true(tally_n(&range->window, 0) == 1 && tally_n(&range->window, 8) == 3);
    assert_true(tally_sec(&range->window, 8) > 0.0119 && tally_sec(&range->window, 8) < 0.0121);
    assert_null(space_find_range(space, BASE + 3 * M)); /* keyed by its start */
    space_free(space);
}

static void test_no_new_range_when_capped(void **state)
{
    struct space *space = space_rig_new(ANON);
    struct access access = {.when_nsec = 1, .tid = 1, .addr = BASE, .weight_sec = 1};
    bool made = false;

    (void)state;
    assert_int_equal(space_add_access(space, &access, 0, GRAIN_NONE, &made), SPACE_CAPPED);
    assert_false(made);
    assert_int_equal(space_add_access(space, &access, 0, GRAIN_RANGES, &made), 0);
    assert_true(made);
    made = false;
    access.when_nsec++;
    assert_int_equal(space_add_access(space, &access, 0, GRAIN_NONE, &made), 0);
    assert_false(made); /* known ranges go on learning */
    assert_true(tally_n(&space_find_range(space, BASE)->window, 0) == 2);
    space_free(space);
}

static const struct {
    const char *shows, *after;
    size_t n_left; /* of the 3 anonymous ranges at 0, 2 and 14 MiB and the 2 of the file */
} rereads[] = {
    {"unchanged", ANON FILE_5, 5},
    {"all gone", "", 0},
    {"grown", "1000000-2400000 rw-p 0 0:0 0 \n" FILE_5, 5},
    {"shrunk inside of a range", "1000000-1f00000 rw-p 0 0:0 0 \n" FILE_5, 4},
    {"shrunk to a range's end", "1000000-1400000 rw-p 0 0:0 0 \n" FILE_5, 4},
    {"cut at its start", "1100000-2000000 rw-p 0 0:0 0 \n" FILE_5, 4},
    {"grown downwards to a range's end", "0e00000-2000000 rw-p 0 0:0 0 \n" FILE_5, 5},
    {"split by mprotect inside of a range",
     "1000000-1300000 rw-p 0 0:0 0 \n1300000-2000000 r--p 0 0:0 0 \n" FILE_5, 4},
    {"split by mprotect between ranges",
     "1000000-1200000 r--p 0 0:0 0 \n1200000-2000000 rw-p 0 0:0 0 \n" FILE_5, 5},
    {"a part became inaccessible",
     "1000000-1200000 rw-p 0 0:0 0 \n1200000-1400000 ---p 0 0:0 0 \n"
     "1400000-2000000 rw-p 0 0:0 0 \n" FILE_5,
     4},
    {"a hole in the middle",
     "1000000-1300000 rw-p 0 0:0 0 \n1400000-2000000 rw-p 0 0:0 0 \n" FILE_5, 4},
    {"replaced by a file", "1000000-2000000 rw-p 0 fd:1 9 /b\n" FILE_5, 2},
    {"moved", "3000000-4000000 rw-p 0 0:0 0 \n" FILE_5, 2},
    {"the file is another", ANON "4000000-5000000 rw-p 100000 fd:1 6 /a\n", 3},
    {"its offset shifted", ANON "4000000-5000000 rw-p 200000 fd:1 5 /a\n", 3},
    {"its upper half is left", ANON "4800000-5000000 rw-p 900000 fd:1 5 /a\n", 4},
    {"its lower half went elsewhere",
     ANON "4800000-5000000 rw-p 900000 fd:1 5 /a\n6000000-6800000 rw-p 100000 fd:1 5 /a\n", 4},
    {"it is shared now", ANON "4000000-5000000 rw-s 100000 fd:1 5 /a\n", 3},
};

static void test_rereads_keep_only_what_still_lies_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rereads); i++) {
        struct space *space = space_rig_new(ANON FILE_5);

        print_message("  %s\n", rereads[i].shows);
        space_rig_add(space, 1, 0, BASE, 1);
        space_rig_add(space, 1, 0, BASE + 3 * M, 1);
        space_rig_add(space, 1, 0, BASE + 15 * M, 1);
        space_rig_add(space, 1, 0, FILE_BASE, 1);
        space_rig_add(space, 1, 0, FILE_BASE + 15 * M, 1);
        assert_int_equal(space_rig_set(space, rereads[i].after), 5 - rereads[i].n_left);
        assert_int_equal(HASH_COUNT(space->ranges), rereads[i].n_left);
        space_free(space);
    }
}

static void test_growth_lengthens_the_last_range(void **state)
{
    struct space *space = space_rig_new("1000000-1100000 rw-p 0 0:0 0 [heap]\n");
    struct range *range;

    (void)state;
    space_rig_add(space, 1, 0, BASE, 5);
    range = space_find_range(space, BASE);
    assert_true(range->end == BASE + M);
    range->residency_nsec = 7;
    space_rig_set(space, "1000000-1100000 rw-p 0 0:0 0 [heap]\n");
    assert_int_equal(range->residency_nsec, 7);
    space_rig_set(space, "1000000-9000000 rw-p 0 0:0 0 [heap]\n");
    assert_true(range->end == BASE + 2 * M);
    assert_int_equal(range->residency_nsec, 0); /* its new pages were not looked at */
    assert_true(tally_n(&range->window, 0) == 5);
    space_free(space);
}

static void test_merged_vmas_keep_no_inner_border(void **state)
{
    struct space *space = space_rig_new("1000000-1100000 r--p 0 0:0 0 \n"
                                        "1100000-1400000 rw-p 0 0:0 0 \n");

    (void)state;
    space_rig_add(space, 1, 0, BASE, 1);
    space_rig_add(space, 1, 0, BASE + M, 1);
    space_rig_add(space, 1, 0, BASE + 3 * M, 1);
    assert_int_equal(space_rig_set(space, "1000000-1400000 rw-p 0 0:0 0 \n"), 1);
    assert_true(space_find_range(space, BASE)->end == BASE + 2 * M);
    assert_null(space_find_range(space, BASE + M));
    assert_non_null(space_find_range(space, BASE + 2 * M));
    space_free(space);
}

static void test_reset_forgets_everything(void **state)
{
    struct space *space = space_rig_new(ANON FILE_5);
    size_t n_dropped = 0;

    (void)state;
    space_rig_add(space, 1, 0, BASE, 40);
    space_rig_add(space, 2, 8, FILE_BASE, 1);
    thread_mask_set(&space->own_policy, 3);
    space->totals_known = space->denied = true;
    space->remote_permyriad = 5;
    space_reset(space, &n_dropped);
    assert_int_equal(n_dropped, 2);
    assert_null(space->ranges);
    assert_null(space->threads);
    assert_int_equal(space->vmas.n_items, 0);
    assert_false(space->maps_known || space->totals_known || space->denied);
    assert_true(space->maps_wanted);
    assert_int_equal(space->remote_permyriad, -1);
    assert_false(thread_mask_overlaps(&space->own_policy, &space->own_policy));
    assert_false(thread_mask_overlaps(&space->unknown_policy, &space->unknown_policy));
    assert_int_equal(space_rig_add(space, 1, 0, BASE, 1), SPACE_OUTSIDE);
    space_free(space);
}

static struct thread *find_thread(const struct space *space, pid_t tid)
{
    struct thread *thread;

    HASH_FIND(hh, space->threads, &tid, sizeof tid, thread);
    return thread;
}

static void test_threads_have_slots(void **state)
{
    struct space *space = space_rig_new(ANON);
    struct thread_mask slot = {0};

    (void)state;
    for (pid_t tid = 1; tid <= 258; tid++)
        space_rig_add(space, tid, 0, BASE + (uint64_t)tid % 2 * 2 * M, 1);
    assert_int_equal(find_thread(space, 1)->slot, 0);
    assert_int_equal(find_thread(space, 256)->slot, 255);
    assert_int_equal(find_thread(space, 257)->slot, 0); /* shared from here on */
    thread_mask_set(&slot, 1);                          /* thread 2 and 258 */
    assert_true(thread_mask_overlaps(&space_find_range(space, BASE)->threads, &slot));
    assert_false(thread_mask_overlaps(&space_find_range(space, BASE + 2 * M)->threads, &slot));
    space_free(space);
}

static void test_thread_policies(void **state)
{
    struct space *space = space_rig_new(ANON);
    struct thread_mask first = {0}, second = {0};

    (void)state;
    thread_mask_set(&first, 0);
    thread_mask_set(&second, 1);
    space_rig_add(space, 1, 0, BASE, 1);
    space_rig_add(space, 2, 0, BASE, 1);
    assert_true(thread_mask_overlaps(&space->unknown_policy, &second));
    find_thread(space, 1)->policy = THREAD_POLICY_OWN;
    find_thread(space, 2)->policy = THREAD_POLICY_DEFAULT;
    threads_mark_policies(space);
    assert_true(thread_mask_overlaps(&space->own_policy, &first));
    assert_false(thread_mask_overlaps(&space->own_policy, &second));
    assert_false(thread_mask_overlaps(&space->unknown_policy, &first));
    assert_false(thread_mask_overlaps(&space->unknown_policy, &second));
    find_thread(space, 1)->policy = THREAD_POLICY_DEFAULT;
    threads_mark_policies(space);
    assert_true(thread_mask_overlaps(&space->own_policy, &first)); /* what it placed stays placed */
    space_free(space);
}

static void test_sleeping_threads_are_forgotten_and_asked_anew(void **state)
{
    struct space *space = space_rig_new(ANON);
    size_t n_dropped;

    (void)state;
    space_rig_add(space, 1, 0, BASE, 1);
    find_thread(space, 1)->policy = THREAD_POLICY_DEFAULT;
    space_close_round(space, 0.6, 1, 10 * NSEC_PER_SEC, &n_dropped);
    assert_non_null(find_thread(space, 1));
    space_close_round(space, 0.6, 1, 10 * NSEC_PER_SEC + 1, &n_dropped);
    assert_null(find_thread(space, 1));
    space_rig_add(space, 1, 0, BASE, 1);
    assert_int_equal(find_thread(space, 1)->policy, THREAD_POLICY_UNKNOWN);
    assert_int_equal(find_thread(space, 1)->slot, 1);
    space_free(space);
}

/* Named after the bug: the first round ended windows since the boot of the machine. */
static void test_the_first_round_keeps_the_masks(void **state)
{
    struct space *space = space_rig_new(ANON);
    struct thread_mask first = {0};
    size_t n_dropped;

    (void)state;
    thread_mask_set(&first, 0);
    space_rig_add(space, 1, 0, BASE, 1);
    space_close_round(space, 0.6, 1, 1000 * NSEC_PER_SEC, &n_dropped);
    assert_true(thread_mask_overlaps(&space_find_range(space, BASE)->threads, &first));
    space_close_round(space, 0.6, 4, 1004 * NSEC_PER_SEC, &n_dropped);
    assert_true(thread_mask_overlaps(&space_find_range(space, BASE)->threads, &first));
    space_close_round(space, 0.6, 4, 1008 * NSEC_PER_SEC, &n_dropped);
    assert_false(thread_mask_overlaps(&space_find_range(space, BASE)->threads, &first));
    space_free(space);
}

static void test_ranges_without_evidence_are_forgotten(void **state)
{
    struct space *space = space_rig_new(ANON);
    size_t n_dropped = 0, rounds = 0;

    (void)state;
    space_rig_add(space, 1, 0, BASE, 1);
    space_rig_add(space, 1, 0, BASE + 2 * M, 1);
    space_find_range(space, BASE + 2 * M)->moving = true; /* its outcome is still to come */
    while (!n_dropped && rounds++ < 1000)
        space_close_round(space, 0.6, 1, NSEC_PER_SEC, &n_dropped);
    assert_in_range(rounds, 60, 300); /* 3.3 half-lives of up to 60 s */
    assert_int_equal(n_dropped, 1);
    assert_null(space_find_range(space, BASE));
    assert_non_null(space_find_range(space, BASE + 2 * M));
    space_find_range(space, BASE + 2 * M)->moving = false;
    space_close_round(space, 0.6, 1, NSEC_PER_SEC, &n_dropped);
    assert_int_equal(n_dropped, 1);
    space_free(space);
}

/* Pages of the range at BASE: n on node 0 and m on node 8. */
static void set_residency(struct space *space, double n, double m)
{
    struct range *range = space_find_range(space, BASE);

    tally_clear(&range->residency);
    tally_add(&range->residency, 0, n, 0);
    tally_add(&range->residency, 8, m, 0);
    range->residency_nsec = 1;
}

static void test_remote_share(void **state)
{
    struct space *space = space_rig_new(ANON);
    size_t n_dropped;

    (void)state;
    space_rig_add(space, 1, 8, BASE, 100);
    space_close_round(space, 0.6, 1, NSEC_PER_SEC, &n_dropped);
    assert_int_equal(space->remote_permyriad, -1); /* residency was not known */
    set_residency(space, 12, 4);
    space_rig_add(space, 1, 8, BASE, 31);
    space_close_round(space, 0.6, 1, NSEC_PER_SEC, &n_dropped);
    assert_int_equal(space->remote_permyriad, -1); /* too few */
    space_rig_add(space, 1, 8, BASE, 1);
    space_close_round(space, 0.6, 1, NSEC_PER_SEC, &n_dropped);
    assert_int_equal(space->remote_permyriad, 7500);
    set_residency(space, 0, 16);
    space_rig_add(space, 1, 8, BASE, 32);
    space_close_round(space, 0.6, 1, NSEC_PER_SEC, &n_dropped);
    assert_int_equal(space->remote_permyriad, 0);
    assert_int_equal(space->remote_first_permyriad, 7500);
    space_free(space);
}

static void test_a_move_tells_residency_and_totals(void **state)
{
    struct space *space = space_rig_new(ANON);
    struct tally before = {0}, after = {0};

    (void)state;
    space_rig_add(space, 1, 8, BASE, 1);
    tally_add(&space->totals, 0, 5000, 0);
    tally_add(&before, 0, 500, 0);
    tally_add(&before, 8, 12, 0);
    tally_add(&after, 8, 510, 0); /* 498 arrived, one stayed, one went */
    tally_add(&after, 0, 1, 0);
    space_apply_move(space, BASE, space_find_range(space, BASE), &before, &after, 4096, 77);
    assert_true(tally_n(&space->totals, 0) == 4501);
    assert_true(tally_n(&space->totals, 8) == 498);
    assert_int_equal(space->moved_bytes, 498 * 4096);
    assert_true(space_find_range(space, BASE)->residency_nsec == 77);
    assert_true(range_resident_share(space_find_range(space, BASE), 8) == 510.0 / 511);
    space_apply_move(space, BASE, NULL, &before, &after, 4096, 78); /* its range has gone */
    assert_int_equal(space->moved_bytes, 2 * 498 * 4096);
    tally_deinit(&before);
    tally_deinit(&after);
    space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accesses_find_their_range),
        cmocka_unit_test(test_no_new_range_when_capped),
        cmocka_unit_test(test_rereads_keep_only_what_still_lies_there),
        cmocka_unit_test(test_growth_lengthens_the_last_range),
        cmocka_unit_test(test_merged_vmas_keep_no_inner_border),
        cmocka_unit_test(test_reset_forgets_everything),
        cmocka_unit_test(test_threads_have_slots),
        cmocka_unit_test(test_thread_policies),
        cmocka_unit_test(test_sleeping_threads_are_forgotten_and_asked_anew),
        cmocka_unit_test(test_the_first_round_keeps_the_masks),
        cmocka_unit_test(test_ranges_without_evidence_are_forgotten),
        cmocka_unit_test(test_remote_share),
        cmocka_unit_test(test_a_move_tells_residency_and_totals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
