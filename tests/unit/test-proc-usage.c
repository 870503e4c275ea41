/*
 * Texts of /proc/PID/stat and status, and those of this process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "sample/proc_usage.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/procfs.h"

#define TAIL                                                                                       \
    " S 1 2 3 4 5 6 777 8 9 10 30 12 13 14 20 0 5 0 9001 1000 4242 18446744073709551615 "          \
    "94000000000000 94000000100000 140720000000000 0 0\n"

static void test_stat(void **state)
{
    static const char *const texts[] = {"4711 (a)" TAIL, "4711 (a b) S 9 9 9)" TAIL, "4711 ()" TAIL,
                                        "4711 (\n)" TAIL};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct proc_usage usage;

        assert_int_equal(proc_usage_parse(texts[i], &usage), 0);
        assert_int_equal(usage.minor_faults, 777);
        assert_int_equal(usage.cpu_ticks, 30 + 12);
        assert_int_equal(usage.start_ticks, 9001);
        assert_int_equal(usage.rss_pages, 4242);
        assert_int_equal(usage.code_start, 94000000000000);
        assert_int_equal(usage.stack_start, 140720000000000);
    }
}

static void test_stat_that_is_cut(void **state)
{
    static const char *const texts[] = {"",
                                        "4711",
                                        "4711 (a",
                                        "4711 (a)",
                                        "4711 (a) S 1 2 3\n",
                                        "4711 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0 5 0 9"};
    struct proc_usage usage;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        assert_int_equal(proc_usage_parse(texts[i], &usage), PROC_USAGE_MALFORMED);
}

static void test_tracer(void **state)
{
    static const struct {
        const char *text;
        int r;
        pid_t tracer;
    } cases[] = {
        {"Name:\ta\nTracerPid:\t0\nUid:\t0\n", 0, 0},
        {"Name:\ta\nTracerPid:\t4711\nUid:\t0\n", 0, 4711},
        {"Name:\tTracerPid:\t5\nUid:\t0\n", PROC_USAGE_MALFORMED, 0},
        {"Name:\ta\nTracerPid:\t\n", PROC_USAGE_MALFORMED, 0},
        {"Name:\ta\nTracerPid:\t47", PROC_USAGE_MALFORMED, 0}, /* cut */
        {"Name:\ta\nTracerPid:\t-1\n", PROC_USAGE_MALFORMED, 0},
        {"Name:\ta\nTracerPid:\t99999999999\n", PROC_USAGE_MALFORMED, 0},
        {"", PROC_USAGE_MALFORMED, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        pid_t tracer = 0;

        assert_int_equal(proc_usage_parse_tracer(cases[i].text, &tracer), cases[i].r);
        assert_int_equal(tracer, cases[i].tracer);
    }
}

static void test_this_process(void **state)
{
    CLEANUP(freep) char *stat = NULL;
    CLEANUP(freep) char *status = NULL;
    struct proc_usage usage;
    pid_t tracer = -1;
    size_t size;

    (void)state;
    assert_int_equal(procfs_read("", "proc/self/stat", &stat, &size), 0);
    assert_int_equal(procfs_read("", "proc/self/status", &status, &size), 0);
    assert_int_equal(proc_usage_parse(stat, &usage), 0);
    assert_int_equal(proc_usage_parse_tracer(status, &tracer), 0);
    assert_true(tracer >= 0);
    assert_true(usage.start_ticks > 0 && usage.minor_faults > 0 && usage.rss_pages > 100);
    assert_true(usage.stack_start - (uintptr_t)&usage < 8u << 20); /* on the stack */
    assert_true((uintptr_t)&test_this_process - usage.code_start < 64u << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat),
        cmocka_unit_test(test_stat_that_is_cut),
        cmocka_unit_test(test_tracer),
        cmocka_unit_test(test_this_process),
    };

    return cmocka_run_group_tests_name("proc usage", tests, NULL, NULL);
}
