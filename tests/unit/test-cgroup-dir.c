/* Where perf finds a process's cgroup: mounts, paths, and how full a directory is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sample/scope/cgroup_dir.h"
#include "sample/scope/cgroup_mounts.h"
#include "tree.h"
#include "util/array.h"

static void perf_is_where_its_hierarchy_is_mounted(void **state)
{
    static const struct {
        const char *name, *text, *path;
        bool v1;
    } cases[] = {
        {"unified", "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n",
         "/sys/fs/cgroup", false},
        {"hybrid, perf_event free",
         "cgroup /c/cpu cgroup rw,cpu 0 0\ncgroup2 /c/u cgroup2 rw 0 0\n", "/c/u", false},
        {"hybrid, perf_event in v1, behind",
         "cgroup2 /c/u cgroup2 rw 0 0\ncgroup /c/p cgroup rw,nosuid,perf_event 0 0\n", "/c/p",
         true},
        {"together with another controller", "cgroup /c/p cgroup rw,perf_event,cpu 0 0\n", "/c/p",
         true},
        {"a name that only contains it", "cgroup /c/p cgroup rw,name=perf_event 0 0\n", NULL,
         false},
        {"the first cgroup2", "a /one cgroup2 rw 0 0\nb /two cgroup2 rw 0 0\n", "/one", false},
        {"a blank in the path", "none /a\\040b\\134c cgroup2 rw 0 0\n", "/a b\\c", false},
        {"cut before its newline", "none /c cgroup2 rw 0 0", NULL, false},
        {"another file system of that name", "cgroup2 /c tmpfs rw 0 0\n", NULL, false},
        {"cut", "cgroup2 /c cgroup2", NULL, false},
        {"empty", "", NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct cgroup_mounts mounts;

        print_message("%s\n", cases[i].name);
        cgroup_mounts_parse(&mounts, cases[i].text);
        assert_string_equal(cgroup_mounts_perf(&mounts), cases[i].path ? cases[i].path : "");
        assert_int_equal(mounts.perf_event[0] != '\0', cases[i].v1);
    }
}

static void v1_path_is_that_of_perf_event(void **state)
{
    static const struct cgroup_mounts mounts = {.perf_event = "/c/p"};
    static const struct {
        const char *text, *path;
    } cases[] = {
        {"9:name=systemd:/s\n8:perf_event:/p\n0::/u\n", "/p"},
        {"8:cpu,perf_event:/with:colon\n", "/with:colon"},
        {"8:perf_event:/\n", "/"},
        {"8:perf_events:/p\n8:xperf_event:/q\n", "/"},
        {"0::/u\n", "/"},
        {"8:perf_event\n", "/"},
        {"no colon\n8:perf_event:/p\n", "/p"},
        {"", "/"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char path[32];

        assert_string_equal(cgroup_mounts_path(&mounts, cases[i].text, path, sizeof path),
                            cases[i].path);
    }
}

/* Named after the bug: a mount point was cut to what the buffer holds, which is another folder. */
static void mount_point_that_is_too_long_is_none(void **state)
{
    struct cgroup_mounts mounts;
    char text[512];

    (void)state;
    snprintf(text, sizeof text, "none /%0*d cgroup2 rw 0 0\nnone /short cgroup2 rw 0 0\n", 300, 0);
    cgroup_mounts_parse(&mounts, text);
    assert_string_equal(cgroup_mounts_perf(&mounts), "/short");
}

static void root_and_outside_are_not_usable(void **state)
{
    static const char *const good[] = {"/a", "/a/b", "/..a", "/a/..b/c", "/a..", "/..."};
    static const char *const bad[] = {"/", "", "a", "/..", "/../x", "/a/..", "/a/../b"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++)
        assert_true(cgroup_dir_is_usable(good[i]));
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
        assert_false(cgroup_dir_is_usable(bad[i]));
    assert_false(cgroup_dir_is_usable(NULL));
}

static void order_puts_children_behind_their_parent(void **state)
{
    static const char *const order[] = {"/a",   "/a/b", "/a/b/c", "/a/z",
                                        "/a b", "/a-b", "/ab",    "/b"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(order); i++)
        for (size_t j = 0; j < ARRAY_LENGTH(order); j++) {
            int r = cgroup_dir_compare(order[i], order[j]);

            assert_int_equal((r > 0) - (r < 0), (i > j) - (i < j));
        }
}

static void processes_are_counted_with_those_below(void **state)
{
    static const struct tree_file files[] = {
        {"a/cgroup.procs", "1\n2\n"},
        {"a/b/cgroup.procs", "3\n4\n5\n"},
        {"a/b/c/cgroup.procs", "6\n"},
        {"a/empty/cgroup.procs", ""},
        {"a/none", NULL},
    };
    struct tree tree;
    char path[512];

    (void)state;
    tree_init(&tree);
    tree_add(&tree, files, ARRAY_LENGTH(files));
    snprintf(path, sizeof path, "%s/a", tree.root);
    assert_int_equal(cgroup_dir_count_processes(path, 100), 6);
    assert_in_range(cgroup_dir_count_processes(path, 2), 2, 5); /* looks no further */
    snprintf(path, sizeof path, "%s/missing", tree.root);
    assert_int_equal(cgroup_dir_count_processes(path, 100), 0);
    tree_deinit(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perf_is_where_its_hierarchy_is_mounted),
        cmocka_unit_test(v1_path_is_that_of_perf_event),
        cmocka_unit_test(mount_point_that_is_too_long_is_none),
        cmocka_unit_test(root_and_outside_are_not_usable),
        cmocka_unit_test(order_puts_children_behind_their_parent),
        cmocka_unit_test(processes_are_counted_with_those_below),
    };

    return cmocka_run_group_tests_name("cgroup directories", tests, NULL, NULL);
}
