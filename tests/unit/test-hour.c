/* Bytes of the last hour. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/hour.h"
#include "util/array.h"
#include "util/nsec.h"

#define MINUTE (60 * NSEC_PER_SEC)

static void sums_what_the_last_hour_saw(void **state)
{
    static const struct {
        const char *name;
        uint64_t added_minute[4]; /* one byte, ten, a hundred, a thousand; 0: not added */
        uint64_t asked_minute, sum;
    } cases[] = {
        {"nothing", {0}, 5000, 0},
        {"just now", {5000}, 5000, 1},
        {"59 minutes ago", {5000}, 5059, 1},
        {"an hour ago", {5000}, 5060, 0},
        {"a day ago", {5000}, 6440, 0},
        {"in one minute", {5000, 5000, 5000, 5000}, 5000, 1111},
        {"in several", {5000, 5001, 5030, 5059}, 5059, 1111},
        {"the first one is too old", {5000, 5001, 5030, 5059}, 5060, 1110},
        {"a gap longer than an hour", {5000, 5001, 5100, 5101}, 5101, 1100},
        {"the same slot an hour later", {5000, 5060}, 5060, 10},
        {"a multiple of an hour later", {5000, 5300}, 5300, 10},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct hour hour = {0};
        uint64_t bytes = 1, sum;

        for (size_t k = 0; k < 4; k++, bytes *= 10)
            if (cases[i].added_minute[k])
                hour_add(&hour, cases[i].added_minute[k] * MINUTE, bytes);
        sum = hour_sum(&hour, cases[i].asked_minute * MINUTE);
        if (sum != cases[i].sum)
            fail_msg("%s: %llu", cases[i].name, (unsigned long long)sum);
    }
}

/* A result may carry an earlier time than the last one. */
static void time_that_goes_back_counts_as_now(void **state)
{
    struct hour hour = {0};

    (void)state;
    hour_add(&hour, 5000 * MINUTE, 1);
    hour_add(&hour, 4990 * MINUTE, 10);
    assert_int_equal(hour_sum(&hour, 5000 * MINUTE), 11);
    assert_int_equal(hour_sum(&hour, 5060 * MINUTE), 0);
}

static void first_minute_after_boot(void **state)
{
    struct hour hour = {0};

    (void)state;
    hour_add(&hour, 0, 7);
    assert_int_equal(hour_sum(&hour, MINUTE - 1), 7);
    assert_int_equal(hour_sum(&hour, 60 * MINUTE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_what_the_last_hour_saw),
        cmocka_unit_test(time_that_goes_back_counts_as_now),
        cmocka_unit_test(first_minute_after_boot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
