/*
 * Text: what people read of sizes, shares, times and names, and the listings made of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/listing.h"
#include "report/text.h"
#include "util/array.h"
#include "util/utf8.h"

static void bytes_have_units_and_never_show_1024(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1, "1 B"},
        {1023, "1023 B"},
        {1024, "1 KiB"},
        {1536, "1.5 KiB"},
        {1048575, "1 MiB"}, /* not "1024 KiB" */
        {1023 * 1024, "1023 KiB"},
        {UINT64_C(512) << 20, "512 MiB"},
        {UINT64_C(6550000000), "6.1 GiB"},
        {UINT64_C(12) << 30, "12 GiB"},
        {(UINT64_C(184) << 30) / 10, "18.4 GiB"},
        {(UINT64_C(1004) << 30) / 10, "100 GiB"}, /* no digit after the point from 100 on */
        {UINT64_C(3) << 40, "3 TiB"},
        {UINT64_MAX, "16 EiB"},
    };
    char text[TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_string_equal(text_bytes(text, cases[i].bytes), cases[i].text);
}

static void mebibytes_keep_their_unit(void **state)
{
    char text[TEXT_SIZE];

    (void)state;
    assert_string_equal(text_mebibytes(text, 0), "0 MiB");
    assert_string_equal(text_mebibytes(text, (1 << 19) - 1), "0 MiB");
    assert_string_equal(text_mebibytes(text, 1 << 19), "1 MiB");
    assert_string_equal(text_mebibytes(text, UINT64_C(5) << 40), "5242880 MiB");
    assert_string_equal(text_mebibytes(text, UINT64_MAX), "17592186044416 MiB");
}

static void an_unknown_share_is_a_dash_and_not_zero(void **state)
{
    char text[TEXT_SIZE];

    (void)state;
    assert_string_equal(text_permyriad(text, -1), "-");
    assert_string_equal(text_permyriad(text, 0), "0.0 %");
    assert_string_equal(text_permyriad(text, 4), "0.0 %");
    assert_string_equal(text_permyriad(text, 5), "0.1 %");
    assert_string_equal(text_permyriad(text, 4119), "41.2 %");
    assert_string_equal(text_permyriad(text, 10000), "100.0 %");
    assert_string_equal(text_permyriad(text, UINT32_MAX), "42949673.0 %");
}

static void durations_show_their_two_largest_units(void **state)
{
    char text[TEXT_SIZE];

    (void)state;
    assert_string_equal(text_duration(text, 0), "0s");
    assert_string_equal(text_duration(text, 59), "59s");
    assert_string_equal(text_duration(text, 60), "1m 0s");
    assert_string_equal(text_duration(text, 3 * 3600 + 12 * 60 + 59), "3h 12m");
    assert_string_equal(text_duration(text, 86399), "23h 59m");
    assert_string_equal(text_duration(text, 400 * UINT64_C(86400) + 3600), "400d 1h");
}

static void a_name_cannot_draw_on_the_terminal(void **state)
{
    static const struct {
        const char *raw, *escaped;
    } cases[] = {
        {"postgres", "postgres"},
        {"(Web Content)", "(Web Content)"},
        {"\x1b[2J\x1b]0;x\a", "\\x1b[2J\\x1b]0;x\\x07"},
        {"a\nb\tc\r", "a\\x0ab\\x09c\\x0d"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\x9b31m"}, /* C1 CSI as UTF-8 */
        {"\x9b"
         "31m",
         "\\x9b31m"}, /* C1 CSI as a byte */
        {"\xe2\x80\xae"
         "txt",
         "\\u202etxt"}, /* right-to-left override */
        {"a\xe2\x80\x8b"
         "b",
         "a\\u200bb"},                       /* zero width */
        {"\\x1b", "\\\\x1b"},                /* cannot pass for an escape */
        {"na\xc3\xafve", "na\xc3\xafve"},    /* letters stay */
        {"\xc3", "\\xc3"},                   /* cut sequence */
        {"\xc0\x80", "\\xc0\\x80"},          /* overlong */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* surrogate */
        {"", ""},
    };
    char text[128];

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_string_equal(text_escape(text, sizeof text, cases[i].raw), cases[i].escaped);
}

static void an_escape_is_never_cut_in_half(void **state)
{
    char text[8];

    (void)state;
    assert_string_equal(text_escape(text, 8, "abcd\x1b"), "abcd");
    assert_string_equal(text_escape(text, 8, "abc\x1b"), "abc\\x1b");
    assert_string_equal(text_escape(text, 4, "ab\xc3\xafx"), "ab");
    assert_string_equal(text_escape(text, 1, "abc"), "");
}

static void width_counts_characters(void **state)
{
    (void)state;
    assert_int_equal(text_width(""), 0);
    assert_int_equal(text_width("na\xc3\xafve"), 5);
}

static void copies_are_valid_utf8_cut_at_a_character(void **state)
{
    char text[8];

    (void)state;
    utf8_copy(text, sizeof text,
              "a\xff"
              "b");
    assert_string_equal(text, "a\xef\xbf\xbd"
                              "b");
    utf8_copy(text, 4, "ab\xe2\x82\xac");
    assert_string_equal(text, "ab");
    utf8_copy(text, sizeof text, "\xef\xbf\xbe"); /* a noncharacter: libsystemd refuses it */
    assert_string_equal(text, "\xef\xbf\xbd\xef\xbf\xbd"); /* third does not fit */
}

/* Once a third parser of such lists: it refused blanks and took descending ranges. */
static void node_lists_are_read_as_topology_reads_them(void **state)
{
    static const struct {
        const char *text;
        int result;
        size_t n;
        int last;
    } cases[] = {
        {"0-1\n", 0, 2, 1},
        {"0,8,252-255\n", 0, 6, 255},
        {"\n", 0, 0, 0},
        {"3", 0, 1, 3},
        {"0-1,0-1\n", 0, 2, 1},
        {"1-\n", -EINVAL, 0, 0},
        {"x\n", -EINVAL, 0, 0},
        {"-1\n", -EINVAL, 0, 0},
        {"99999999999999999999\n", -EINVAL, 0, 0},
        {"0;1\n", -EINVAL, 0, 0},
        {"0,\n", -EINVAL, 0, 0},
        {"3-1\n", -EINVAL, 0, 0},
        {" 0 , 2\n", 0, 2, 2},
        {"1023\n", 0, 1, 1023},
        {"1024\n", -EINVAL, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct node_set set = {0};

        assert_int_equal(node_set_add_list(&set, cases[i].text), cases[i].result);
        assert_int_equal(set.n_ids, cases[i].n);
        if (cases[i].n)
            assert_int_equal(set.ids[set.n_ids - 1], cases[i].last);
        node_set_deinit(&set);
    }
}

static struct node_bytes node_lists[][2] = {
    {{0, UINT64_C(6550000000)}, {8, UINT64_C(6335000000)}},
    {{0, 1}, {8, 0}},
};

static struct process_report process_reports[] = {
    {.pid = 4711,
     .comm = "postgres",
     .rss_bytes = UINT64_C(12) << 30,
     .n_threads = 64,
     .remote_permyriad = 210,
     .nodes = {node_lists[0], 2},
     .nodes_known = true,
     .moved_bytes = UINT64_C(3435973837),
     .state = "stable"},
    {.pid = 9876868,
     .comm = "\x1b[31mevil",
     .rss_bytes = 4096,
     .n_threads = 1,
     .remote_permyriad = -1,
     .state = "too_small"},
};

static char *print_ps(const struct process_reports *reports, const char *node_list, bool watch)
{
    struct table table = TABLE_NULL;
    struct node_set nodes = {0};
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    assert_int_equal(node_set_add_list(&nodes, node_list), 0);
    assert_int_equal(node_set_add_reports(&nodes, reports), 0);
    if (watch) {
        assert_int_equal(listing_add_watch_columns(&table, &nodes), 0);
        assert_int_equal(listing_add_watch_rows(&table, &nodes, reports, "12:00:00.0"), 0);
    } else {
        assert_int_equal(listing_add_ps_columns(&table, &nodes), 0);
        assert_int_equal(listing_add_ps_rows(&table, &nodes, reports), 0);
    }
    table_print(&table, file);
    fclose(file);
    table_deinit(&table);
    node_set_deinit(&nodes);
    return text;
}

static void ps_aligns_long_pids_and_escaped_names(void **state)
{
    struct process_reports reports = {.items = process_reports, .n_items = 2};
    char *text = print_ps(&reports, "0-1", false);

    (void)state;
    assert_string_equal(
        text,
        "    PID  COMMAND          RSS  THREADS  REMOTE    NODE0  NODE1    NODE8    MOVED  STATE\n"
        "   4711  postgres      12 GiB       64   2.1 %  6.1 GiB    0 B  5.9 GiB  3.2 GiB  stable\n"
        "9876868  \\x1b[31mevil   4 KiB        1       -        -      -        -      0 B  "
        "too_small\n");
    free(text);
}

static void ps_without_processes_is_a_header(void **state)
{
    struct process_reports reports = {0};
    char *text = print_ps(&reports, "0-1", false);

    (void)state;
    assert_string_equal(text, "PID  COMMAND  RSS  THREADS  REMOTE  NODE0  NODE1  MOVED  STATE\n");
    free(text);
}

static void watch_shows_mebibytes_with_the_time(void **state)
{
    struct process_reports reports = {.items = process_reports, .n_items = 1};
    char *text = print_ps(&reports, "0", true);

    (void)state;
    assert_string_equal(
        text, "TIME         PID  COMMAND      NODE0     NODE8  REMOTE    MOVED  STATE\n"
              "12:00:00.0  4711  postgres  6247 MiB  6042 MiB   2.1 %  3.2 GiB  stable\n");
    free(text);
}

static void a_node_that_holds_nothing_gets_no_column_of_its_own(void **state)
{
    struct process_report report = process_reports[0];
    struct process_reports reports = {.items = &report, .n_items = 1};
    char *text;

    (void)state;
    report.nodes.items = node_lists[1];
    text = print_ps(&reports, "0", false);
    assert_null(strstr(text, "NODE8"));
    free(text);
}

static void a_table_repeats_its_header_only_when_it_widens(void **state)
{
    static const char *const cells[] = {"aaaa", "bb", "cccccc"};
    struct table table = TABLE_NULL;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    (void)state;
    assert_int_equal(table_add_column(&table, TABLE_RIGHT, "N%d", 1), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(cells); i++) {
        assert_int_equal(table_add_cell(&table, cells[i]), 0);
        table_print(&table, file);
    }
    fclose(file);
    assert_string_equal(text, "  N1\naaaa\n  bb\n    N1\ncccccc\n");
    table_deinit(&table);
    free(text);
}

static char *print_status(const struct status_report *report)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    listing_print_status(file, report);
    fclose(file);
    return text;
}

static struct status_report balancing_report(void)
{
    return (struct status_report){.version = "0.1.0",
                                  .state = "balancing",
                                  .uptime_sec = 11520,
                                  .n_memory_nodes = 2,
                                  .sources = "timer",
                                  .kernel_balancing = "off",
                                  .remote_first_permyriad = 4120,
                                  .remote_permyriad = 310,
                                  .moved_bytes = (UINT64_C(184) << 30) / 10,
                                  .moved_last_hour_bytes = UINT64_C(2) << 30,
                                  .cost_permyriad = 70,
                                  .n_balanced = 4,
                                  .n_observed = 1,
                                  .n_too_small = 212,
                                  .n_excluded = 3};
}

static void status_of_a_balancing_daemon_is_three_lines(void **state)
{
    struct status_report report = balancing_report();
    char *text = print_status(&report);

    (void)state;
    assert_string_equal(
        text,
        "numabd 0.1.0  balancing  up 3h 12m   nodes 2   sources timer   kernel balancing off\n"
        "remote access  41.2 % -> 3.1 %   moved 18.4 GiB (2 GiB last hour)   cost 0.7 % of one "
        "CPU, "
        "moving 0.0 %\n"
        "processes  4 balanced, 1 observed, 212 too small, 3 excluded, 0 other\n");
    free(text);
}

static void status_says_why_and_counts_what_was_left_alone(void **state)
{
    struct status_report report = balancing_report();
    char *text;

    (void)state;
    report.remote_first_permyriad = report.remote_permyriad = -1;
    snprintf(report.why, sizeof report.why, "one memory node\x1b");
    report.pages_tried = 10;
    report.pages_moved = 7;
    report.pages_failed = 3;
    report.n_errnos = 2;
    report.errnos[0] = EBUSY;
    report.errno_pages[0] = 2;
    report.errnos[1] = 100000;
    report.errno_pages[1] = 1;
    report.process_reasons.n[REASON_NONE] = 4; /* not a reason to be left alone */
    report.process_reasons.n[REASON_TOO_SMALL] = 212;
    report.process_reasons.n[REASON_EXCLUDED] = 3;
    report.range_reasons.n[REASON_LOCAL] = 9;
    text = print_status(&report);
    assert_non_null(strstr(text, "\nremote access  not known yet   moved"));
    assert_non_null(strstr(text, "\nwhy  one memory node\\x1b\n"));
    assert_non_null(strstr(text, "\npages  10 tried, 7 moved, 3 failed (EBUSY 2, errno-100000 1)\n"
                                 "not touched, processes: excluded 3, too_small 212\n"
                                 "not touched, ranges: local 9\n"));
    free(text);
}

static void status_says_what_was_missed(void **state)
{
    struct status_report report = balancing_report();
    char *text = print_status(&report);

    (void)state;
    assert_null(strstr(text, "missed"));
    free(text);
    report.n_lost = 7;
    report.n_capped = 12;
    text = print_status(&report);
    assert_non_null(strstr(text, "\nmissed  7 samples: a perf ring was full\n"
                                 "missed  12 accesses: all ranges of evidence are in use\n"));
    free(text);
}

static void status_counts_as_the_kernel_counts_its_own_balancing(void **state)
{
    struct status_report report = balancing_report();
    char *text;

    (void)state;
    report.autonuma = (struct autonuma_report){1041416, 263296, 65824, 258021, 1328.672};
    text = print_status(&report);
    assert_non_null(strstr(text, "\nas kernel balancing  1041416 PTE updates, 263296 hint faults "
                                 "(25.0 % local), 258021 pages migrated, AutoNUMA cost 1328.7\n"));
    free(text);
    report.autonuma = (struct autonuma_report){.numa_pte_updates = 5};
    text = print_status(&report);
    assert_non_null(strstr(text, " 0 hint faults (- local), "));
    free(text);
}

static void status_says_what_the_scan_filter_did(void **state)
{
    struct status_report report = balancing_report();
    char *text;

    (void)state;
    report.scan_passes = 120;
    report.scanned_bytes = UINT64_C(6550000000);
    report.scan_verdicts.n[SCAN_UNJUDGED] = 3; /* neither */
    report.scan_verdicts.n[SCAN_FIRST_PASSES] = 12;
    report.scan_verdicts.n[SCAN_ACTIVE] = 30;
    report.scan_verdicts.n[SCAN_SHARED_RO] = 5;
    report.scan_verdicts.n[SCAN_INACTIVE] = 900;
    text = print_status(&report);
    assert_non_null(strstr(text, "\nscan filter  120 passes, 6.1 GiB in VMAs scanned (first_passes "
                                 "12, pid_active 30), skipped shared_ro 5, pid_inactive 900\n"));
    free(text);
    report.scan_verdicts = (struct scan_verdicts){{0}};
    text = print_status(&report);
    assert_non_null(strstr(text, "\nscan filter  120 passes, 6.1 GiB in VMAs scanned\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_units_and_never_show_1024),
        cmocka_unit_test(mebibytes_keep_their_unit),
        cmocka_unit_test(an_unknown_share_is_a_dash_and_not_zero),
        cmocka_unit_test(durations_show_their_two_largest_units),
        cmocka_unit_test(a_name_cannot_draw_on_the_terminal),
        cmocka_unit_test(an_escape_is_never_cut_in_half),
        cmocka_unit_test(width_counts_characters),
        cmocka_unit_test(copies_are_valid_utf8_cut_at_a_character),
        cmocka_unit_test(node_lists_are_read_as_topology_reads_them),
        cmocka_unit_test(ps_aligns_long_pids_and_escaped_names),
        cmocka_unit_test(ps_without_processes_is_a_header),
        cmocka_unit_test(watch_shows_mebibytes_with_the_time),
        cmocka_unit_test(a_node_that_holds_nothing_gets_no_column_of_its_own),
        cmocka_unit_test(a_table_repeats_its_header_only_when_it_widens),
        cmocka_unit_test(status_of_a_balancing_daemon_is_three_lines),
        cmocka_unit_test(status_says_why_and_counts_what_was_left_alone),
        cmocka_unit_test(status_says_what_was_missed),
        cmocka_unit_test(status_says_what_the_scan_filter_did),
        cmocka_unit_test(status_counts_as_the_kernel_counts_its_own_balancing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
