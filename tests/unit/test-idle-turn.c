/*
 * Which pages are looked at, in which order and how many: turns, batches, budget.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sample/idle/idle_batch.h"
#include "sample/idle/idle_budget.h"
#include "sample/idle/idle_turn.h"
#include "util/array.h"
#include "util/nsec.h"

#define PAGE 4096
#define GRAIN IDLE_GRAIN_BYTES
#define BASE (UINT64_C(1) << 40)

/* ---- turns ---- */

struct taken {
    pid_t pid;
    uint64_t addr;
};

struct taker {
    struct taken items[8192];
    size_t n;
    pid_t refused;
};

static bool taker_wants(void *userdata, pid_t pid)
{
    const struct taker *taker = userdata;

    return pid != taker->refused;
}

static void taker_take(void *userdata, pid_t pid, uint64_t addr)
{
    struct taker *taker = userdata;

    assert_true(taker->n < ARRAY_LENGTH(taker->items));
    taker->items[taker->n++] = (struct taken){pid, addr};
}

static void next(struct taker *taker, struct idle_turn *turn, const struct sample_range *ranges,
                 size_t n, size_t budget)
{
    static const struct idle_turn_ops ops = {taker_wants, taker_take};

    taker->n = 0;
    idle_turn_next(turn, ranges, n, PAGE, budget, &ops, taker);
}

static struct taker *taker_new(void)
{
    return calloc(1, sizeof(struct taker));
}

static void assert_within(const struct taker *taker, const struct sample_range *ranges, size_t n)
{
    for (size_t i = 0; i < taker->n; i++) {
        bool found = false;

        assert_int_equal(taker->items[i].addr % PAGE, 0);
        for (size_t j = 0; j < n; j++)
            found |= taker->items[i].pid == ranges[j].pid &&
                     taker->items[i].addr >= ranges[j].start &&
                     taker->items[i].addr < ranges[j].end;
        assert_true(found);
    }
}

/* How many of the taken are of the process, in [start, end). */
static size_t n_taken(const struct taker *taker, pid_t pid, uint64_t start, uint64_t end)
{
    size_t n = 0;

    for (size_t i = 0; i < taker->n; i++)
        n += taker->items[i].pid == pid && taker->items[i].addr >= start &&
             taker->items[i].addr < end;
    return n;
}

/* A large budget does not take anything twice. */
static void test_all_ranges_once(void **state)
{
    const struct sample_range ranges[] = {
        {1, BASE, BASE + 2 * GRAIN},
        {1, BASE + 8 * GRAIN, BASE + 8 * GRAIN + PAGE},
        {2, BASE + PAGE, BASE + 4 * PAGE},
        {3, BASE + GRAIN - PAGE, BASE + GRAIN + PAGE},
    };
    const size_t expected = 8 + 1 + 3 + 2;
    struct taker *taker = taker_new();
    struct idle_turn turn = {0};

    (void)state;
    for (unsigned round = 0; round < 10; round++) {
        next(taker, &turn, ranges, ARRAY_LENGTH(ranges), 4096);
        assert_int_equal(taker->n, expected);
        assert_within(taker, ranges, ARRAY_LENGTH(ranges));
        for (size_t i = 0; i < taker->n; i++)
            assert_int_equal(n_taken(taker, taker->items[i].pid, taker->items[i].addr,
                                     taker->items[i].addr + PAGE),
                             1);
    }
    free(taker);
}

/* Ten grains, two a round: each has had its turn after five rounds, none had two. */
static void test_ranges_take_turns(void **state)
{
    const struct sample_range ranges[] = {
        {1, BASE, BASE + 3 * GRAIN},
        {2, BASE, BASE + 6 * GRAIN},
        {9, BASE, BASE + 1 * GRAIN},
    };
    size_t counts[10][10] = {{0}};
    struct taker *taker = taker_new();
    struct idle_turn turn = {0};

    (void)state;
    for (unsigned round = 0; round < 15; round++) {
        next(taker, &turn, ranges, ARRAY_LENGTH(ranges), 2 * IDLE_GRAIN_PAGES);
        assert_int_equal(taker->n, 2 * IDLE_GRAIN_PAGES);
        for (size_t i = 0; i < taker->n; i++)
            counts[taker->items[i].pid][(taker->items[i].addr - BASE) / GRAIN]++;
        if ((round + 1) % 5 != 0)
            continue;
        for (size_t i = 0; i < ARRAY_LENGTH(ranges); i++)
            for (uint64_t j = 0; j < (ranges[i].end - BASE) / GRAIN; j++)
                assert_int_equal(counts[ranges[i].pid][j], IDLE_GRAIN_PAGES * ((round + 1) / 5));
    }
    free(taker);
}

/* Head of a huge page, and pages that change. */
static void test_first_page_and_others(void **state)
{
    const struct sample_range range = {1, BASE, BASE + GRAIN};
    uint8_t seen[512] = {0};
    unsigned n_seen = 0;
    struct taker *taker = taker_new();
    struct idle_turn turn = {0};

    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        next(taker, &turn, &range, 1, 100);
        assert_int_equal(taker->n, IDLE_GRAIN_PAGES);
        assert_int_equal(taker->items[0].addr, BASE);
        for (size_t i = 0; i < taker->n; i++)
            seen[(taker->items[i].addr - BASE) / PAGE] = 1;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(seen); i++)
        n_seen += seen[i];
    assert_in_range(n_seen, 250, 385); /* of 1 + 3 x 128 that it can reach */
    free(taker);
}

/* What changes between rounds neither ends the walk nor leads outside. */
static void test_ranges_that_change(void **state)
{
    static const struct sample_range worlds[][3] = {
        {{1, BASE, BASE + 4 * GRAIN}, {2, BASE, BASE + GRAIN}, {5, BASE, BASE + GRAIN}},
        {{1, BASE + 3 * PAGE, BASE + 9 * PAGE},
         {2, BASE, BASE + 16 * GRAIN},
         {3, BASE, BASE + PAGE}},
        {{7, 0, PAGE}, {8, UINT64_MAX - 2 * PAGE + 1, UINT64_MAX - PAGE + 1}, {9, BASE, BASE}},
        {{1, BASE + GRAIN, BASE},
         {1, BASE + GRAIN, BASE + 2 * GRAIN},
         {1, BASE + 2 * GRAIN, BASE + 3 * GRAIN}},
    };
    struct taker *taker = taker_new();
    struct idle_turn turn = {0};

    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        const struct sample_range *ranges = worlds[round * 7 % 5 % ARRAY_LENGTH(worlds)];

        next(taker, &turn, ranges, round % 4, 1 + round % 13);
        assert_within(taker, ranges, round % 4);
        assert_true(taker->n <= 1 + round % 13 + IDLE_GRAIN_PAGES - 1);
    }
    free(taker);
}

static void test_no_ranges_no_budget(void **state)
{
    const struct sample_range range = {1, BASE, BASE + GRAIN};
    struct taker *taker = taker_new();
    struct idle_turn turn = {0};

    (void)state;
    next(taker, &turn, NULL, 0, 100);
    assert_int_equal(taker->n, 0);
    next(taker, &turn, &range, 1, 0);
    assert_int_equal(taker->n, 0);
    free(taker);
}

/* One that is busy does not cost the others their pages. */
static void test_refused_process(void **state)
{
    const struct sample_range ranges[] = {
        {1, BASE, BASE + 64 * GRAIN},
        {2, BASE, BASE + 4 * GRAIN},
    };
    struct taker *taker = taker_new();
    struct idle_turn turn = {0};

    (void)state;
    taker->refused = 1;
    next(taker, &turn, ranges, 2, 64);
    assert_int_equal(taker->n, 16);
    assert_int_equal(n_taken(taker, 2, BASE, BASE + 4 * GRAIN), 16);
    taker->refused = 2;
    next(taker, &turn, ranges, 2, 64);
    assert_int_equal(n_taken(taker, 1, BASE, BASE + 64 * GRAIN), 64);
    taker->refused = 1;
    next(taker, &turn, ranges, 1, 64); /* it began in this one */
    assert_int_equal(taker->n, 0);
    free(taker);
}

/* ---- batches ---- */

static void test_batch_order(void **state)
{
    struct page_frame items[] = {
        {.addr = 50, .pfn = 200, .head = 200}, {.addr = 40, .pfn = 131, .head = 128}, {.addr = 10},
        {.addr = 30, .pfn = 130, .head = 128}, {.addr = 20, .pfn = 7, .head = 7},     {.addr = 60},
        {.addr = 70, .pfn = 63, .head = 63},   {.addr = 80, .pfn = 64, .head = 64},
    };
    struct page_frames frames = {.items = items, .n = ARRAY_LENGTH(items)};
    const uint64_t addrs[] = {20, 70, 80, 30, 50};
    struct idle_word word;

    (void)state;
    assert_int_equal(idle_batch_order(&frames), 2);
    assert_int_equal(frames.n, ARRAY_LENGTH(addrs));
    for (size_t i = 0; i < frames.n; i++)
        assert_int_equal(frames.items[i].addr, addrs[i]);
    word = idle_batch_word(&frames, 0);
    assert_true(word.word == 0 && word.n == 2);
    assert_int_equal(word.mask, UINT64_C(1) << 7 | UINT64_C(1) << 63);
    word = idle_batch_word(&frames, 2);
    assert_true(word.word == 1 && word.n == 1 && word.mask == 1);
    word = idle_batch_word(&frames, 3);
    assert_true(word.word == 2 && word.n == 1 && word.mask == 1);
    word = idle_batch_word(&frames, 4);
    assert_true(word.word == 3 && word.n == 1 && word.mask == 1 << 8);
    assert_int_equal(idle_batch_word(&frames, 5).n, 0);
}

static void test_empty_batch(void **state)
{
    struct page_frames frames = {0};

    (void)state;
    assert_int_equal(idle_batch_order(&frames), 0);
    assert_int_equal(idle_batch_word(&frames, 0).n, 0);
}

/* ---- budget ---- */

static void test_budget_by_time(void **state)
{
    struct idle_budget budget = IDLE_BUDGET_START;
    uint64_t now = 5 * NSEC_PER_SEC;

    (void)state;
    assert_int_equal(idle_budget_give(&budget, 0.02, now), 1000); /* 5 ms at 5 us */
    assert_int_equal(idle_budget_give(&budget, 0.02, now), 0);
    assert_int_equal(idle_budget_give(&budget, 0.02, now += NSEC_PER_SEC / 10), 100);
    assert_int_equal(idle_budget_give(&budget, 0.02, now += 60 * NSEC_PER_SEC), 1000);
    assert_int_equal(idle_budget_give(&budget, 0.02, now - 1), 0); /* a clock that went back */
    assert_int_equal(idle_budget_give(&budget, 0.002, now += NSEC_PER_SEC), 100);
    assert_int_equal(idle_budget_give(&budget, 0, now += NSEC_PER_SEC), IDLE_PAGES_MIN);
}

static void test_budget_follows_cost(void **state)
{
    struct idle_budget budget = IDLE_BUDGET_START;
    uint64_t now = NSEC_PER_SEC;

    (void)state;
    for (unsigned i = 0; i < 40; i++)
        idle_budget_learn(&budget, 100, 100 * 20 * NSEC_PER_USEC);
    assert_in_range(idle_budget_give(&budget, 0.02, now += NSEC_PER_SEC), 249, 251);
    for (unsigned i = 0; i < 40; i++)
        idle_budget_learn(&budget, 1, NSEC_PER_SEC);
    assert_int_equal(idle_budget_give(&budget, 0.02, now += NSEC_PER_SEC), IDLE_PAGES_MIN);
    for (unsigned i = 0; i < 100; i++)
        idle_budget_learn(&budget, 1000, 0);
    assert_int_equal(idle_budget_give(&budget, 0.02, now += NSEC_PER_SEC), IDLE_PAGES_MAX);
    idle_budget_learn(&budget, 0, NSEC_PER_SEC); /* no pages, no price */
    assert_int_equal(idle_budget_give(&budget, 0.02, now += NSEC_PER_SEC), IDLE_PAGES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_ranges_once),       cmocka_unit_test(test_ranges_take_turns),
        cmocka_unit_test(test_first_page_and_others), cmocka_unit_test(test_ranges_that_change),
        cmocka_unit_test(test_no_ranges_no_budget),   cmocka_unit_test(test_refused_process),
        cmocka_unit_test(test_batch_order),           cmocka_unit_test(test_empty_batch),
        cmocka_unit_test(test_budget_by_time),        cmocka_unit_test(test_budget_follows_cost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
