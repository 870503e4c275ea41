/*
 * Files of /proc and /sys have no useful st_size, and a short read does not mean their end, so they
 * are read in growing steps until a read gives 0 bytes.
 */
#include "util/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "util/array.h"
#include "util/cleanup.h"
#include "util/error.h"

#define READ_STEP ((size_t)16384)

int procfs_condition(int error)
{
    switch (error) {
    case ENOENT:
    case ESRCH:
    case ENOTDIR:
        return PROCFS_GONE;
    case EACCES:
    case EPERM:
        return PROCFS_DENIED;
    default:
        return error > 0 ? -error : -EIO;
    }
}

int procfs_read_fd(int fd, size_t limit, char **bufp, size_t *sizep)
{
    CLEANUP(freep) char *buf = NULL;
    size_t size = 0, cap = 0;
    ssize_t got = 1;

    while (got > 0 && size < limit) {
        size_t step = limit - size < READ_STEP ? limit - size : READ_STEP;

        if (ARRAY_RESERVE(buf, cap, size + step + 1) < 0)
            return -ENOMEM;
        step = limit - size < cap - size - 1 ? limit - size : cap - size - 1;
        do
            got = pread(fd, buf + size, step, (off_t)size);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return procfs_condition(errno);
        size += (size_t)got;
    }
    if (!buf && !(buf = malloc(1)))
        return -ENOMEM;
    buf[size] = '\0';
    *bufp = TAKE(buf);
    *sizep = size;
    return 0;
}

int procfs_read_head(const char *root, const char *path, size_t limit, char **bufp, size_t *sizep)
{
    CLEANUP(freep) char *full = NULL;
    CLEANUP(fd_closep) int fd = -1;
    struct stat status;

    if (asprintf(&full, "%s/%s", root, path) < 0) {
        full = NULL;
        return -ENOMEM;
    }
    /* Below another root there may be anything: a FIFO would be waited for, a device has no end. */
    fd = open(full, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return procfs_condition(errno);
    if (fstat(fd, &status) < 0)
        return error_errno();
    if (!S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
    return procfs_read_fd(fd, limit, bufp, sizep);
}

int procfs_read(const char *root, const char *path, char **bufp, size_t *sizep)
{
    return procfs_read_head(root, path, SIZE_MAX / 4, bufp, sizep);
}

int procfs_read_ullong(const char *root, const char *path, unsigned long long *valuep)
{
    CLEANUP(freep) char *buf = NULL;
    size_t size;
    char *end;
    unsigned long long value;
    int r;

    r = procfs_read_head(root, path, 64, &buf, &size);
    if (r)
        return r;
    errno = 0;
    value = strtoull(buf, &end, 10);
    if (end == buf || errno || (*end && *end != '\n'))
        return -EINVAL;
    *valuep = value;
    return 0;
}
