/*
 * The live calls. An event that is polled without EPOLLET and whose thread or CPU has gone is ready
 * for ever (EPOLLHUP cannot be masked); with it each fd is told once per wake-up.
 */
#include "sample/perf/perf_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sample/scope/cgroup_dir.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/error.h"

/* The lowest number that is free is given: all below `fd` are taken. */
static bool leaves_few_files(long fd)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           (rlim_t)fd + PERF_KERNEL_FILES_KEPT >= limit.rlim_cur;
}

static int live_open(void *self, const struct perf_event_attr *attr, pid_t pid, int cpu,
                     int group_fd, unsigned long flags)
{
    long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags | PERF_FLAG_FD_CLOEXEC);

    (void)self;
    if (fd < 0)
        return error_errno();
    if (leaves_few_files(fd)) {
        close((int)fd);
        return -EMFILE;
    }
    return (int)fd;
}

static void live_close(void *self, int fd)
{
    (void)self;
    fd_close(fd);
}

static int live_id(void *self, int fd, uint64_t *idp)
{
    (void)self;
    return ioctl(fd, PERF_EVENT_IOC_ID, idp) < 0 ? error_errno() : 0;
}

static int live_set_output(void *self, int fd, int ring_fd)
{
    (void)self;
    return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd) < 0 ? error_errno() : 0;
}

static int live_set_period(void *self, int fd, uint64_t value)
{
    (void)self;
    return ioctl(fd, PERF_EVENT_IOC_PERIOD, &value) < 0 ? error_errno() : 0;
}

static int live_read(void *self, int fd, struct perf_kernel_count *count)
{
    ssize_t size = read(fd, count, sizeof *count);

    (void)self;
    if (size < 0)
        return error_errno();
    return size == sizeof *count ? 0 : -EIO;
}

static int live_map(void *self, int fd, size_t bytes, void **mapp)
{
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    (void)self;
    if (map == MAP_FAILED)
        return error_errno();
    *mapp = map;
    return 0;
}

static void live_unmap(void *self, void *map, size_t bytes)
{
    (void)self;
    munmap(map, bytes);
}

static int live_watch(void *self, int epoll_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};

    (void)self;
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? error_errno() : 0;
}

/*
 * Only the poll state tells. It takes the wake-up of a ring that has just become half full, which
 * the next drain, not later than that of the round, makes good.
 */
static bool live_has_ended(void *self, int fd)
{
    struct pollfd state = {.fd = fd};

    (void)self;
    return poll(&state, 1, 0) > 0 && state.revents & POLLHUP;
}

static int live_open_dir(void *self, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)self;
    return fd < 0 ? error_errno() : fd;
}

static int live_dir_id(void *self, const char *path, uint64_t *idp)
{
    struct stat stat_;

    (void)self;
    if (stat(path, &stat_) < 0)
        return error_errno();
    *idp = stat_.st_ino;
    return 0;
}

static size_t live_count_processes(void *self, const char *path, size_t limit)
{
    (void)self;
    return cgroup_dir_count_processes(path, limit);
}

static int live_list_threads(void *self, pid_t pid, struct perf_kernel_tids *tids)
{
    CLEANUP(closedirp) DIR *dir = NULL;
    char path[sizeof "/proc//task" + 3 * sizeof pid];
    const struct dirent *entry;
    int r;

    (void)self;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    dir = opendir(path);
    if (!dir)
        return error_errno();
    while ((entry = readdir(dir))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (tid <= 0)
            continue;
        r = ARRAY_RESERVE(tids->items, tids->cap, tids->n + 1);
        if (r < 0)
            return r;
        tids->items[tids->n++] = tid;
    }
    return 0;
}

static bool live_may_run(void *self, pid_t tid, const bool *cpu_skip, int n_cpu_ids)
{
    /* The kernel refuses a set that is smaller than its own, which has at most 8192 CPUs. */
    unsigned long allowed[8192 / (8 * sizeof(unsigned long))] = {0};
    const int bits = 8 * sizeof allowed[0];

    (void)self;
    if (sched_getaffinity(tid, sizeof allowed, (cpu_set_t *)allowed) < 0)
        return true;
    for (int cpu = 0; cpu < n_cpu_ids && cpu < 8192; cpu++)
        if (allowed[cpu / bits] >> (cpu % bits) & 1 && !cpu_skip[cpu])
            return true;
    return false;
}

struct perf_kernel perf_kernel_live(void)
{
    static const struct perf_kernel_ops ops = {
        .open = live_open,
        .close = live_close,
        .id = live_id,
        .set_output = live_set_output,
        .set_period = live_set_period,
        .read = live_read,
        .map = live_map,
        .unmap = live_unmap,
        .watch = live_watch,
        .has_ended = live_has_ended,
        .open_dir = live_open_dir,
        .dir_id = live_dir_id,
        .count_processes = live_count_processes,
        .list_threads = live_list_threads,
        .may_run = live_may_run,
    };

    return (struct perf_kernel){.ops = &ops, .self = NULL};
}
