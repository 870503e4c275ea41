/* Which pages are looked at, and what is believed of the answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "attribute/pagemap.h"
#include "attribute/ranges.h"
#include "attribute/requests.h"
#include "attribute/tally.h"
#include "fake_host.h"
#include "space_rig.h"
#include "util/nsec.h"

#define BASE (16 * M)
#define PAGE ((uint64_t)4096)
#define N_SAMPLED RESIDENCY_PAGES_PER_RANGE
#define SEC NSEC_PER_SEC
/* 8 GiB */
#define LARGE "1000000-201000000 rw-p 0 0:0 0 \n"

static const struct work_ops ops = {
    .name = "test", .run = residency_request_run, .free = residency_request_free};

struct rig {
    struct fake_host fake;
    struct space *space;
};

static void rig_init(struct rig *rig, const char *maps)
{
    fake_host_init(&rig->fake);
    rig->space = space_rig_new(maps);
}

static void rig_deinit(struct rig *rig)
{
    space_free(rig->space);
    fake_host_deinit(&rig->fake);
}

/* NULL when nothing is due. */
static struct residency_request *rig_ask(struct rig *rig, uint64_t now)
{
    struct residency_request *residency = NULL;
    int r = residency_request_new(&residency, rig->space, &rig->fake.host, now, &ops, NULL);

    assert_true(r == 0 || r == RESIDENCY_NOTHING_DUE);
    assert_int_equal(r == 0, residency != NULL);
    return residency;
}

/* Asks and applies at once. Return: ranges asked for. */
static size_t rig_read(struct rig *rig, uint64_t now)
{
    struct residency_request *residency = rig_ask(rig, now);
    size_t n = residency ? residency->n_ranges : 0;

    if (!residency)
        return 0;
    residency_request_run(&residency->request.work);
    if (residency->request.r >= 0)
        assert_int_equal(residency_request_apply(residency, rig->space), 0);
    residency_request_free(&residency->request.work);
    return n;
}

/* Of memory that is all there. Return: how many pages. */
static size_t choose(uint64_t start, uint64_t end, unsigned turn, uint64_t pages[N_SAMPLED])
{
    const struct page_run all = {.start = start, .end = end, .kinds = PAGE_PRESENT};
    const struct page_runs runs = {.items = &all, .n_items = 1};
    void *chosen[N_SAMPLED];
    size_t n = page_runs_choose(&runs, start, end, PAGE, turn, chosen, N_SAMPLED);

    for (size_t i = 0; i < n; i++) {
        pages[i] = (uintptr_t)chosen[i];
        assert_true(pages[i] >= start && pages[i] < end && pages[i] % PAGE == 0);
    }
    return n;
}

static int by_number(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return *a < *b ? -1 : *a > *b;
}

static void test_pages_are_spread_evenly(void **state)
{
    uint64_t pages[N_SAMPLED];

    (void)state;
    for (unsigned turn = 0; turn < 2000; turn += 7) {
        assert_int_equal(choose(BASE, BASE + 2 * M, turn, pages), N_SAMPLED);
        qsort(pages, N_SAMPLED, sizeof *pages, by_number);
        for (size_t i = 1; i < N_SAMPLED; i++)
            assert_true(pages[i] - pages[i - 1] == 32 * PAGE);
    }
}

static void test_tiny_ranges(void **state)
{
    uint64_t pages[N_SAMPLED];

    (void)state;
    for (uint64_t n_pages = 1; n_pages <= 40; n_pages++) {
        uint64_t seen = 0;

        for (unsigned turn = 0; turn < n_pages; turn++) {
            size_t n = choose(BASE, BASE + n_pages * PAGE, turn, pages);

            assert_int_equal(n, n_pages < N_SAMPLED ? n_pages : N_SAMPLED);
            for (size_t i = 0; i < n; i++)
                seen |= UINT64_C(1) << ((pages[i] - BASE) / PAGE);
        }
        assert_true(seen == (UINT64_C(1) << n_pages) - 1); /* each page has its turn */
    }
    assert_int_equal(choose(BASE, BASE + 4, UINT32_MAX, pages), 1); /* still inside */
}

/* Rounds of a second, of five, and of eight: with time all 512 pages are looked at. */
static void test_repeats_look_at_other_pages(void **state)
{
    (void)state;
    for (uint64_t period = 1; period <= 8; period++) {
        bool seen[512] = {false};
        size_t n_seen = 0;
        struct rig rig;

        rig_init(&rig, "1000000-1200000 rw-p 0 0:0 0 \n");
        space_rig_add(rig.space, 1, 0, BASE, 1);
        for (uint64_t turn = 1; turn <= 400; turn++) {
            struct residency_request *residency = rig_ask(&rig, turn * period * SEC);

            assert_non_null(residency);
            residency_request_run(&residency->request.work);
            assert_int_equal(residency->n_pages, N_SAMPLED);
            for (size_t i = 0; i < N_SAMPLED; i++)
                seen[((uintptr_t)residency->pages[i] - BASE) / PAGE] = true;
            residency_request_free(&residency->request.work);
        }
        for (size_t i = 0; i < 512; i++)
            n_seen += seen[i];
        print_message("  every %d s: %zu of 512\n", (int)period, n_seen);
        assert_int_equal(n_seen, 512);
        rig_deinit(&rig);
    }
}

static void test_shares(void **state)
{
    const struct range *range;
    struct rig rig;

    (void)state;
    rig_init(&rig, "1000000-1400000 rw-p 0 0:0 0 \n");
    space_rig_add(rig.space, 1, 0, BASE, 1);
    fake_host_place(&rig.fake, BASE, BASE + M, 252);
    fake_host_place(&rig.fake, BASE + M, BASE + 2 * M, 8);
    fake_host_place(&rig.fake, BASE + M / 2, BASE + M, -ENOENT); /* never touched */
    fake_host_place(&rig.fake, BASE, BASE + M / 4, -EFAULT);     /* the zero page */
    assert_int_equal(rig_read(&rig, 10 * SEC), 1);
    range = space_find_range(rig.space, BASE);
    assert_true(range->residency_nsec == 10 * SEC);
    assert_true(tally_n(&range->residency, 252) == 2 && tally_n(&range->residency, 8) == 8);
    assert_true(tally_total_n(&range->residency) == 10); /* absent pages lie nowhere */
    assert_true(range_resident_share(range, 8) == 0.8);
    assert_true(range_resident_share(range, 0) == 0);
    rig_deinit(&rig);
}

static void test_only_absent_pages_say_nothing(void **state)
{
    const struct range *range;
    struct rig rig;

    (void)state;
    rig_init(&rig, "1000000-1400000 rw-p 0 0:0 0 \n");
    space_rig_add(rig.space, 1, 0, BASE, 1);
    fake_host_place(&rig.fake, BASE, BASE + M, -EFAULT);
    rig_read(&rig, SEC);
    range = space_find_range(rig.space, BASE);
    assert_true(range->residency_nsec == SEC);
    assert_true(range_resident_share(range, 0) == -1);
    rig_deinit(&rig);
}

/* 100 ranges are 1,600 pages: two calls. */
static void test_a_failing_call_gives_nothing(void **state)
{
    struct rig rig;

    (void)state;
    for (size_t from = 1; from <= 2; from++) {
        struct residency_request *residency;

        rig_init(&rig, LARGE);
        fake_host_place(&rig.fake, BASE, BASE + 200 * M, 0);
        for (uint64_t i = 0; i < 100; i++)
            space_rig_add(rig.space, 1, 0, BASE + i * 2 * M, 1);
        rig.fake.call_error = -ESRCH;
        rig.fake.call_error_from = from;
        residency = rig_ask(&rig, SEC);
        residency_request_run(&residency->request.work);
        assert_int_equal(residency->request.r, -ESRCH);
        assert_int_equal(rig.fake.n_calls, from); /* no more are tried */
        residency_request_free(&residency->request.work);
        rig_deinit(&rig);
    }
}

static void test_calls_are_bounded(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, LARGE);
    fake_host_place(&rig.fake, BASE, BASE + 200 * M, 8);
    for (uint64_t i = 0; i < 100; i++)
        space_rig_add(rig.space, 1, 0, BASE + i * 2 * M, 1);
    assert_int_equal(rig_read(&rig, SEC), 100);
    assert_int_equal(rig.fake.n_calls, 2);
    assert_int_equal(rig.fake.n_pages, 1600);
    for (uint64_t i = 0; i < 100; i++) /* each range has its own answers */
        assert_true(range_resident_share(space_find_range(rig.space, BASE + i * 2 * M), 8) == 1);
    rig_deinit(&rig);
}

static void test_older_results_than_a_move_are_dropped(void **state)
{
    struct tally before = {0}, after = {0};
    struct residency_request *residency;
    struct range *range;
    struct rig rig;

    (void)state;
    rig_init(&rig, "1000000-1400000 rw-p 0 0:0 0 \n");
    space_rig_add(rig.space, 1, 0, BASE, 1);
    range = space_find_range(rig.space, BASE);
    fake_host_place(&rig.fake, BASE, BASE + 2 * M, 0);
    tally_add(&before, 0, 512, 0);
    tally_add(&after, 8, 512, 0);
    for (int later = 0; later <= 1;
         later++) { /* the move ends in the round of the query, or later */
        uint64_t now = (uint64_t)(10 + 20 * later) * SEC;

        residency = rig_ask(&rig, now);
        residency_request_run(&residency->request.work);
        space_apply_move(rig.space, BASE, range, &before, &after, PAGE,
                         now + (uint64_t)later * SEC);
        assert_int_equal(residency_request_apply(residency, rig.space), 0);
        assert_true(range_resident_share(range, 8) == 1);
        residency_request_free(&residency->request.work);
    }
    residency = rig_ask(&rig, 50 * SEC);
    residency_request_run(&residency->request.work);
    range->moving = true; /* half of its pages may be on their way */
    assert_int_equal(residency_request_apply(residency, rig.space), 0);
    assert_true(range_resident_share(range, 8) == 1);
    range->moving = false;
    assert_int_equal(residency_request_apply(residency, rig.space), 0);
    assert_true(range_resident_share(range, 0) == 1); /* asked after the move: believed */
    residency_request_free(&residency->request.work);
    tally_deinit(&before);
    tally_deinit(&after);
    rig_deinit(&rig);
}

static void test_ranges_that_went_meanwhile(void **state)
{
    struct residency_request *residency;
    struct rig rig;

    (void)state;
    rig_init(&rig, "1000000-1400000 rw-p 0 0:0 0 \n");
    space_rig_add(rig.space, 1, 0, BASE, 1);
    space_rig_add(rig.space, 1, 0, BASE + 2 * M, 1);
    fake_host_place(&rig.fake, BASE, BASE + 4 * M, 8);
    residency = rig_ask(&rig, SEC);
    residency_request_run(&residency->request.work);
    space_rig_set(rig.space, "1200000-1400000 rw-p 0 0:0 0 \n");
    assert_int_equal(residency_request_apply(residency, rig.space), 0);
    assert_true(range_resident_share(space_find_range(rig.space, BASE + 2 * M), 8) == 1);
    residency_request_free(&residency->request.work);
    rig_deinit(&rig);
}

/* Named after the bug: the answer about a range was taken for one that now begins at its start. */
static void test_answers_about_what_lay_behind_a_range_are_not_its_own(void **state)
{
    struct residency_request *residency;
    struct range *range;
    struct rig rig;

    (void)state;
    rig_init(&rig, "1000000-1200000 rw-p 0 0:0 0 \n");
    space_rig_add(rig.space, 1, 0, BASE, 1);
    fake_host_place(&rig.fake, BASE, BASE + M, 0);
    fake_host_place(&rig.fake, BASE + M, BASE + 2 * M, 8);
    residency = rig_ask(&rig, SEC);
    residency_request_run(&residency->request.work);
    assert_int_equal(space_rig_set(rig.space, "1000000-1100000 rw-p 0 0:0 0 \n"), 1);
    space_rig_add(rig.space, 1, 0, BASE, 1);
    assert_int_equal(residency_request_apply(residency, rig.space), 0);
    range = space_find_range(rig.space, BASE);
    assert_true(range->residency_nsec == SEC);
    assert_true(tally_n(&range->residency, 0) == N_SAMPLED / 2.0);
    assert_true(tally_n(&range->residency, 8) == 0);
    residency_request_free(&residency->request.work);
    rig_deinit(&rig);
}

static void test_how_often(void **state)
{
    struct range *range;
    struct rig rig;

    (void)state;
    rig_init(&rig, "1000000-1400000 rw-p 0 0:0 0 \n");
    space_rig_add(rig.space, 1, 0, BASE, 1);
    range = space_find_range(rig.space, BASE);
    assert_int_equal(rig_read(&rig, 10 * SEC), 1);
    assert_int_equal(rig_read(&rig, 14 * SEC), 0);
    assert_int_equal(rig_read(&rig, 16 * SEC), 1);
    range->claim.n_passes = 1; /* may be acted on soon */
    assert_int_equal(rig_read(&rig, 17 * SEC - 1), 0);
    assert_int_equal(rig_read(&rig, 17 * SEC), 1);
    range->cool_down_nsec = 30 * SEC; /* may not */
    assert_int_equal(rig_read(&rig, 18 * SEC), 0);
    assert_int_equal(rig_read(&rig, 23 * SEC), 1);
    range->moving = true;
    assert_int_equal(rig_read(&rig, 100 * SEC), 0);
    rig_deinit(&rig);
}

/* Claims are due each second; with more of them than fit, each must still have its turn. */
static void test_more_ranges_than_fit_take_turns(void **state)
{
    enum {
        N_RANGES = 3 * RESIDENCY_RANGES_MAX
    };
    struct rig rig;

    (void)state;
    rig_init(&rig, LARGE);
    fake_host_place(&rig.fake, BASE, BASE + 8192 * M, 0);
    for (uint64_t i = 0; i < N_RANGES; i++) {
        space_rig_add(rig.space, 1, 0, BASE + i * 2 * M, 1);
        space_find_range(rig.space, BASE + i * 2 * M)->claim.n_passes = 1;
    }
    for (uint64_t round = 1; round <= 6; round++)
        assert_int_equal(rig_read(&rig, round * SEC), RESIDENCY_RANGES_MAX);
    for (uint64_t i = 0; i < N_RANGES; i++) {
        const struct range *range = space_find_range(rig.space, BASE + i * 2 * M);

        assert_true(range->residency_nsec > 3 * SEC); /* twice in six rounds */
    }
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_are_spread_evenly),
        cmocka_unit_test(test_tiny_ranges),
        cmocka_unit_test(test_repeats_look_at_other_pages),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_only_absent_pages_say_nothing),
        cmocka_unit_test(test_a_failing_call_gives_nothing),
        cmocka_unit_test(test_calls_are_bounded),
        cmocka_unit_test(test_older_results_than_a_move_are_dropped),
        cmocka_unit_test(test_ranges_that_went_meanwhile),
        cmocka_unit_test(test_answers_about_what_lay_behind_a_range_are_not_its_own),
        cmocka_unit_test(test_how_often),
        cmocka_unit_test(test_more_ranges_than_fit_take_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
