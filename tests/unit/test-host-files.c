/*
 * The live host's way to write a file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numabd/host.h"
#include "tree.h"
#include "util/cleanup.h"
#include "util/procfs.h"

struct check {
    bool answer;
    unsigned n;
    pid_t end; /* this process ends meanwhile */
};

static bool on_check(void *userdata)
{
    struct check *check = userdata;

    check->n++;
    if (check->end) {
        kill(check->end, SIGKILL);
        waitpid(check->end, NULL, 0);
    }
    return check->answer;
}

static int write_to(const char *path, struct check *check)
{
    const struct host host = host_live();

    return host.ops->write_file(host.self, path, "4", on_check, check);
}

static void assert_content(const struct tree *tree, const char *content)
{
    CLEANUP(freep) char *text = NULL;
    size_t size;

    assert_int_equal(procfs_read(tree->root, "file", &text, &size), 0);
    assert_string_equal(text, content);
}

static void test_write(void **state)
{
    struct check yes = {.answer = true}, no = {.answer = false};
    struct tree tree;
    char path[300];

    (void)state;
    tree_init(&tree);
    tree_write(&tree, "file", "0\n", 2);
    snprintf(path, sizeof path, "%s/file", tree.root);
    assert_int_equal(write_to(path, &no), HOST_DECLINED);
    assert_content(&tree, "0\n");
    assert_int_equal(write_to(path, &yes), 0);
    assert_content(&tree, "4\n");
    snprintf(path, sizeof path, "%s/missing", tree.root);
    assert_int_equal(write_to(path, &yes), PROCFS_GONE);
    assert_int_equal(yes.n, 1); /* not asked for what cannot be opened */
    tree_deinit(&tree);
}

/* The file stays with its process: whoever has the pid by then is not written to. */
static void test_process_that_ends_before_the_write(void **state)
{
    struct check check = {.answer = true};
    char path[64];

    (void)state;
    check.end = fork();
    assert_return_code(check.end, 0);
    if (check.end == 0) {
        pause();
        _exit(0);
    }
    snprintf(path, sizeof path, "proc/%d/clear_refs", (int)check.end);
    if (access("/proc/self/clear_refs", W_OK) < 0) {
        kill(check.end, SIGKILL);
        waitpid(check.end, NULL, 0);
        print_message("skipped: no clear_refs to write to: %s\n", strerror(errno));
        skip();
    }
    assert_int_equal(write_to(path, &check), PROCFS_GONE);
    assert_int_equal(check.n, 1);
}

static void test_below_a_root_nothing_is_written(void **state)
{
    const struct host host = host_root("/");
    struct check check = {.answer = true};

    (void)state;
    assert_int_equal(host.ops->write_file(host.self, "dev/null", "4", on_check, &check),
                     -EOPNOTSUPP);
    assert_int_equal(check.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_process_that_ends_before_the_write),
        cmocka_unit_test(test_below_a_root_nothing_is_written),
    };

    return cmocka_run_group_tests_name("host files", tests, NULL, NULL);
}
