/*
 * Threads and their bits: one each while they fit, and never that of somebody who may still be
 * remembered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute/slots.h"

static struct slots *new_slots(unsigned n_bits)
{
    struct slots *slots = NULL;

    assert_int_equal(slots_new(&slots, n_bits), 0);
    return slots;
}

static void widths_are_whole_words_within_the_limits(void **state)
{
    static const unsigned widths[][2] = {
        {0, 64},      {1, 64},      {64, 64},     {65, 128},      {256, 256},        {4095, 4096},
        {4096, 4096}, {4097, 4096}, {1000, 1024}, {100000, 4096}, {UINT32_MAX, 4096}};

    (void)state;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        CLEANUP(slots_freep) struct slots *slots = new_slots(widths[i][0]);

        assert_int_equal(slots->n_bits, widths[i][1]);
        assert_int_equal(slots->n_words, widths[i][1] / 64);
        assert_int_equal(slots_round(widths[i][0]), widths[i][1]);
    }
}

static void while_threads_fit_each_has_a_bit_of_its_own(void **state)
{
    CLEANUP(slots_freep) struct slots *slots = new_slots(128);
    bool taken[128] = {false};

    (void)state;
    for (unsigned i = 0; i < 128; i++) {
        unsigned slot = slots_take(slots);

        assert_in_range(slot, 0, 127);
        assert_false(taken[slot]);
        taken[slot] = true;
    }
    for (unsigned i = 0; i < 128; i++)
        assert_false(slots_is_shared(slots, i));
}

static void beyond_that_they_share_evenly(void **state)
{
    CLEANUP(slots_freep) struct slots *slots = new_slots(64);

    (void)state;
    for (unsigned i = 0; i < 64 * 3 + 5; i++)
        slots_take(slots);
    for (unsigned i = 0; i < 64; i++) {
        assert_in_range(slots->n_users[i], 3, 4);
        assert_true(slots_is_shared(slots, i));
    }
}

static void the_one_with_the_fewest_users_is_shared_first(void **state)
{
    CLEANUP(slots_freep) struct slots *slots = new_slots(64);

    (void)state;
    for (unsigned i = 0; i < 128; i++)
        slots_take(slots);
    slots_release(slots, 10, 0);
    assert_int_equal(slots_take(slots), 10);
}

/* Even where it would come next. */
static void a_resting_slot_is_passed_over_for_a_free_one(void **state)
{
    CLEANUP(slots_freep) struct slots *slots = new_slots(64);

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(slots_take(slots), i);
    slots_release(slots, 1, 0);
    slots->next = 1;
    assert_int_equal(slots_take(slots), 3);
    slots_rotate(slots);
    slots->next = 1;
    assert_int_equal(slots_take(slots), 4);
    slots_rotate(slots);
    slots->next = 1;
    assert_int_equal(slots_take(slots), 1);
}

static void a_slot_rests_until_both_windows_have_rotated(void **state)
{
    CLEANUP(slots_freep) struct slots *slots = new_slots(64);
    unsigned slot;

    (void)state;
    for (unsigned i = 0; i < 63; i++)
        slots_take(slots);
    slot = slots_take(slots);
    slots_release(slots, slot, slots->window);
    for (int window = 0; window < 2; window++) {
        unsigned other = slots_take(slots); /* none is free: a live one's is shared, or this one */

        assert_true(slots_is_shared(slots, other));
        slots_release(slots, other, 0);
        slots_rotate(slots);
    }
    assert_int_equal(slots_take(slots), slot);
    assert_false(slots_is_shared(slots, slot));
}

/* Who was not sampled for two windows is in no mask: its slot can be given away at once. */
static void rest_counts_from_the_last_sample(void **state)
{
    CLEANUP(slots_freep) struct slots *slots = new_slots(64);
    unsigned first = slots_take(slots), second;

    (void)state;
    for (unsigned i = 1; i < 64; i++)
        slots_take(slots);
    second = (first + 7) % 64;
    slots_rotate(slots);
    slots_rotate(slots);
    slots_release(slots, first, 0);
    slots_release(slots, second, 1);
    assert_int_equal(slots_take(slots), first);
    assert_true(slots_is_shared(slots, slots_take(slots))); /* the other one rests */
}

static void a_resting_slot_rests_on_when_an_older_user_goes(void **state)
{
    CLEANUP(slots_freep) struct slots *slots = new_slots(64);

    (void)state;
    for (unsigned i = 0; i < 65; i++)
        slots_take(slots);
    slots->window = 5;
    slots_release(slots, 0, 5);
    slots_release(slots, 0, 1);
    slots->window = 6;
    assert_true(slots_is_shared(slots, 0));
    slots->window = 7;
    assert_false(slots_is_shared(slots, 0));
}

static void active_are_those_with_samples_in_this_window(void **state)
{
    CLEANUP(slots_freep) struct slots *slots = new_slots(128);

    (void)state;
    slots_note(slots, 3);
    slots_note(slots, 127);
    assert_true(slots->active[0] == 8 && slots->active[1] == UINT64_C(1) << 63);
    slots_rotate(slots);
    assert_true(slots->active[0] == 0 && slots->active[1] == 0);
    assert_int_equal(slots->window, 1);
}

static void users_are_counted_over_bits_that_are_folded_onto_one(void **state)
{
    CLEANUP(slots_freep) struct slots *slots = new_slots(512);

    (void)state;
    for (unsigned i = 0; i < 260; i++)
        slots_take(slots);
    assert_int_equal(slots_n_users(slots, 3, 256), 2);
    assert_int_equal(slots_n_users(slots, 259, 256), 2);
    assert_int_equal(slots_n_users(slots, 5, 256), 1);
    slots_release(slots, 3, 0);
    assert_int_equal(slots_n_users(slots, 259, 256), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_are_whole_words_within_the_limits),
        cmocka_unit_test(while_threads_fit_each_has_a_bit_of_its_own),
        cmocka_unit_test(beyond_that_they_share_evenly),
        cmocka_unit_test(the_one_with_the_fewest_users_is_shared_first),
        cmocka_unit_test(a_resting_slot_is_passed_over_for_a_free_one),
        cmocka_unit_test(a_slot_rests_until_both_windows_have_rotated),
        cmocka_unit_test(rest_counts_from_the_last_sample),
        cmocka_unit_test(a_resting_slot_rests_on_when_an_older_user_goes),
        cmocka_unit_test(active_are_those_with_samples_in_this_window),
        cmocka_unit_test(users_are_counted_over_bits_that_are_folded_onto_one),
    };

    return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
