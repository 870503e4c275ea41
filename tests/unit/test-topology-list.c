#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "numabd/topology.h"
#include "util/array.h"

struct visited {
    int ids[64], n;
};

static void visit(void *userdata, int id)
{
    struct visited *visited = userdata;

    assert_true(visited->n < 64);
    visited->ids[visited->n++] = id;
}

static void test_lists(void **state)
{
    static const struct {
        const char *text;
        int n, ids[8];
    } cases[] = {
        {"", 0, {0}},
        {"\n", 0, {0}},
        {"  \t \n", 0, {0}},
        {"0", 1, {0}},
        {"0-3\n", 4, {0, 1, 2, 3}},
        {"0-1,8,10-11\n", 5, {0, 1, 8, 10, 11}},
        {" 0-1 , 8\n", 3, {0, 1, 8}},
        {"5-5", 1, {5}},
        {"99", 1, {99}},
        {"0007", 1, {7}},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct visited visited = {0};

        assert_int_equal(topology_parse_list(cases[i].text, 100, visit, &visited), 0);
        assert_int_equal(visited.n, cases[i].n);
        assert_memory_equal(visited.ids, cases[i].ids, (size_t)visited.n * sizeof(int));
    }
}

static void test_malformed_lists(void **state)
{
    static const char *const cases[] = {
        "100",
        "0-100",
        "3-1",
        "-1",
        "1-",
        "1--2",
        "1,,2",
        ",",
        "1,",
        ",1",
        "1 2",
        "a",
        "0x1",
        "1-2-3",
        "0-3:1/2",
        "(null)",
        "2147483647",
        "4294967296",
        "18446744073709551616",
        "0-18446744073709551615",
        "+1",
        "1;2",
        "all",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct visited visited = {0};

        print_message("  %s\n", cases[i]);
        assert_int_equal(topology_parse_list(cases[i], 100, visit, &visited), -EINVAL);
        assert_int_equal(visited.n, 0);
    }
    assert_int_equal(topology_parse_list("0", 0, visit, NULL), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_malformed_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
