/*
 * A pid alone is no name: it is used again. The pidfd holds the process that had the pid when it
 * was opened, and the start time read *after* that tells whether it is the one meant: had the
 * process ended before, the file would be another's or missing.
 */
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "discover/proc_files.h"
#include "numabd/discover.h"
#include "util/cleanup.h"
#include "util/error.h"

int pidref_init(struct pidref *ref, pid_t pid, uint64_t start_ticks)
{
    CLEANUP(fd_closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct process process = {0};
    int r;

    if (fd < 0)
        return errno == ESRCH ? DISCOVER_GONE : error_errno();
    if ((r = proc_files_stat("/", pid, &process)))
        return r;
    if (process.start_ticks != start_ticks)
        return DISCOVER_GONE;
    *ref = (struct pidref){.pid = pid, .start_ticks = start_ticks, .fd = fd};
    fd = -1;
    return 0;
}

void pidref_deinit(struct pidref *ref)
{
    fd_close(ref->fd);
    *ref = PIDREF_NULL;
}

/* A pidfd becomes readable when its process has ended, also while it is a zombie. */
bool pidref_is_alive(const struct pidref *ref)
{
    struct pollfd poll_fd = {.fd = ref->fd, .events = POLLIN};

    return ref->fd < 0 || poll(&poll_fd, 1, 0) == 0;
}
