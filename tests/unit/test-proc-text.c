/*
 * The texts of /proc/PID.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "discover/proc_text.h"
#include "fixture.h"
#include "util/array.h"
#include "util/cleanup.h"

#define EXTREMES " 0 0 -9223372036854775808 9223372036854775807 0 0\n"

static const struct stat_case {
    const char *text, *comm;
    uint64_t start_ticks, rss_pages;
    unsigned n_threads;
    bool kernel_thread;
} stat_cases[] = {
    {"7 (a) S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 3 0 82375 56274944 1981 18446744073709551615 "
     "1\n",
     "a", 82375, 1981, 3, false},
    {"7 (Web Content) S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 3 0 82375 56274944 1981 1\n",
     "Web Content", 82375, 1981, 3, false},
    {"7 (a) R 1 (b) S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 3 0 82375 56274944 1981 1\n",
     "a) R 1 (b", 82375, 1981, 3, false},
    {"7 (x)\n) S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 3 0 82375 56274944 1981 1\n", "x)\n",
     82375, 1981, 3, false},
    {"7 () S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 3 0 82375 56274944 1981 1\n", "", 82375, 1981,
     3, false},
    {"7 ()) S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 3 0 82375 56274944 1981 1\n", ")", 82375,
     1981, 3, false},
    {"9876868 (sleep) S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 1 0 18446744073709551615 5 0 1\n",
     "sleep", UINT64_MAX, 0, 1, false},
    {"2 (kthreadd) S 0 0 0 0 -1 2149613632 0 0 0 0 0 0 0 0 20 0 1 0 2 0 0 1\n", "kthreadd", 2, 0, 1,
     true},
    {"33 (k) S 2 0 0 0 -1 69238880 0 0 0 0 0 0 -9223372036854775808 9223372036854775807 0 -20 1 0 "
     "5 "
     "0 0 18446744073709551615" EXTREMES,
     "k", 5, 0, 1, true},
    {"7 (n) S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 -1 0 6 56274944 -5 1\n", "n", 6, 0, 0, false},
    {"7 (two) S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 3 0 82375 56274944 1981 1\n#!/bin/cat x\n",
     "two", 82375, 1981, 3, false},
    {"7 (short) S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 3 0 82375 56274944 1981", "short", 82375,
     1981, 3, false},
};

static void stat_is_parsed_whatever_the_name(void **state)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(stat_cases); i++) {
        const struct stat_case *c = &stat_cases[i];
        struct process process = {0};

        assert_int_equal(proc_text_stat(c->text, &process), 0);
        assert_string_equal(process.comm, c->comm);
        assert_int_equal(process.start_ticks, c->start_ticks);
        assert_int_equal(process.rss_bytes, c->rss_pages * page_bytes);
        assert_int_equal(process.n_threads, c->n_threads);
        assert_int_equal(process.kernel_thread, c->kernel_thread);
    }
}

static void broken_stat_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "\n",
        "7",
        "7 (a",
        "7 a) S",
        ") (",
        "7 (a)",
        "7 (a) ",
        "7 (a) S 1 7 7 0 -1 4194304\n",
        "7 (a) S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 3 0 82375 56274944\n",
        "7 (a) S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 3 0 82375 56274944\n1981 5 5\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct process process = {0};

        assert_int_equal(proc_text_stat(texts[i], &process), PROC_TEXT_MALFORMED);
    }
}

/* Once 2^52 pages were 0 bytes, and 2^51 more than a trace can hold. */
static void resident_pages_beyond_any_memory_count_as_none(void **state)
{
    static const struct {
        const char *pages;
        uint64_t n;
    } cases[] = {
        {"1125899906842623", 1125899906842623}, /* 2^50 - 1 */
        {"9223372036854775807", 0},
        {"4503599627370497", 0},
        {"99999999999999999999", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(freep) char *text = NULL;
        struct process process = {0};

        assert_true(asprintf(&text, "7 (a) S 1 7 7 0 -1 0 9 8 7 6 5 4 3 2 20 0 3 0 8 5 %s 1\n",
                             cases[i].pages) > 0);
        assert_int_equal(proc_text_stat(text, &process), 0);
        assert_int_equal(process.rss_bytes, cases[i].n * (uint64_t)sysconf(_SC_PAGESIZE));
    }
}

/* Each beside the sound line that it is nearest to: once a field that is none was read as 0. */
static void fields_of_stat_are_numbers(void **state)
{
    static const struct {
        const char *text;
        int r;
    } cases[] = {
        {"7 (a) S 1 7 7 0 -1 2 9 8 7 6 5 4 3 2 20 0 3 0 8 5 19 1\n", 0},
        {"7 (a) S 1 7 7 0 -1 x 9 8 7 6 5 4 3 2 20 0 3 0 8 5 19 1\n", PROC_TEXT_MALFORMED},
        {"7 (a) S 1 7 7 0 -1 -2 9 8 7 6 5 4 3 2 20 0 3 0 8 5 19 1\n", PROC_TEXT_MALFORMED},
        {"7 (a) S 1 7 7 0 -1 2 9 8 7 6 5 4 3 2 20 0 3 0 8x 5 19 1\n", PROC_TEXT_MALFORMED},
        {"7 (a) S 1 7 7 0 -1 2 9 8 7 6 5 4 3 2 20 0 3 0 -8 5 19 1\n", PROC_TEXT_MALFORMED},
        {"7 (a) S 1 7 7 0 -1 2 9 8 7 6 5 4 3 2 20 0 3 0 8 5 -19 1\n", 0},
        {"7 (a) S 1 7 7 0 -1 2 9 8 7 6 5 4 3 2 20 0 3 0 8 5 - 1\n", PROC_TEXT_MALFORMED},
        {"7 (a) S 1 7 7 0 -1 2 9 8 7 6 5 4 3 2 20 0 +3 0 8 5 19 1\n", PROC_TEXT_MALFORMED},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct process process = {0};

        if (proc_text_stat(cases[i].text, &process) != cases[i].r)
            fail_msg("%s", cases[i].text);
    }
}

static void long_kernel_names_are_cut(void **state)
{
    struct process process = {0};
    char text[400];

    (void)state;
    snprintf(text, sizeof(text),
             "9 (kworker/%0100d) S 2 0 0 0 -1 2097152 0 0 0 0 0 0 0 0 20 0 1 0 2 0 0 1\n", 7);
    assert_int_equal(proc_text_stat(text, &process), 0);
    assert_int_equal(strlen(process.comm), sizeof(process.comm) - 1);
    assert_true(process.kernel_thread);
}

static void effective_uid_is_the_second(void **state)
{
    uid_t uid = 1;

    (void)state;
    assert_int_equal(proc_text_euid("Name:\tx\nUid:\t1000\t4061200383\t7\t8\nGid:\t1\t2\n", &uid),
                     0);
    assert_int_equal(uid, 4061200383);
    assert_int_equal(proc_text_euid("Name:\tUid: 5 6\n", &uid), PROC_TEXT_MALFORMED);
    assert_int_equal(proc_text_euid("Name:\tx\nUid:\n", &uid), PROC_TEXT_MALFORMED);
    assert_int_equal(proc_text_euid("Name:\tx\nUid:\t1", &uid), PROC_TEXT_MALFORMED);
    assert_int_equal(proc_text_euid("Name:\tx\nUid:\t1\t4294967296\n", &uid), PROC_TEXT_MALFORMED);
    /* Once a number was looked for in the lines below. */
    assert_int_equal(proc_text_euid("Name:\tx\nUid:\t1\n2\n", &uid), PROC_TEXT_MALFORMED);
    assert_int_equal(proc_text_euid("Name:\tx\nUid:\n1\t2\n", &uid), PROC_TEXT_MALFORMED);
    assert_int_equal(proc_text_euid("Name:\tx\nUid:\t1\t-18446744073709551615\n", &uid),
                     PROC_TEXT_MALFORMED);
    assert_int_equal(uid, 4061200383);
}

static void allowed_nodes_are_found_in_status(void **state)
{
    static const char text[] = "Name:\tMems_allowed_list:\t9\n"
                               "Mems_allowed:\t00000000,00000003\n"
                               "Mems_allowed_list:\t0-1,8\n"
                               "voluntary_ctxt_switches:\t1\n";
    CLEANUP(freep) char *list = NULL, *empty = NULL;

    (void)state;
    assert_int_equal(proc_text_mems_allowed(text, &list), 0);
    assert_string_equal(list, "0-1,8");
    assert_int_equal(proc_text_mems_allowed("Name:\tx\nMems_allowed:\t1\n", &empty),
                     PROC_TEXT_MALFORMED);
    assert_null(empty);
}

static const struct cgroup_case {
    const char *text, *path;
} cgroup_cases[] = {
    {"0::/system.slice/x.service\n", "/system.slice/x.service"},
    {"0::/\n", "/"},
    {"9:name=systemd:/system.slice/x.service\n3:cpuset:/b\n0::/\n", "/system.slice/x.service"},
    {"3:cpuset:/b\n0::/c\n", "/c"},
    {"0::/c\n1:name=systemd:/d\n", "/d"},
    {"0::/a:b/c d,e\n", "/a:b/c d,e"},
    {"0::/x.service (deleted)\n", "/x.service"},
    {"0::/../other\n", "/../other"},
    {"0::/no-newline", "/no-newline"},
    {"4:cpu,cpuacct:/a\n12:name=systemdx:/b\n", NULL},
    {"", NULL},
    {"\n\n", NULL},
    {"0:/x", NULL},
    /* A path begins with a slash; once anything was taken for one. */
    {"0::\n", NULL},
    {"0::a.service\n", NULL},
    {"1:name=systemd:x\n0::/a\n", "/a"},
};

static void cgroup_path_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cgroup_cases); i++) {
        CLEANUP(freep) char *path = NULL;
        int r = proc_text_cgroup(cgroup_cases[i].text, &path);

        assert_int_equal(r, cgroup_cases[i].path ? 0 : PROC_TEXT_MALFORMED);
        if (!r)
            assert_string_equal(path, cgroup_cases[i].path);
    }
}

/* Captures hold several lines of stat, and lines that are none. */
static void check_stat(const char *name)
{
    CLEANUP(freep) char *text = fixture_read(name, &(size_t){0});
    char *save = NULL;
    size_t n = 0;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct process process = {0};

        if (*line < '0' || *line > '9')
            continue;
        if (proc_text_stat(line, &process) || !process.n_threads || !*process.comm)
            fail_msg("%s: %s", name, line);
        n++;
    }
    assert_true(n > 0);
}

static void check_status(const char *name)
{
    CLEANUP(freep) char *text = fixture_read(name, &(size_t){0});
    CLEANUP(freep) char *list = NULL;
    uid_t uid;

    if (proc_text_euid(text, &uid))
        fail_msg("%s: no uid", name);
    if (strstr(text, "Mems_allowed_list") && proc_text_mems_allowed(text, &list))
        fail_msg("%s: no allowed nodes", name);
}

static void captures_of_real_machines_are_parsed(void **state)
{
    (void)state;
    if (!fixture_available())
        skip();
    assert_true(fixture_each("stat-*", check_stat) > 0);
    assert_true(fixture_each("status-*", check_status) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_is_parsed_whatever_the_name),
        cmocka_unit_test(broken_stat_is_refused),
        cmocka_unit_test(resident_pages_beyond_any_memory_count_as_none),
        cmocka_unit_test(fields_of_stat_are_numbers),
        cmocka_unit_test(long_kernel_names_are_cut),
        cmocka_unit_test(effective_uid_is_the_second),
        cmocka_unit_test(allowed_nodes_are_found_in_status),
        cmocka_unit_test(cgroup_path_is_found),
        cmocka_unit_test(captures_of_real_machines_are_parsed),
    };

    return cmocka_run_group_tests_name("proc-text", tests, NULL, NULL);
}
