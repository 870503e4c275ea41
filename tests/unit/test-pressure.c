/* Direct reclaim is seen, and page cache is no room for as long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "decide/budget.h"
#include "decide/pressure.h"
#include "util/array.h"

static const struct {
    const char *shows, *text;
    bool any;
    uint64_t n;
} texts[] = {
    {"all zones and scanned pages are summed up",
     "nr_free_pages 10\nallocstall_dma 1\nallocstall_dma32 0\nallocstall_normal 20\n"
     "allocstall_movable 300\npgscan_kswapd 5\npgscan_direct 4000\npgscan_direct_throttle 7\n",
     true, 4321},
    {"one sum before Linux 4.10", "allocstall 7\n", true, 7},
    {"names that only begin alike", "allocstalls 7\npgscan_directly 8\n", false, 0},
    {"no such line", "nr_free_pages 10\n", false, 0},
    {"no number", "pgscan_direct x\nallocstall_normal \n", false, 0},
    {"more behind the number", "pgscan_direct 1 2\n", false, 0},
    {"a cut last line does not count", "allocstall_normal 2\npgscan_direct 4", true, 2},
    {"nothing", "", false, 0},
};

static void test_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        uint64_t n = 0;

        print_message("  %s\n", texts[i].shows);
        assert_int_equal(pressure_parse(texts[i].text, strlen(texts[i].text), &n), texts[i].any);
        assert_int_equal(n, texts[i].n);
    }
}

static void it_lasts_from_the_last_sign(void **state)
{
    struct pressure pressure = {.known = false};

    (void)state;
    pressure_note(&pressure, 5000, 1 * NSEC_PER_SEC); /* before numabd was there */
    assert_false(pressure_is_on(&pressure, 1 * NSEC_PER_SEC));
    pressure_note(&pressure, 5001, 2 * NSEC_PER_SEC);
    assert_true(pressure_is_on(&pressure, 2 * NSEC_PER_SEC));
    pressure_note(&pressure, 5001, 3 * NSEC_PER_SEC);
    assert_true(pressure_is_on(&pressure, 12 * NSEC_PER_SEC - 1));
    assert_false(pressure_is_on(&pressure, 12 * NSEC_PER_SEC));
    pressure_note(&pressure, 5002, 12 * NSEC_PER_SEC);
    assert_true(pressure_is_on(&pressure, 21 * NSEC_PER_SEC));
    pressure_note(&pressure, 3, 30 * NSEC_PER_SEC); /* counters that went back are no sign */
    assert_false(pressure_is_on(&pressure, 30 * NSEC_PER_SEC));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(it_lasts_from_the_last_sign),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
