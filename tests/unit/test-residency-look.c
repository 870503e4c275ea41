/* Which pages are asked for where the kernel tells which are there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "attribute/pagemap.h"
#include "attribute/ranges.h"
#include "attribute/requests.h"
#include "attribute/tally.h"
#include "fake_host.h"
#include "space_rig.h"
#include "util/array.h"
#include "util/nsec.h"

#define BASE (16 * M)
#define PAGE ((uint64_t)4096)
#define HUGE (2 * M)
#define SEC NSEC_PER_SEC
/* 8 GiB */
#define LARGE "1000000-201000000 rw-p 0 0:0 0 \n"

static const struct work_ops ops = {
    .name = "test", .run = residency_request_run, .free = residency_request_free};

struct rig {
    struct fake_host fake;
    struct space *space;
    struct residency_counts counts;
    uint64_t now;
};

/* A mapping with n sampled ranges from BASE on. */
static void rig_init(struct rig *rig, size_t n)
{
    *rig = (struct rig){.now = SEC};
    fake_host_init(&rig->fake);
    rig->fake.scans = true;
    rig->space = space_rig_new(LARGE);
    for (size_t i = 0; i < n; i++)
        space_rig_add(rig->space, 1, 0, BASE + i * HUGE, 1);
}

static void rig_deinit(struct rig *rig)
{
    space_free(rig->space);
    fake_host_deinit(&rig->fake);
}

/* A query when all are due again. Return: addresses asked for. */
static size_t rig_read(struct rig *rig)
{
    struct residency_request *residency = NULL;
    size_t n;

    rig->now += 30 * SEC;
    assert_int_equal(
        residency_request_new(&residency, rig->space, &rig->fake.host, rig->now, &ops, NULL), 0);
    residency_request_run(&residency->request.work);
    n = residency->n_pages;
    residency_request_note(residency, rig->space, &rig->counts);
    assert_int_equal(residency_request_apply(residency, rig->space), 0);
    residency_request_free(&residency->request.work);
    return n;
}

static double share(const struct rig *rig, size_t i, int node)
{
    return range_resident_share(space_find_range(rig->space, BASE + i * HUGE), node);
}

/* One page of 512: 16 blind addresses find it in one turn of 32, and then forget it again. */
static void sparse_memory_is_judged_by_what_is_there(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, 1);
    fake_host_place(&rig.fake, BASE + 77 * PAGE, BASE + 78 * PAGE, 8);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(rig_read(&rig), 1);
        assert_true(share(&rig, 0, 8) == 1);
    }
    assert_int_equal(rig.counts.n_asked, rig.counts.n_found);
    rig_deinit(&rig);
}

/* What the look is for: without it the same memory looks empty nearly always. */
static void without_a_look_sparse_memory_says_nothing(void **state)
{
    int n_unknown = 0;
    struct rig rig;

    (void)state;
    rig_init(&rig, 1);
    rig.fake.scans = false;
    fake_host_place(&rig.fake, BASE + 77 * PAGE, BASE + 78 * PAGE, 8);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(rig_read(&rig), RESIDENCY_PAGES_PER_RANGE);
        n_unknown += share(&rig, 0, 8) < 0;
    }
    assert_true(n_unknown >= 15);
    assert_true(rig.counts.no_pagemap); /* the kernel's answer: no process is tried again */
    rig_deinit(&rig);
}

static void a_huge_page_is_asked_for_once(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, 100);
    fake_host_place(&rig.fake, BASE, BASE + 200 * HUGE, 0);
    fake_host_place(&rig.fake, BASE + 50 * HUGE, BASE + 51 * HUGE, 8);
    rig.fake.huge_start = BASE;
    rig.fake.huge_end = BASE + 200 * HUGE;
    for (int i = 0; i < 3; i++)
        assert_int_equal(rig_read(&rig), 100); /* huge memory is looked at each time: it is cheap */
    assert_int_equal(rig.fake.n_calls, 3);
    assert_true(share(&rig, 49, 0) == 1 && share(&rig, 50, 8) == 1 && share(&rig, 51, 0) == 1);
    rig_deinit(&rig);
}

static void neighbours_are_looked_at_together_within_bounds(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, 100);
    space_rig_add(rig.space, 1, 0, BASE + 1000 * HUGE, 1); /* far away: a look of its own */
    fake_host_place(&rig.fake, BASE, BASE + 100 * HUGE, 0);
    rig_read(&rig);
    assert_int_equal(rig.fake.longest_scan, PAGEMAP_CALL_BYTES);
    assert_int_equal(rig.fake.n_scans, (100 + 15) / 16 + 1);
    assert_int_equal(rig.fake.scanned_bytes, 101 * HUGE); /* nothing in between */
    assert_int_equal(rig.counts.n_scans, rig.fake.n_scans);
    rig_deinit(&rig);
}

/* A look at 512 small pages costs more than asking for 16 of them. */
static void dense_memory_is_looked_at_now_and_then(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, 1);
    fake_host_place(&rig.fake, BASE, BASE + HUGE, 0);
    for (int i = 0; i < 4 * (RESIDENCY_BLIND + 1); i++)
        assert_int_equal(rig_read(&rig), RESIDENCY_PAGES_PER_RANGE);
    assert_int_equal(rig.fake.n_scans, 4);
    /* Most of it goes: the first answer with an absent page brings the look back. */
    fake_host_place(&rig.fake, BASE, BASE + HUGE - PAGE, -ENOENT);
    rig_read(&rig);
    rig_read(&rig);
    assert_int_equal(rig_read(&rig), 1);
    assert_true(share(&rig, 0, 0) == 1);
    rig_deinit(&rig);
}

/* The page at hand is what counts: swapped ones and the zero page lie on no node. */
static void swapped_and_zero_pages_are_not_asked_for(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, 1);
    fake_host_place(&rig.fake, BASE, BASE + HUGE, -EFAULT);
    fake_host_place(&rig.fake, BASE + 100 * PAGE, BASE + 110 * PAGE, 8);
    rig.fake.swapped_start = BASE + 105 * PAGE;
    rig.fake.swapped_end = BASE + 200 * PAGE;
    assert_int_equal(rig_read(&rig), 5);
    assert_true(share(&rig, 0, 8) == 1);
    rig_deinit(&rig);
}

/* 4 pages of 1 GiB: 4 addresses instead of 8,192, with and without the look. */
static void a_hugetlb_page_is_asked_for_once_whatever_its_size(void **state)
{
    static const struct {
        uint64_t page_bytes;
        size_t n_asked;
    } cases[] = {{(uint64_t)1 << 30, 3}, {2 * M, 1024}, {32 * M, 65}, {64 << 10, 1024 * 16}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        for (int scans = 0; scans <= 1; scans++) {
            struct rig rig;

            rig_init(&rig, 1024); /* 2 GiB that begin at 16 MiB: parts of three pages of 1 GiB */
            rig.fake.scans = scans;
            rig.space->vmas.items[0].page_bytes = cases[i].page_bytes;
            fake_host_place(&rig.fake, BASE, BASE + 1024 * HUGE, 8);
            assert_int_equal(rig_read(&rig), cases[i].n_asked);
            assert_int_equal(rig.fake.n_scans, 0);
            for (size_t j = 0; j < 1024; j++)
                assert_true(share(&rig, j, 8) == 1);
            rig_deinit(&rig);
        }
    }
}

static void a_closed_page_table_is_tried_once_for_each_process(void **state)
{
    static const struct {
        long error;
        bool process, kernel; /* is it given up for it? */
    } cases[] = {{-EACCES, true, false},
                 {-ENOTTY, true, true},
                 {-EMFILE, false, false},
                 {-ESRCH, false, false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct rig rig;

        rig_init(&rig, 40);
        fake_host_place(&rig.fake, BASE, BASE + 40 * HUGE, 8);
        rig.fake.scan_error = cases[i].error;
        assert_int_equal(rig_read(&rig), 40 * RESIDENCY_PAGES_PER_RANGE); /* as without it */
        assert_true(share(&rig, 39, 8) == 1);
        assert_int_equal(rig.counts.n_scans, 1); /* the other ranges are not tried */
        assert_int_equal(rig.space->no_pagemap, cases[i].process);
        assert_int_equal(rig.counts.no_pagemap, cases[i].kernel);
        rig_read(&rig);
        assert_int_equal(rig.counts.n_scans, cases[i].process ? 1 : 2);
        rig_deinit(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_memory_is_judged_by_what_is_there),
        cmocka_unit_test(without_a_look_sparse_memory_says_nothing),
        cmocka_unit_test(a_huge_page_is_asked_for_once),
        cmocka_unit_test(neighbours_are_looked_at_together_within_bounds),
        cmocka_unit_test(dense_memory_is_looked_at_now_and_then),
        cmocka_unit_test(swapped_and_zero_pages_are_not_asked_for),
        cmocka_unit_test(a_hugetlb_page_is_asked_for_once_whatever_its_size),
        cmocka_unit_test(a_closed_page_table_is_tried_once_for_each_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
