/* Who runs, as /proc/loadavg tells it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/runnable.h"
#include "fake_host.h"
#include "util/array.h"

static const struct {
    const char *text;
    long n;
    bool any;
} cases[] = {
    {"0.20 0.18 0.12 1/80 11206\n", 1, false},
    {"0.20 0.18 0.12 2/80 11206\n", 2, true},
    {"99.00 64.31 2.10 300/5123 4194304\n", 300, true},
    {"0.00 0.00 0.00 0/80 11206\n", 0, true}, /* the reader itself runs: something is odd */
    {"0.20 0.18 0.12 81/80 11206\n", -1, true},
    {"0.20 0.18 1/80 11206\n", -1, true},
    {"", -1, true},
    {"none\n", -1, true},
};

static void test_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct fake_host fake;

        print_message("  %s\n", cases[i].text);
        assert_int_equal(runnable_parse(cases[i].text), cases[i].n);
        fake_host_init(&fake);
        fake_host_set_file(&fake, "proc/loadavg", cases[i].text);
        assert_int_equal(runnable_any(&fake.host), cases[i].any);
        fake_host_deinit(&fake);
    }
}

static void test_unreadable(void **state)
{
    struct fake_host fake;

    (void)state;
    fake_host_init(&fake);
    assert_true(runnable_any(&fake.host));
    fake_host_deinit(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_unreadable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
