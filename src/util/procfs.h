#pragma once
/*
 * Reading files of /proc and /sys below a root, which is "/" on the live machine and a fixture tree
 * in tests and with --root.
 */
#include <stddef.h>
#include <sys/types.h>

enum {
    PROCFS_GONE = 1, /* no such file, or its process has gone (ENOENT, ESRCH) */
    PROCFS_DENIED,   /* EACCES or EPERM */
};

/* The condition that an errno of open or read stands for, or the errno itself, negative. */
int procfs_condition(int error);

/*
 * Reads the whole file ROOT/PATH into a new buffer that ends with a NUL beyond *sizep.
 * The caller frees *bufp.
 * Return: 0, PROCFS_GONE, PROCFS_DENIED, or a negative errno; *bufp is untouched on failure.
 */
int procfs_read(const char *root, const char *path, char **bufp, size_t *sizep);

/* The same, and at most `limit` bytes from the start (for files that are dear to produce). */
int procfs_read_head(const char *root, const char *path, size_t limit, char **bufp, size_t *sizep);

/* The same through a file that is already open, from its start. 0 bytes is a success. */
int procfs_read_fd(int fd, size_t limit, char **bufp, size_t *sizep);

/* Reads one decimal number. Return: as procfs_read; -EINVAL when the file holds something else. */
int procfs_read_ullong(const char *root, const char *path, unsigned long long *valuep);
