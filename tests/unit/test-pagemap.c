/* Which addresses stand for what a scan of a page table shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "attribute/pagemap.h"
#include "fake_host.h"
#include "util/array.h"
#include "util/cleanup.h"

#define PAGE UINT64_C(4096)
#define HUGE (512 * PAGE)
#define BASE (UINT64_C(1) << 32) /* aligned to 2 MiB */
#define LIMIT 16

/* In base pages from BASE. */
static struct page_run run_of(uint64_t start, uint64_t end, uint64_t kinds)
{
    return (struct page_run){
        .start = BASE + start * PAGE, .end = BASE + end * PAGE, .kinds = kinds};
}

/* Page numbers of what is chosen in [start, end). */
static size_t choose(const struct page_run *items, size_t n_items, uint64_t start, uint64_t end,
                     unsigned turn, uint64_t *numbers)
{
    const struct page_runs runs = {.items = items, .n_items = n_items};
    void *addrs[LIMIT];
    size_t n =
        page_runs_choose(&runs, BASE + start * PAGE, BASE + end * PAGE, PAGE, turn, addrs, LIMIT);

    for (size_t i = 0; i < n; i++)
        numbers[i] = ((uintptr_t)addrs[i] - BASE) / PAGE;
    return n;
}

static void only_pages_that_lie_on_a_node_are_chosen(void **state)
{
    const struct page_run runs[] = {
        run_of(3, 4, PAGE_PRESENT),
        run_of(10, 20, PAGE_SWAPPED),
        run_of(20, 30, PAGE_PRESENT | PAGE_ZERO),
        run_of(500, 501, PAGE_PRESENT),
    };

    (void)state;
    for (unsigned turn = 0; turn < 100; turn++) {
        uint64_t numbers[LIMIT];

        assert_int_equal(choose(runs, ARRAY_LENGTH(runs), 0, 512, turn, numbers), 2);
        assert_int_equal(numbers[0], 3);
        assert_int_equal(numbers[1], 500);
    }
}

static void a_huge_page_is_one_address(void **state)
{
    const struct page_run runs[] = {
        run_of(0, 1024, PAGE_PRESENT | PAGE_HUGE),
        run_of(1024, 1026, PAGE_PRESENT),
        run_of(1536, 2048, PAGE_SWAPPED | PAGE_HUGE), /* on its way to another node */
        run_of(2048, 2560, PAGE_PRESENT | PAGE_HUGE | PAGE_ZERO),
    };
    uint64_t numbers[LIMIT];

    (void)state;
    assert_int_equal(choose(runs, 4, 0, 512, 7, numbers), 1);
    assert_int_equal(numbers[0], 0);
    assert_int_equal(choose(runs, 4, 512, 1024, 7, numbers), 1);
    assert_int_equal(numbers[0], 512);
    assert_int_equal(choose(runs, 4, 1536, 2048, 0, numbers), 0);
    assert_int_equal(choose(runs, 4, 2048, 2560, 0, numbers), 0);
    assert_int_equal(choose(runs, 4, 0, 2560, 7, numbers), 4); /* each 2 MiB, and two base pages */
    assert_int_equal(numbers[1], 512);
    assert_int_equal(numbers[2], 1024);
    assert_int_equal(numbers[3], 1025);
}

/* A range that begins inside a huge page, as where the VMA was split by numabd's view of it. */
static void a_part_of_a_huge_page_stands_for_itself(void **state)
{
    const struct page_run run = run_of(0, 1024, PAGE_PRESENT | PAGE_HUGE);
    const struct page_runs runs = {.items = &run, .n_items = 1};
    struct page_unit unit;
    uint64_t pos = 0;

    (void)state;
    assert_true(page_runs_next(&runs, BASE + 100 * PAGE, BASE + 700 * PAGE, PAGE, &pos, &unit));
    assert_int_equal(unit.addr, BASE + 100 * PAGE);
    assert_int_equal(unit.n_pages, 412);
    assert_true(page_runs_next(&runs, BASE + 100 * PAGE, BASE + 700 * PAGE, PAGE, &pos, &unit));
    assert_int_equal(unit.addr, BASE + HUGE);
    assert_int_equal(unit.n_pages, 188);
    assert_false(page_runs_next(&runs, BASE + 100 * PAGE, BASE + 700 * PAGE, PAGE, &pos, &unit));
}

/* 100 single pages with holes between: each has its turn, and 16 at a time lie all over. */
static void repeats_choose_others_among_those_present(void **state)
{
    struct page_run runs[100];
    bool seen[512] = {false};
    uint64_t numbers[LIMIT];

    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        runs[i] = run_of(5 * i, 5 * i + 1, PAGE_PRESENT);
    for (unsigned turn = 0; turn < 42; turn++) { /* parts have 6 or 7 pages: 6 * 7 turns */
        assert_int_equal(choose(runs, 100, 0, 512, turn, numbers), LIMIT);
        for (size_t i = 0; i < LIMIT; i++) {
            assert_int_equal(numbers[i] % 5, 0);
            assert_true(!i || numbers[i] > numbers[i - 1]);
            seen[numbers[i]] = true;
        }
        assert_true(numbers[LIMIT - 1] - numbers[0] >= 440);
    }
    for (size_t i = 0; i < 100; i++)
        assert_true(seen[5 * i]);
}

static void every_page_that_is_there_is_a_unit_to_move(void **state)
{
    const struct page_run items[] = {
        run_of(1, 3, PAGE_PRESENT),
        run_of(3, 5, PAGE_SWAPPED),
        run_of(512, 1024, PAGE_PRESENT | PAGE_HUGE),
        run_of(1024, 1025, PAGE_PRESENT),
    };
    const struct page_runs runs = {.items = items, .n_items = ARRAY_LENGTH(items)};
    static const uint64_t numbers[] = {1, 2, 512, 1024}, n_pages[] = {1, 1, 512, 1};
    struct page_unit unit;
    uint64_t pos = 0;
    size_t n = 0;

    (void)state;
    for (; page_runs_next(&runs, BASE, BASE + 4 * HUGE, PAGE, &pos, &unit); n++) {
        assert_int_equal((unit.addr - BASE) / PAGE, numbers[n]);
        assert_int_equal(unit.n_pages, n_pages[n]);
    }
    assert_int_equal(n, ARRAY_LENGTH(numbers));
}

static void a_walk_is_bounded_and_goes_on_where_it_came_to(void **state)
{
    CLEANUP(pagemap_deinit) struct pagemap pagemap;
    struct page_runs cut;
    struct fake_host fake;

    (void)state;
    fake_host_init(&fake);
    fake.scans = true;
    for (uint64_t i = 0; i < 1000; i++) /* more runs than one call gives */
        fake_host_place(&fake, BASE + 2 * i * PAGE, BASE + (2 * i + 1) * PAGE, 0);
    fake_host_place(&fake, BASE + 100 * HUGE, BASE + 100 * HUGE + PAGE, 0);
    pagemap_init(&pagemap, &fake.host, 1);
    assert_int_equal(pagemap_read(&pagemap, BASE, BASE + 128 * HUGE), 0);
    assert_int_equal(pagemap.n_runs, 1001);
    assert_int_equal(pagemap.n_calls, fake.n_scans);
    assert_true(fake.longest_scan <= PAGEMAP_CALL_BYTES);
    assert_true(fake.n_scans > 128 * HUGE / PAGEMAP_CALL_BYTES);
    cut = pagemap_cut(&pagemap, BASE + 100 * HUGE, BASE + 101 * HUGE);
    assert_int_equal(cut.n_items, 1);
    assert_true(cut.items[0].start == BASE + 100 * HUGE);
    assert_int_equal(pagemap_cut(&pagemap, BASE + 50 * HUGE, BASE + 60 * HUGE).n_items, 0);
    fake_host_deinit(&fake);
}

static void a_refusal_tells_kernel_process_and_moment_apart(void **state)
{
    static const struct {
        long error;
        int r;
    } cases[] = {
        {-ENOTTY, PAGEMAP_ABSENT},     {-EINVAL, PAGEMAP_ABSENT}, {-ENOSYS, PAGEMAP_ABSENT},
        {-EOPNOTSUPP, PAGEMAP_ABSENT}, {-EPERM, PAGEMAP_DENIED},  {-EACCES, PAGEMAP_DENIED},
        {-EMFILE, PAGEMAP_FAILED},     {-ESRCH, PAGEMAP_FAILED},  {-ENOENT, PAGEMAP_FAILED},
        {-ENOMEM, PAGEMAP_FAILED},     {-EINTR, PAGEMAP_FAILED},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(pagemap_deinit) struct pagemap pagemap;
        struct fake_host fake;

        fake_host_init(&fake);
        fake.scans = true;
        fake.scan_error = cases[i].error;
        pagemap_init(&pagemap, &fake.host, 1);
        assert_int_equal(pagemap_read(&pagemap, BASE, BASE + HUGE), cases[i].r);
        assert_int_equal(pagemap_cut(&pagemap, BASE, BASE + HUGE).n_items, 0);
        fake_host_deinit(&fake);
    }
}

/* reached is what self points to. */
static long stuck_scan(void *self, pid_t pid, int *fdp, struct page_scan *scan)
{
    (void)pid, (void)fdp;
    scan->reached = *(uint64_t *)self;
    return 0;
}

static void a_walk_that_does_not_go_on_ends(void **state)
{
    static const struct host_ops ops = {.scan_pages = stuck_scan};
    static const uint64_t reached[] = {0, BASE, BASE + 2 * HUGE};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(reached); i++) {
        CLEANUP(pagemap_deinit) struct pagemap pagemap;
        uint64_t to = reached[i];
        const struct host host = {.ops = &ops, .self = &to, .page_bytes = PAGE};

        pagemap_init(&pagemap, &host, 1);
        assert_int_equal(pagemap_read(&pagemap, BASE, BASE + HUGE), PAGEMAP_FAILED);
    }
}

static void a_host_without_it_says_so(void **state)
{
    static const struct host_ops none = {.scan_pages = NULL};
    const struct host host = {.ops = &none, .page_bytes = PAGE};
    CLEANUP(pagemap_deinit) struct pagemap pagemap;

    (void)state;
    pagemap_init(&pagemap, &host, 1);
    assert_int_equal(pagemap_read(&pagemap, BASE, BASE + HUGE), PAGEMAP_ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_pages_that_lie_on_a_node_are_chosen),
        cmocka_unit_test(a_huge_page_is_one_address),
        cmocka_unit_test(a_part_of_a_huge_page_stands_for_itself),
        cmocka_unit_test(repeats_choose_others_among_those_present),
        cmocka_unit_test(every_page_that_is_there_is_a_unit_to_move),
        cmocka_unit_test(a_walk_is_bounded_and_goes_on_where_it_came_to),
        cmocka_unit_test(a_refusal_tells_kernel_process_and_moment_apart),
        cmocka_unit_test(a_walk_that_does_not_go_on_ends),
        cmocka_unit_test(a_host_without_it_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
