/*
 * The control socket: who may replace it, and what is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "control_rig.h"

static void the_socket_is_open_to_all_whatever_the_umask(void **state)
{
    struct control_rig rig;
    struct stat status;
    mode_t mask = umask(077);

    (void)state;
    control_rig_init(&rig, false);
    umask(mask);
    assert_int_equal(stat(rig.bus, &status), 0);
    assert_int_equal(status.st_mode, S_IFSOCK | 0666);
    assert_int_equal(stat(rig.directory, &status), 0);
    assert_int_equal(status.st_mode, S_IFDIR | 0755);
    control_rig_deinit(&rig);
}

static void a_stale_socket_is_replaced(void **state)
{
    struct control_rig rig;

    (void)state;
    control_rig_init(&rig, true);
    close(control_rig_listen(&rig));
    assert_int_equal(control_rig_start(&rig), 0);
    assert_true(control_rig_serves(&rig));
    control_rig_deinit(&rig);
}

static void a_living_daemon_is_not_replaced(void **state)
{
    struct control_rig rig;
    struct control *first;

    (void)state;
    control_rig_init(&rig, false);
    first = rig.control;
    rig.control = NULL;
    assert_int_equal(control_rig_start(&rig), CONTROL_BUSY);
    assert_null(rig.control);
    assert_true(control_rig_serves(&rig)); /* the first still serves */
    control_free(first);
    assert_int_equal(access(rig.bus, F_OK), -1);
    assert_int_equal(control_rig_start(&rig), 0); /* and leaves room when it ends */
    control_rig_deinit(&rig);
}

static void a_living_socket_without_the_lock_is_not_replaced(void **state)
{
    struct control_rig rig;
    int fd;

    (void)state;
    control_rig_init(&rig, true);
    fd = control_rig_listen(&rig);
    assert_int_equal(control_rig_start(&rig), CONTROL_BUSY);
    assert_int_equal(access(rig.bus, F_OK), 0);
    close(fd);
    control_rig_deinit(&rig);
}

static void the_end_removes_no_other_socket(void **state)
{
    struct control_rig rig;
    int fd;

    (void)state;
    control_rig_init(&rig, false);
    assert_int_equal(unlink(rig.bus), 0);
    fd = open(rig.bus, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    rig.control = control_free(rig.control);
    assert_int_equal(access(rig.bus, F_OK), 0);
    control_rig_deinit(&rig);
}

static int touch(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    close(fd);
    return fd < 0 ? -1 : 0;
}

static int squat_symlink(struct control_rig *rig)
{
    return mkdir(rig->directory, 0755) < 0 ? -1 : symlink("../elsewhere", rig->bus);
}

static int squat_file(struct control_rig *rig)
{
    return mkdir(rig->directory, 0755) < 0 ? -1 : touch(rig->bus);
}

static int squat_directory(struct control_rig *rig)
{
    return mkdir(rig->directory, 0755) < 0 ? -1 : mkdir(rig->bus, 0755);
}

static int squat_fifo(struct control_rig *rig)
{
    return mkdir(rig->directory, 0755) < 0 ? -1 : mkfifo(rig->bus, 0666);
}

static int link_directory(struct control_rig *rig)
{
    char elsewhere[96];

    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", rig->top);
    return mkdir(elsewhere, 0755) < 0 ? -1 : symlink("elsewhere", rig->directory);
}

static int open_directory_to_all(struct control_rig *rig)
{
    return mkdir(rig->directory, 0755) < 0 ? -1 : chmod(rig->directory, 01777);
}

static int open_directory_to_group(struct control_rig *rig)
{
    return mkdir(rig->directory, 0755) < 0 ? -1 : chmod(rig->directory, 0775);
}

static int give_directory_away(struct control_rig *rig)
{
    if (mkdir(rig->directory, 0755) < 0)
        return -1;
    /* Only root can give away; then the mode stands in for it. */
    return geteuid() == 0 ? chown(rig->directory, 65534, 65534) : chmod(rig->directory, 0777);
}

static int put_file_for_directory(struct control_rig *rig)
{
    return touch(rig->directory);
}

static void squatted_paths_are_refused_and_left_alone(void **state)
{
    static const struct {
        int (*squat)(struct control_rig *rig);
        int error;
    } cases[] = {
        {squat_symlink, -EEXIST},        {squat_file, -EEXIST},
        {squat_directory, -EEXIST},      {squat_fifo, -EEXIST},
        {link_directory, -ENOTDIR},      {put_file_for_directory, -ENOTDIR},
        {open_directory_to_all, -EPERM}, {open_directory_to_group, -EPERM},
        {give_directory_away, -EPERM},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct control_rig rig;
        struct stat before, after;

        control_rig_init(&rig, true);
        assert_int_equal(cases[i].squat(&rig), 0);
        assert_int_equal(lstat(rig.directory, &before), 0);
        assert_int_equal(control_rig_start(&rig), cases[i].error);
        assert_int_equal(lstat(rig.directory, &after), 0);
        assert_int_equal(before.st_ino, after.st_ino);
        assert_int_equal(before.st_mode, after.st_mode);
        control_rig_deinit(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_socket_is_open_to_all_whatever_the_umask),
        cmocka_unit_test(a_stale_socket_is_replaced),
        cmocka_unit_test(a_living_daemon_is_not_replaced),
        cmocka_unit_test(a_living_socket_without_the_lock_is_not_replaced),
        cmocka_unit_test(the_end_removes_no_other_socket),
        cmocka_unit_test(squatted_paths_are_refused_and_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
