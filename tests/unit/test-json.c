/*
 * JSON: strings of untrusted bytes, and the objects of --json.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/fields.h"
#include "report/json.h"
#include "util/array.h"

static char *print_string(const char *raw)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    json_print_string(file, raw);
    fclose(file);
    return text;
}

static void strings_are_quoted_escaped_and_valid(void **state)
{
    static const struct {
        const char *raw, *json;
    } cases[] = {
        {"", "\"\""},
        {"postgres", "\"postgres\""},
        {"a\"b\\c/", "\"a\\\"b\\\\c/\""},
        {"\n\t\x01\x1f", "\"\\u000a\\u0009\\u0001\\u001f\""},
        {"\x7f ", "\"\\u007f \""},
        {"\xc3\xaf\xe2\x82\xac\xf0\x9f\x90\xa7", "\"\xc3\xaf\xe2\x82\xac\xf0\x9f\x90\xa7\""},
        {"a\xff"
         "b",
         "\"a\xef\xbf\xbd"
         "b\""},
        {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""}, /* cut at the end */
        {"\xf5\x80\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xe2\"", "\"\xef\xbf\xbd\\\"\""}, /* the quote is not swallowed */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char *text = print_string(cases[i].raw);

        assert_string_equal(text, cases[i].json);
        free(text);
    }
}

static void processes_are_an_array_with_null_for_unknown_shares(void **state)
{
    struct node_bytes nodes[] = {{0, 4096}, {8, UINT64_MAX}};
    struct process_report items[] = {
        {.pid = 9876868,
         .uid = UINT32_MAX,
         .comm = "a \"b\"",
         .rss_bytes = 1,
         .n_threads = 2,
         .remote_permyriad = 210,
         .nodes = {nodes, 2},
         .nodes_known = true,
         .moved_bytes = 3,
         .autonuma = {4, 5, 6, 7, 1328.672},
         .state = "stable"},
        {.pid = 1, .comm = "x", .remote_permyriad = -1, .state = "init"},
    };
    struct process_reports reports = {.items = items, .n_items = 2};
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    (void)state;
    json_print_processes(file, &reports);
    fclose(file);
    assert_string_equal(
        text, "[{\"pid\":9876868,\"uid\":4294967295,\"comm\":\"a \\\"b\\\"\",\"rss_bytes\":1,"
              "\"n_threads\":2,\"remote_permyriad\":210,\"nodes_known\":true,"
              "\"nodes\":[{\"node\":0,\"bytes\":4096},{\"node\":8,\"bytes\":18446744073709551615}],"
              "\"moved_bytes\":3,"
              "\"numa_pte_updates\":4,\"numa_hint_faults\":5,"
              "\"numa_hint_faults_local\":6,\"numa_pages_migrated\":7,\"autonuma_cost\":1328.672,"
              "\"state\":\"stable\"},"
              "{\"pid\":1,\"uid\":0,\"comm\":\"x\",\"rss_bytes\":0,\"n_threads\":0,"
              "\"remote_permyriad\":null,\"nodes_known\":false,\"nodes\":[],\"moved_bytes\":0,"
              "\"numa_pte_updates\":0,\"numa_hint_faults\":0,"
              "\"numa_hint_faults_local\":0,\"numa_pages_migrated\":0,\"autonuma_cost\":0,"
              "\"state\":\"init\"}]");
    free(text);
}

static void status_has_objects_of_the_counts_above_zero(void **state)
{
    struct status_report report = {.state = "idle", .kernel_balancing = "absent", .n_errnos = 2};
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    (void)state;
    report.errnos[0] = EBUSY;
    report.errno_pages[0] = 5;
    report.errnos[1] = 512;
    report.errno_pages[1] = 6;
    report.vma_reasons.n[REASON_BIND] = 7;
    report.vma_reasons.n[REASON_REFUSED] = 8;
    json_print_status(file, &report);
    fclose(file);
    assert_non_null(strstr(text, "\"state\":\"idle\",\"why\":\"\","));
    assert_non_null(
        strstr(text, "\"process_reasons\":{},\"vma_reasons\":{\"bind\":7,\"refused\":8}"));
    assert_non_null(strstr(text, "\"errnos\":{\"EBUSY\":5,\"errno-512\":6}}"));
    free(text);
}

static void errno_names_are_read_back(void **state)
{
    static const int errors[] = {EPERM, EBUSY, EFAULT, ENODEV, 512, 100000};
    char buffer[24];

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(errors); i++)
        assert_int_equal(fields_errno_of_name(fields_errno_name(errors[i], buffer)), errors[i]);
    assert_int_equal(fields_errno_of_name("EBUS"), 0);
    assert_int_equal(fields_errno_of_name(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_quoted_escaped_and_valid),
        cmocka_unit_test(processes_are_an_array_with_null_for_unknown_shares),
        cmocka_unit_test(status_has_objects_of_the_counts_above_zero),
        cmocka_unit_test(errno_names_are_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
