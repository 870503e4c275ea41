/* pages_move when calls fail, on any pages, and what the ledger says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "pages_bed.h"
#include "util/array.h"

static void full_target_keeps_what_had_room(void **state)
{
    struct pages_bed *bed = *state;

    pages_bed_init(bed, 1024);
    bed->model.free_pages[1] = 300;
    assert_int_equal(pages_bed_move(bed, 1), ENOMEM);
    pages_bed_check(bed);
    pages_bed_assert(bed, 300, 724, 0);
    assert_int_equal(ledger_failed_with(&bed->ledger, ENOMEM), 724);
}

static void refused_calls_say_why(void **state)
{
    struct pages_bed *bed = *state;

    pages_bed_init(bed, 64);
    assert_int_equal(pages_bed_move(bed, 3), ENODEV); /* no memory there */
    pages_bed_check(bed);
    assert_int_equal(pages_bed_move(bed, 7), ENODEV); /* no such node */
    bed->process->mems_allowed = "0,2";
    assert_int_equal(pages_bed_move(bed, 1), EACCES); /* outside its cpuset */
    pages_bed_check(bed);
    assert_int_equal(ledger_failed_with(&bed->ledger, EACCES), 64);
    assert_int_equal(ledger_failed_with(&bed->ledger, ENODEV), 128);
    bed->process->denied = true;
    assert_int_equal(pages_bed_move(bed, 2), EPERM);
    assert_int_equal(bed->ledger.n_tried, 192); /* the query was refused: nothing was tried */
    model_kill(&bed->model, bed->process);
    assert_int_equal(pages_bed_move(bed, 2), ESRCH);
    assert_int_equal(model_n_calls(&bed->model, MODEL_CALL_MOVE, PAGES_BED_PID), 3);
}

static void each_error_at_each_call(void **state)
{
    static const int errors[] = {EPERM, ESRCH, ENODEV, ENOMEM, EINTR};
    struct pages_bed *bed = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(errors); i++)
        for (size_t call = 1; call <= 5; call++) {
            pages_bed_init(bed, 1024);
            bed->vma->pages[0].flags = bed->vma->pages[1].flags = MODEL_PAGE_HELD;
            bed->model.fail_at = call;
            bed->model.fail_error = errors[i];
            /* query, move (page 0 refuses), query, move (page 1 refuses), query */
            assert_int_equal(pages_bed_move(bed, 1), errors[i]);
            assert_int_equal(bed->ledger.n_tried, call == 1 ? 0 : 1024);
            if (call > 1)
                pages_bed_check(bed);
            assert_int_equal(bed->ledger.n_moved, call < 3 ? 0 : 1022);
            model_deinit(&bed->model);
        }
    pages_bed_init(bed, 1);
}

static void pages_that_moved_with_a_huge_page_count_after_an_error(void **state)
{
    struct pages_bed *bed = *state;

    pages_bed_init(bed, 2048);
    model_set_huge(bed->vma);
    /* Nine refusals of the first one shorten the calls to less than a huge page. */
    bed->vma->pages[0].flags |= MODEL_PAGE_HELD;
    bed->model.fail_at = 22;
    bed->model.fail_error = EINTR;
    assert_int_equal(pages_bed_move(bed, 1), EINTR);
    pages_bed_check(bed);
    assert_true(bed->ledger.n_moved >= MODEL_HUGE_PAGES);
    assert_int_equal(bed->ledger.n_moved, model_pages_on(bed->process, 1));
}

static void nothing_to_do_asks_nothing_of_the_ledger(void **state)
{
    struct pages_bed *bed = *state;

    pages_bed_init(bed, 1);
    bed->n = 0;
    assert_int_equal(pages_bed_move(bed, 1), 0);
    assert_int_equal(bed->ledger.n_tried, 0);
}

static void ledger_keeps_one_row_for_each_errno(void **state)
{
    struct ledger ledger = {.n_tried = 60, .n_moved = 11, .n_absent = 7}, sum = {0};

    (void)state;
    for (int error = 1; error <= LEDGER_ERRNOS + 5; error++)
        ledger_fail(&ledger, error, 2);
    assert_int_equal(ledger.n_errnos, LEDGER_ERRNOS);
    assert_int_equal(ledger.n_failed, 2 * (LEDGER_ERRNOS + 5));
    assert_int_equal(ledger.failed[LEDGER_ERRNOS - 1].n, 12);
    ledger_merge(&sum, &ledger);
    ledger_merge(&sum, &ledger);
    assert_int_equal(sum.n_failed, 2 * ledger.n_failed);
    assert_int_equal(sum.n_tried, 120);
    assert_int_equal(sum.n_moved, 22);
    assert_int_equal(sum.n_absent, 14);
    assert_int_equal(sum.n_errnos, LEDGER_ERRNOS);
    assert_int_equal(ledger_failed_with(&sum, 3), 4);
}

/* A mapping of base and huge pages with any state that a page can have. */
static void scatter(struct pages_bed *bed)
{
    static const int places[] = {0, 1, 2, 0, 1, 0, -ENOENT, -EFAULT};
    struct model *model = &bed->model;
    uint64_t odd = 1 + model_random(model, 200);

    for (size_t i = 0; i < bed->n; i++) {
        struct model_page *page = &bed->vma->pages[i];

        page->at = places[model_random(model, ARRAY_LENGTH(places))];
        page->flags = 0;
        if (!model_random(model, odd))
            page->flags = model_random(model, 2) ? MODEL_PAGE_HELD : MODEL_PAGE_SHARED;
    }
    for (size_t i = 0; i + MODEL_HUGE_PAGES <= bed->n; i += MODEL_HUGE_PAGES) {
        int node = (int)model_random(model, 3);

        if (model_random(model, 3))
            continue;
        for (size_t page = i; page < i + MODEL_HUGE_PAGES; page++)
            bed->vma->pages[page] = (struct model_page){.at = node, .flags = MODEL_PAGE_HUGE};
        bed->vma->pages[i].flags |= model_random(model, 4) ? 0 : MODEL_PAGE_HELD;
    }
}

static bool has_held(const struct pages_bed *bed)
{
    for (size_t i = 0; i < bed->vma->n_pages; i++)
        if (bed->vma->pages[i].flags & MODEL_PAGE_HELD)
            return true;
    return false;
}

static void check_turn(const struct pages_bed *bed, int node, int error)
{
    uint64_t n_misplaced = 0, n_arrived = 0;

    pages_bed_check(bed);
    for (size_t i = 0; i < bed->n; i++) {
        n_misplaced += bed->before[i] >= 0 && bed->before[i] != node;
        n_arrived += bed->before[i] >= 0 && bed->before[i] != node && bed->at[i] == node;
    }
    assert_int_equal(bed->ledger.n_tried, n_misplaced);
    assert_int_equal(bed->ledger.n_moved, n_arrived);
    if (!error && !has_held(bed))
        assert_int_equal(bed->ledger.n_failed, ledger_failed_with(&bed->ledger, EACCES));
    assert_true(model_n_calls(&bed->model, MODEL_CALL_MOVE, PAGES_BED_PID) <=
                2 * PAGES_REFUSED_MAX);
}

static void any_pages_keep_the_books(void **state)
{
    struct pages_bed *bed = *state;
    struct model *model = &bed->model;
    unsigned n_clean = 0, n_failed = 0, n_errors = 0;

    pages_bed_init(bed, 1536);
    for (unsigned turn = 0; turn < 3000; turn++) {
        int node = (int)model_random(model, 3), error;

        bed->n = 1 + model_random(model, 1536);
        bed->ledger = (struct ledger){0};
        model->n_calls = 0;
        scatter(bed);
        model->fail_at = model_random(model, 4) ? 0 : 2 * (1 + model_random(model, 3));
        model->fail_error = EINTR;
        error = pages_bed_move(bed, node);
        check_turn(bed, node, error);
        n_errors += error != 0;
        n_failed += bed->ledger.n_failed > 0;
        n_clean += bed->ledger.n_failed == 0;
    }
    assert_true(n_errors > 300 && n_failed > 1000 && n_clean > 100);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, pages_bed_setup, pages_bed_teardown)
    const struct CMUnitTest tests[] = {
        TEST(full_target_keeps_what_had_room),
        TEST(refused_calls_say_why),
        TEST(each_error_at_each_call),
        TEST(pages_that_moved_with_a_huge_page_count_after_an_error),
        TEST(nothing_to_do_asks_nothing_of_the_ledger),
        TEST(any_pages_keep_the_books),
        cmocka_unit_test(ledger_keeps_one_row_for_each_errno),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
