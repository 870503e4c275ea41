#pragma once
/*
 * Control socket: DIRECTORY/bus, made safely.
 */
#include <sys/stat.h>

#include "daemon/control.h"

struct control_socket {
    int directory_fd;
    int lock_fd; /* held as long as this numabd serves the directory */
    int fd;      /* listening */
    dev_t dev;   /* of the socket file, to remove no other one */
    ino_t ino;
};

#define CONTROL_SOCKET_NULL ((struct control_socket){.directory_fd = -1, .lock_fd = -1, .fd = -1})

/* Where the socket is: $RUNTIME_DIRECTORY, as systemd sets it, or /run/numabd. */
const char *control_directory(void);

/*
 * Makes the directory if it is missing, and takes its lock without listening: no other numabd
 * serves it, or will while the lock is held. Errors are those of control_socket_init.
 */
int control_socket_lock(struct control_socket *socket, const char *directory);

/*
 * Listens. A path that is not as numabd would make it is refused: -ENOTDIR (a symlink or file for
 * the directory), -EPERM (the directory belongs to another user or others may write to it), -EEXIST
 * (something else than a socket is named bus).
 * Return: 0, CONTROL_BUSY, or a negative errno.
 */
int control_socket_init(struct control_socket *socket, const char *directory);

/* Removes the file if it is still this socket's. */
void control_socket_deinit(struct control_socket *socket);
