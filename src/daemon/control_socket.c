/*
 * The control socket
 *
 * Its directory must belong to root or to numabd's own user and be writable by nobody else: then no
 * one can put anything in the way between a look and an act, and names below the open directory can
 * be trusted. They are reached through /proc/self/fd, since there is no bindat(2); that also lifts
 * the limit of 108 bytes.
 *
 * Two numabd that start at once could both find the same stale socket and replace each other's. So
 * a lock file, which only its owner can open, is held first.
 */
#include "daemon/control_socket.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "util/error.h"

#define RUNTIME_DIRECTORY "/run/numabd"
#define SOCKET_NAME "bus"
#define LOCK_NAME "bus.lock"

enum {
    BACKLOG = 64
};

static int check_directory(int fd)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return error_errno();
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return -EPERM;
    return status.st_mode & (S_IWGRP | S_IWOTH) ? -EPERM : 0;
}

static int open_directory(const char *directory, int *fdp)
{
    bool made = mkdir(directory, 0755) == 0;
    CLEANUP(fd_closep) int fd = -1;
    int r;

    if (!made && errno != EEXIST)
        return error_errno();
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_errno();
    r = check_directory(fd);
    if (r < 0)
        return r;
    /* The umask may have shut out those who shall connect. */
    if (made && fchmod(fd, 0755) < 0)
        return error_errno();
    *fdp = fd;
    fd = -1;
    return 0;
}

static int take_lock(int directory_fd, int *fdp)
{
    CLEANUP(fd_closep) int fd = -1;

    fd = openat(directory_fd, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno();
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? CONTROL_BUSY : error_errno();
    *fdp = fd;
    fd = -1;
    return 0;
}

static struct sockaddr_un address_in(int directory_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" SOCKET_NAME,
             directory_fd);
    return address;
}

static int open_socket(int *fdp)
{
    *fdp = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return *fdp < 0 ? error_errno() : 0;
}

/* Does anybody listen? A full queue (EAGAIN) has an owner too. Return: 0, CONTROL_BUSY, negative.
 */
static int probe(int directory_fd)
{
    struct sockaddr_un address = address_in(directory_fd);
    CLEANUP(fd_closep) int fd = -1;
    int r = open_socket(&fd);

    if (r < 0)
        return r;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN)
        return CONTROL_BUSY;
    return errno == ECONNREFUSED ? 0 : error_errno();
}

static int remove_stale(int directory_fd)
{
    struct stat status;
    int r;

    if (fstatat(directory_fd, SOCKET_NAME, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : error_errno();
    if (!S_ISSOCK(status.st_mode))
        return -EEXIST;
    r = probe(directory_fd);
    if (r != 0)
        return r;
    return unlinkat(directory_fd, SOCKET_NAME, 0) < 0 ? error_errno() : 0;
}

/* Nobody can connect before listen(), so the mode is right from the first connection on. */
static int bind_and_listen(struct control_socket *made)
{
    struct sockaddr_un address = address_in(made->directory_fd);
    struct stat status;
    int r = open_socket(&made->fd);

    if (r < 0)
        return r;
    if (bind(made->fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        fstatat(made->directory_fd, SOCKET_NAME, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return error_errno();
    made->dev = status.st_dev;
    made->ino = status.st_ino;
    if (fchmodat(made->directory_fd, SOCKET_NAME, 0666, 0) < 0 || listen(made->fd, BACKLOG) < 0)
        return error_errno();
    return 0;
}

const char *control_directory(void)
{
    const char *directory = getenv("RUNTIME_DIRECTORY");

    return directory && directory[0] ? directory : RUNTIME_DIRECTORY;
}

int control_socket_lock(struct control_socket *socket, const char *directory)
{
    int r;

    *socket = CONTROL_SOCKET_NULL;
    r = open_directory(directory, &socket->directory_fd);
    if (r == 0)
        r = take_lock(socket->directory_fd, &socket->lock_fd);
    if (r != 0)
        control_socket_deinit(socket);
    return r;
}

int control_socket_init(struct control_socket *socket, const char *directory)
{
    int r = control_socket_lock(socket, directory);

    if (r == 0)
        r = remove_stale(socket->directory_fd);
    if (r == 0)
        r = bind_and_listen(socket);
    if (r != 0)
        control_socket_deinit(socket);
    return r;
}

static void remove_own(const struct control_socket *socket)
{
    struct stat status;

    if (socket->ino == 0 ||
        fstatat(socket->directory_fd, SOCKET_NAME, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (status.st_ino == socket->ino && status.st_dev == socket->dev)
        (void)unlinkat(socket->directory_fd, SOCKET_NAME, 0);
}

void control_socket_deinit(struct control_socket *socket)
{
    remove_own(socket);
    fd_close(socket->fd);
    fd_close(socket->lock_fd);
    fd_close(socket->directory_fd);
    *socket = CONTROL_SOCKET_NULL;
}
