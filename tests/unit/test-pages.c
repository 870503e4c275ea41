/* pages_move on the model's move_pages: every form of partial failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <numaif.h>

#include "pages_bed.h"
#include "util/array.h"

static long raw_call(struct pages_bed *bed, int *status)
{
    void *addrs[PAGES_BED_MAX];
    int nodes[PAGES_BED_MAX];

    for (size_t i = 0; i < bed->n; i++) {
        addrs[i] = bed->pages[i].addr;
        nodes[i] = 1;
        status[i] = -999;
    }
    return model_move_pages(&bed->model, PAGES_BED_PID, bed->n, addrs, nodes, status, MPOL_MF_MOVE);
}

static size_t count_status(const struct pages_bed *bed, const int *status, int value)
{
    size_t n = 0;

    for (size_t i = 0; i < bed->n; i++)
        n += status[i] == value;
    return n;
}

/* The model itself gives what was measured on Linux 6.12. */
static void model_aborts_a_group_like_the_kernel(void **state)
{
    struct pages_bed *bed = *state;
    int status[PAGES_BED_MAX];

    pages_bed_init(bed, 1024);
    bed->vma->pages[512].flags = MODEL_PAGE_HELD;
    assert_int_equal(raw_call(bed, status), 1);
    assert_int_equal(count_status(bed, status, -999), 1024);
    assert_int_equal(model_pages_on(bed->process, 1), 1023);
}

static void model_counts_what_it_did_not_look_at(void **state)
{
    struct pages_bed *bed = *state;
    int status[PAGES_BED_MAX];

    pages_bed_init(bed, 1024);
    bed->vma->pages[200].at = -EFAULT;
    bed->vma->pages[500].flags = MODEL_PAGE_HELD;
    bed->vma->pages[800].at = -ENOENT;
    assert_int_equal(raw_call(bed, status), 224);
    assert_int_equal(count_status(bed, status, -999), 822);
    assert_int_equal(status[200], -EFAULT);
    assert_int_equal(status[800], -ENOENT);
}

static void model_is_busy_with_a_huge_page_it_has_queued(void **state)
{
    struct pages_bed *bed = *state;
    int status[PAGES_BED_MAX];

    pages_bed_init(bed, 512);
    model_set_huge(bed->vma);
    assert_int_equal(raw_call(bed, status), 0);
    assert_int_equal(status[0], 1);
    assert_int_equal(status[1], -EBUSY);
    assert_int_equal(count_status(bed, status, 1), 511);
}

/* Pages of 1,024 that are not plain, and what must come of it. */
struct odd_page {
    size_t first, n;
    unsigned flags;
    int at;
};

static const struct {
    const char *name;
    struct odd_page odd[4];
    uint64_t moved, failed, absent;
    int error;
} odd_cases[] = {
    {"all plain", {{0}}, 1024, 0, 0, 0},
    {"held first", {{0, 1, MODEL_PAGE_HELD, 0}}, 1023, 1, 0, EAGAIN},
    {"held in the middle", {{511, 1, MODEL_PAGE_HELD, 0}}, 1023, 1, 0, EAGAIN},
    {"held last", {{1023, 1, MODEL_PAGE_HELD, 0}}, 1023, 1, 0, EAGAIN},
    {"two held", {{3, 1, MODEL_PAGE_HELD, 0}, {900, 1, MODEL_PAGE_HELD, 0}}, 1022, 2, 0, EAGAIN},
    {"60 held in a row", {{100, 60, MODEL_PAGE_HELD, 0}}, 964, 60, 0, EAGAIN},
    {"100 held in a row", {{0, 100, MODEL_PAGE_HELD, 0}}, 924, 100, 0, EAGAIN},
    {"all held", {{0, 1024, MODEL_PAGE_HELD, 0}}, 0, 1024, 0, EAGAIN},
    {"all but the last held", {{0, 1023, MODEL_PAGE_HELD, 0}}, 1, 1023, 0, EAGAIN},
    {"zero page, held page, hole",
     {{200, 1, 0, -EFAULT}, {500, 1, MODEL_PAGE_HELD, 0}, {800, 1, 0, -ENOENT}},
     1021,
     1,
     0,
     EAGAIN},
    {"all holes", {{0, 1024, 0, -ENOENT}}, 0, 0, 0, 0},
    {"shared with others", {{7, 5, MODEL_PAGE_SHARED, 0}}, 1019, 5, 0, EACCES},
    {"shared ones split the groups of held ones",
     {{10, 1, MODEL_PAGE_HELD, 0}, {11, 1, MODEL_PAGE_SHARED, 0}, {12, 1, MODEL_PAGE_HELD, 0}},
     1021,
     3,
     0,
     EAGAIN},
    {"half there already", {{0, 512, 0, 1}}, 512, 0, 0, 0},
    {"all there already", {{0, 1024, 0, 1}}, 0, 0, 0, 0},
    {"from two nodes", {{300, 300, 0, 2}}, 1024, 0, 0, 0},
};

static void bed_add_odd(struct pages_bed *bed, const struct odd_page *odd)
{
    for (size_t i = 0; i < odd->n; i++)
        bed->vma->pages[odd->first + i] = (struct model_page){.at = odd->at, .flags = odd->flags};
}

static void odd_pages_end_in_the_ledger(void **state)
{
    struct pages_bed *bed = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(odd_cases); i++) {
        print_message("%s\n", odd_cases[i].name);
        if (i)
            model_deinit(&bed->model);
        pages_bed_init(bed, 1024);
        for (size_t k = 0; k < ARRAY_LENGTH(odd_cases[i].odd); k++)
            bed_add_odd(bed, &odd_cases[i].odd[k]);
        assert_int_equal(pages_bed_move(bed, 1), 0);
        pages_bed_check(bed);
        pages_bed_assert(bed, odd_cases[i].moved, odd_cases[i].failed, odd_cases[i].absent);
        assert_true(!odd_cases[i].error ||
                    ledger_failed_with(&bed->ledger, odd_cases[i].error) > 0);
    }
}

static void plain_pages_take_one_query_and_one_move(void **state)
{
    struct pages_bed *bed = *state;

    pages_bed_init(bed, PAGES_BED_MAX);
    assert_int_equal(pages_bed_move(bed, 1), 0);
    assert_int_equal(model_n_calls(&bed->model, MODEL_CALL_QUERY, PAGES_BED_PID), 1);
    assert_int_equal(model_n_calls(&bed->model, MODEL_CALL_MOVE, PAGES_BED_PID), 1);
}

static void pages_in_place_are_not_handed_over(void **state)
{
    struct pages_bed *bed = *state;

    pages_bed_init(bed, 1024);
    for (size_t i = 0; i < 1000; i++)
        bed->vma->pages[i].at = 1;
    assert_int_equal(pages_bed_move(bed, 1), 0);
    assert_int_equal(bed->model.calls[1].kind, MODEL_CALL_MOVE);
    assert_int_equal(bed->model.calls[1].n, 24);
    assert_int_equal(bed->ledger.n_tried, 24);
    assert_int_equal(bed->before[0], 1);
    assert_int_equal(bed->before[1000], 0);
}

static void calls_that_move_nothing_are_halved(void **state)
{
    static const size_t sizes[] = {1024, 512, 256, 128, 64, 32, 16, 8};
    struct pages_bed *bed = *state;
    size_t n = 0;

    pages_bed_init(bed, 1024);
    for (size_t i = 0; i < 1024; i++)
        bed->vma->pages[i].flags = MODEL_PAGE_HELD;
    assert_int_equal(pages_bed_move(bed, 1), 0);
    for (size_t i = 0; i < bed->model.n_calls; i++) {
        if (bed->model.calls[i].kind != MODEL_CALL_MOVE)
            continue;
        if (n < ARRAY_LENGTH(sizes))
            assert_int_equal(bed->model.calls[i].n, sizes[n]);
        n++;
    }
    assert_true(n >= ARRAY_LENGTH(sizes));
}

static void refusals_end_the_request_at_their_limit(void **state)
{
    struct pages_bed *bed = *state;

    pages_bed_init(bed, PAGES_BED_MAX);
    for (size_t i = 0; i < PAGES_BED_MAX; i++)
        bed->vma->pages[i].flags = i % 16 ? 0 : MODEL_PAGE_HELD;
    assert_int_equal(pages_bed_move(bed, 1), 0);
    pages_bed_check(bed);
    assert_true(model_n_calls(&bed->model, MODEL_CALL_MOVE, PAGES_BED_PID) <= PAGES_REFUSED_MAX);
    pages_bed_assert(bed, PAGES_BED_MAX - PAGES_BED_MAX / 16, PAGES_BED_MAX / 16, 0);
}

static void huge_page_moves_whole_and_is_not_counted_as_busy(void **state)
{
    struct pages_bed *bed = *state;

    pages_bed_init(bed, PAGES_BED_MAX);
    model_set_huge(bed->vma);
    assert_int_equal(pages_bed_move(bed, 2), 0);
    pages_bed_check(bed);
    pages_bed_assert(bed, PAGES_BED_MAX, 0, 0);
    assert_int_equal(model_n_calls(&bed->model, MODEL_CALL_MOVE, PAGES_BED_PID), 1);
}

/* Each of its 512 addresses ends a call: the others must still have their turn. */
static void held_huge_page_does_not_keep_the_others(void **state)
{
    static const size_t held[] = {0, 3, 7};
    struct pages_bed *bed = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(held); i++) {
        pages_bed_init(bed, PAGES_BED_MAX);
        model_set_huge(bed->vma);
        bed->vma->pages[held[i] * MODEL_HUGE_PAGES].flags |= MODEL_PAGE_HELD;
        assert_int_equal(pages_bed_move(bed, 1), 0);
        pages_bed_check(bed);
        pages_bed_assert(bed, PAGES_BED_MAX - MODEL_HUGE_PAGES, MODEL_HUGE_PAGES, 0);
        if (i + 1 < ARRAY_LENGTH(held))
            model_deinit(&bed->model);
    }
}

static void drop_ten_pages(struct model *model, struct model_process *process, bool moves)
{
    if (!moves)
        return;
    model->before_call = NULL;
    for (size_t i = 0; i < 10; i++)
        process->vmas[0].pages[i].at = -ENOENT;
}

static void page_that_goes_in_the_middle_is_absent(void **state)
{
    struct pages_bed *bed = *state;

    pages_bed_init(bed, 100);
    bed->model.before_call = drop_ten_pages;
    assert_int_equal(pages_bed_move(bed, 1), 0);
    pages_bed_check(bed);
    assert_int_equal(bed->ledger.n_tried, 100);
    pages_bed_assert(bed, 90, 0, 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, pages_bed_setup, pages_bed_teardown)
    const struct CMUnitTest tests[] = {
        TEST(model_aborts_a_group_like_the_kernel),
        TEST(model_counts_what_it_did_not_look_at),
        TEST(model_is_busy_with_a_huge_page_it_has_queued),
        TEST(odd_pages_end_in_the_ledger),
        TEST(plain_pages_take_one_query_and_one_move),
        TEST(pages_in_place_are_not_handed_over),
        TEST(calls_that_move_nothing_are_halved),
        TEST(refusals_end_the_request_at_their_limit),
        TEST(huge_page_moves_whole_and_is_not_counted_as_busy),
        TEST(held_huge_page_does_not_keep_the_others),
        TEST(page_that_goes_in_the_middle_is_absent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
