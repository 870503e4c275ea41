/*
 * The pages of a replay: what of a trace is news, and the edges of the address space.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "sample/trace/replay_pages.h"
#include "sample/trace/trace.h"

#define PAGE UINT64_C(4096)
#define PID 4711
#define ADDR UINT64_C(0x7f0000000000)

/* A move of then is no move of now, and its outcome no news. */
static void a_recorded_move_moves_nothing_now(void **state)
{
    struct replay_pages pages = {.page_bytes = PAGE};

    (void)state;
    replay_pages_observe(&pages, PID, ADDR, 0);
    replay_pages_note_move(&pages, PID, ADDR, 1, 1);
    replay_pages_observe(&pages, PID, ADDR, 1);
    assert_int_equal(replay_pages_ask(&pages, PID, ADDR), 0);
    assert_int_equal(replay_pages_move(&pages, PID, ADDR, 1), 1);
    assert_int_equal(replay_pages_ask(&pages, PID, ADDR), 1);
    replay_pages_observe(&pages, PID, ADDR, -ENOENT);
    assert_int_equal(replay_pages_ask(&pages, PID, ADDR), -ENOENT);
    replay_pages_deinit(&pages);
}

/*
 * Named after the bug: the recorded run asked for the page, then moved it; the replay, a round
 * ahead, had moved it already, was put back, and planned to move it once more.
 */
static void a_move_before_the_first_answer_stays(void **state)
{
    struct replay_pages pages = {.page_bytes = PAGE};

    (void)state;
    replay_pages_observe(&pages, PID, ADDR, 0);
    assert_int_equal(replay_pages_move(&pages, PID, ADDR + PAGE, 1), 1);
    replay_pages_observe(&pages, PID, ADDR + PAGE, 0);
    assert_int_equal(replay_pages_ask(&pages, PID, ADDR + PAGE), 1);
    replay_pages_note_move(&pages, PID, ADDR + PAGE, 1, 1);
    replay_pages_observe(&pages, PID, ADDR + PAGE, 1);
    assert_int_equal(replay_pages_ask(&pages, PID, ADDR + PAGE), 1);
    /* What happens to it later is news, and that it is absent always. */
    replay_pages_observe(&pages, PID, ADDR + PAGE, 2);
    assert_int_equal(replay_pages_ask(&pages, PID, ADDR + PAGE), 2);
    assert_int_equal(replay_pages_move(&pages, PID, ADDR + 2 * PAGE, 1), 1);
    replay_pages_observe(&pages, PID, ADDR + 2 * PAGE, -ENOENT);
    assert_int_equal(replay_pages_ask(&pages, PID, ADDR + 2 * PAGE), -ENOENT);
    replay_pages_deinit(&pages);
}

/* The kernel said nothing, and the page was found where it had been: it had refused. */
static void an_unwritten_move_that_failed_refuses(void **state)
{
    struct replay_pages pages = {.page_bytes = PAGE};

    (void)state;
    replay_pages_observe(&pages, PID, ADDR, 0);
    replay_pages_note_move(&pages, PID, ADDR, 1, TRACE_UNWRITTEN);
    replay_pages_observe(&pages, PID, ADDR, 0);
    assert_int_equal(replay_pages_move(&pages, PID, ADDR, 1), -EBUSY);
    assert_int_equal(replay_pages_ask(&pages, PID, ADDR), 0);
    replay_pages_deinit(&pages);
}

static void most_lie_where_most_are_known(void **state)
{
    struct replay_pages pages = {.page_bytes = PAGE};

    (void)state;
    for (uint64_t i = 0; i < 1024; i++)
        replay_pages_observe(&pages, PID, ADDR + i * PAGE, i < 600 ? 2 : 3);
    assert_int_equal(replay_pages_most(&pages, PID, ADDR, ADDR + 1024 * PAGE, 1), 2);
    assert_int_equal(replay_pages_most(&pages, PID, ADDR, ADDR + 1024 * PAGE, 2), 3);
    assert_int_equal(replay_pages_most(&pages, PID, ADDR + 600 * PAGE, ADDR + 601 * PAGE, 1), 3);
    assert_int_equal(replay_pages_most(&pages, PID + 1, ADDR, ADDR + 1024 * PAGE, 1), -1);
    assert_int_equal(replay_pages_most(&pages, PID, ADDR, ADDR, 1), -1);
    replay_pages_deinit(&pages);
}

/* A trace can name addresses up to the last one: behind its block the walk began again at 0. */
static void a_range_at_the_end_of_the_addresses_ends(void **state)
{
    struct replay_pages pages = {.page_bytes = PAGE};
    uint64_t last = UINT64_MAX - PAGE + 1;

    (void)state;
    replay_pages_observe(&pages, PID, last, 1);
    assert_int_equal(replay_pages_most(&pages, PID, last - PAGE, UINT64_MAX, 0), 1);
    replay_pages_deinit(&pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_move_moves_nothing_now),
        cmocka_unit_test(a_move_before_the_first_answer_stays),
        cmocka_unit_test(an_unwritten_move_that_failed_refuses),
        cmocka_unit_test(most_lie_where_most_are_known),
        cmocka_unit_test(a_range_at_the_end_of_the_addresses_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
