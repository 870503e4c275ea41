/* The host below a root: folders and links. */
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "numabd/host.h"
#include "util/procfs.h"

struct names {
    unsigned n, n_wanted;
    bool dots;
};

static bool take_name(void *userdata, const char *name)
{
    struct names *names = userdata;

    names->dots |= name[0] == '.';
    return ++names->n < names->n_wanted;
}

static int setup(void **state)
{
    static struct tree_file files[] = {{"proc/1/fd/0", "x"}, {"proc/1/fd/1", "x"}};
    struct tree *tree = calloc(1, sizeof *tree);

    tree_init(tree);
    tree_add(tree, files, 2);
    tree_link(tree, "proc/1/fd/2", "anon_inode:kvm-vcpu:0");
    *state = tree;
    return 0;
}

static int teardown(void **state)
{
    tree_deinit(*state);
    free(*state);
    return 0;
}

static void test_folder_is_listed_without_dots(void **state)
{
    struct host host = host_root(((struct tree *)*state)->root);
    struct names names = {.n_wanted = 100};

    assert_int_equal(host.ops->list_folder(host.self, "proc/1/fd", 100, take_name, &names), 0);
    assert_int_equal(names.n, 3);
    assert_false(names.dots);
}

static void test_listing_stops_at_the_limit_and_when_told(void **state)
{
    struct host host = host_root(((struct tree *)*state)->root);
    struct names two = {.n_wanted = 100}, one = {.n_wanted = 1}, none = {.n_wanted = 100};

    assert_int_equal(host.ops->list_folder(host.self, "proc/1/fd", 2, take_name, &two), 0);
    assert_int_equal(two.n, 2);
    assert_int_equal(host.ops->list_folder(host.self, "proc/1/fd", 100, take_name, &one), 0);
    assert_int_equal(one.n, 1);
    assert_int_equal(host.ops->list_folder(host.self, "proc/1/fd", 0, take_name, &none), 0);
    assert_int_equal(none.n, 0);
}

static void test_link_is_read_and_cut(void **state)
{
    struct host host = host_root(((struct tree *)*state)->root);
    char text[64], cut[11];

    assert_int_equal(host.ops->read_link(host.self, "proc/1/fd/2", text, sizeof text), 0);
    assert_string_equal(text, "anon_inode:kvm-vcpu:0");
    assert_int_equal(host.ops->read_link(host.self, "proc/1/fd/2", cut, sizeof cut), 0);
    assert_string_equal(cut, "anon_inode");
}

static void test_what_is_missing_is_gone_and_no_link_is_an_error(void **state)
{
    struct host host = host_root(((struct tree *)*state)->root);
    struct names names = {.n_wanted = 100};
    char text[64];

    assert_int_equal(host.ops->list_folder(host.self, "proc/2/fd", 9, take_name, &names),
                     PROCFS_GONE);
    assert_int_equal(host.ops->read_link(host.self, "proc/1/fd/9", text, sizeof text), PROCFS_GONE);
    assert_true(host.ops->read_link(host.self, "proc/1/fd/0", text, sizeof text) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder_is_listed_without_dots),
        cmocka_unit_test(test_listing_stops_at_the_limit_and_when_told),
        cmocka_unit_test(test_link_is_read_and_cut),
        cmocka_unit_test(test_what_is_missing_is_gone_and_no_link_is_an_error),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
