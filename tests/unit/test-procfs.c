#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tree.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/procfs.h"

static void test_reads_below_the_root(void **state)
{
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(freep) char *buf = NULL;
    size_t size;

    (void)state;
    tree_init(&tree);
    tree_write(&tree, "proc/1/a", "x\0y\n", 4);
    assert_int_equal(procfs_read(tree.root, "proc/1/a", &buf, &size), 0);
    assert_int_equal(size, 4);
    assert_memory_equal(buf, "x\0y\n", 5); /* and a NUL behind it */
}

static void test_an_empty_file_is_a_success(void **state)
{
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(freep) char *buf = NULL;
    size_t size = 7;

    (void)state;
    tree_init(&tree);
    tree_write(&tree, "empty", "", 0);
    assert_int_equal(procfs_read(tree.root, "empty", &buf, &size), 0);
    assert_int_equal(size, 0);
    assert_string_equal(buf, "");
}

/* Around the step of 16 KiB, where a buffer one byte short would show. */
static void test_sizes(void **state)
{
    static const size_t sizes[] = {1, 16383, 16384, 16385, 32767, 32768, 32769, 1000000};
    CLEANUP(tree_deinit) struct tree tree = {0};

    (void)state;
    tree_init(&tree);
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        CLEANUP(freep) char *content = malloc(sizes[i]), *buf = NULL;
        size_t size;

        assert_non_null(content);
        for (size_t at = 0; at < sizes[i]; at++)
            content[at] = (char)('a' + at % 23);
        tree_write(&tree, "file", content, sizes[i]);
        assert_int_equal(procfs_read(tree.root, "file", &buf, &size), 0);
        assert_int_equal(size, sizes[i]);
        assert_memory_equal(buf, content, size);
        assert_int_equal(buf[size], '\0');
    }
}

static void test_head(void **state)
{
    static const size_t limits[] = {0, 1, 9, 10, 11, SIZE_MAX / 4};
    CLEANUP(tree_deinit) struct tree tree = {0};

    (void)state;
    tree_init(&tree);
    tree_write(&tree, "file", "0123456789", 10);
    for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
        CLEANUP(freep) char *buf = NULL;
        size_t size, want = limits[i] < 10 ? limits[i] : 10;

        assert_int_equal(procfs_read_head(tree.root, "file", limits[i], &buf, &size), 0);
        assert_int_equal(size, want);
        assert_memory_equal(buf, "0123456789", want);
        assert_int_equal(buf[want], '\0');
    }
}

static void test_what_is_not_there_is_gone(void **state)
{
    CLEANUP(tree_deinit) struct tree tree = {0};
    char *buf = NULL;
    size_t size = 7;

    (void)state;
    tree_init(&tree);
    tree_write(&tree, "file", "", 0);
    assert_int_equal(procfs_read(tree.root, "missing", &buf, &size), PROCFS_GONE);
    assert_int_equal(procfs_read(tree.root, "missing/file", &buf, &size), PROCFS_GONE);
    assert_int_equal(procfs_read(tree.root, "file/file", &buf, &size), PROCFS_GONE);
    assert_int_equal(procfs_read("/nonexistent", "file", &buf, &size), PROCFS_GONE);
    assert_null(buf);
    assert_int_equal(size, 7);
}

/* A file that was opened while the process lived gives ESRCH, its path ENOENT. */
static void test_a_reaped_process_is_gone(void **state)
{
    CLEANUP(fd_closep) int fd = -1;
    char path[64], *buf = NULL;
    int gate[2], status;
    size_t size;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(gate), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char byte;

        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    assert_int_equal(procfs_read("/", path + 1, &buf, &size), 0);
    free(buf);
    buf = NULL;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    close(gate[1]);
    close(gate[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(procfs_read_fd(fd, 1000, &buf, &size), PROCFS_GONE);
    assert_int_equal(procfs_read("/", path + 1, &buf, &size), PROCFS_GONE);
    assert_null(buf);
}

/* root is never denied, so it becomes nobody for a moment. */
static void test_denied(void **state)
{
    CLEANUP(tree_deinit) struct tree tree = {0};
    char path[512], *buf = NULL;
    uid_t uid = geteuid();
    size_t size;
    int r;

    (void)state;
    tree_init(&tree);
    tree_write(&tree, "file", "1", 1);
    snprintf(path, sizeof path, "%s/file", tree.root);
    assert_int_equal(chmod(path, 0), 0);
    if (uid == 0)
        assert_int_equal(seteuid(65534), 0);
    r = procfs_read(tree.root, "file", &buf, &size);
    assert_int_equal(seteuid(uid), 0);
    assert_int_equal(r, PROCFS_DENIED);
    assert_null(buf);
}

static void test_a_folder_is_an_error(void **state)
{
    CLEANUP(tree_deinit) struct tree tree = {0};
    char *buf = NULL;
    size_t size;

    (void)state;
    tree_init(&tree);
    assert_int_equal(procfs_read(tree.root, "", &buf, &size), -EISDIR);
    assert_null(buf);
}

/* An opened file is read from its start each time. */
static void test_an_open_file_is_read_again(void **state)
{
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(fd_closep) int fd = -1;
    char path[512];

    (void)state;
    tree_init(&tree);
    tree_write(&tree, "file", "abc", 3);
    snprintf(path, sizeof path, "%s/file", tree.root);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        CLEANUP(freep) char *buf = NULL;
        size_t size;

        assert_int_equal(procfs_read_fd(fd, 1000, &buf, &size), 0);
        assert_string_equal(buf, "abc");
    }
}

static void test_numbers(void **state)
{
    static const struct {
        const char *content;
        int r;
        unsigned long long value;
    } cases[] = {
        {"0\n", 0, 0},
        {"2", 0, 2},
        {"18446744073709551615\n", 0, ULLONG_MAX},
        {"18446744073709551616\n", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"\n", -EINVAL, 0},
        {"max\n", -EINVAL, 0},
        {"1x\n", -EINVAL, 0},
        {"1 2\n", -EINVAL, 0},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};

    (void)state;
    tree_init(&tree);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        unsigned long long value = 77;

        tree_write(&tree, "number", cases[i].content, strlen(cases[i].content));
        assert_int_equal(procfs_read_ullong(tree.root, "number", &value), cases[i].r);
        assert_true(value == (cases[i].r ? 77 : cases[i].value));
    }
}

static void test_a_missing_number_is_gone(void **state)
{
    unsigned long long value = 77;

    (void)state;
    assert_int_equal(procfs_read_ullong("/nonexistent", "number", &value), PROCFS_GONE);
    assert_true(value == 77);
}

/* Named after the attack: a FIFO below --root was waited for, deaf to SIGTERM. */
static void test_what_is_no_file_is_not_waited_for(void **state)
{
    char root[] = "/tmp/numabd-procfs-XXXXXX", path[64], *buf = NULL;
    size_t size = 0;

    (void)state;
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/fifo", root);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(procfs_read(root, "fifo", &buf, &size), -EINVAL);
    assert_int_equal(procfs_read("/", root, &buf, &size), -EISDIR);
    assert_null(buf);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_below_the_root),
        cmocka_unit_test(test_an_empty_file_is_a_success),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_what_is_not_there_is_gone),
        cmocka_unit_test(test_a_reaped_process_is_gone),
        cmocka_unit_test(test_denied),
        cmocka_unit_test(test_a_folder_is_an_error),
        cmocka_unit_test(test_an_open_file_is_read_again),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_a_missing_number_is_gone),
        cmocka_unit_test(test_what_is_no_file_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
