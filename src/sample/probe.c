/*
 * Probing on the running kernel. A fresh page of our own stands for the memory of a target: what
 * holds for other processes on top (capabilities, Yama) cannot be tried without touching one, and
 * is judged from /proc instead (report/doctor.h).
 */
#include "sample/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <numaif.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sample/scope/cgroup_mounts.h"
#include "util/page_scan.h"
#include "util/procfs.h"

/* Entries of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst). */
#define PAGEMAP_FRAME ((UINT64_C(1) << 55) - 1)
#define PAGEMAP_SOFT_DIRTY (UINT64_C(1) << 55)

static int failed(long r)
{
    return r < 0 ? errno : 0;
}

/* Opened disabled: it never samples. */
static int open_event(pid_t pid, int cpu, unsigned long flags)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = 1000000000,
        .disabled = 1,
        .exclude_kernel = 1,
    };
    CLEANUP(fd_closep) int fd = -1;

    fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);
    return failed(fd);
}

static int this_cpu(void)
{
    int cpu = sched_getcpu();

    return cpu < 0 ? 0 : cpu;
}

static int perf_thread(void)
{
    return open_event(0, -1, 0);
}

static int perf_cpu(void)
{
    return open_event(-1, this_cpu(), 0);
}

/* Where this process's cgroup is not below the mount (a container's), the mount point stands in. */
static int open_cgroup(const struct cgroup_mounts *mounts, const char *own)
{
    char path[1024], in_hierarchy[512];
    int fd;

    cgroup_mounts_path(mounts, own, in_hierarchy, sizeof in_hierarchy);
    snprintf(path, sizeof path, "%s%s", cgroup_mounts_perf(mounts), in_hierarchy);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        fd = open(cgroup_mounts_perf(mounts), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd;
}

static int perf_cgroup(void)
{
    CLEANUP(freep) char *mounts_text = NULL, *own = NULL;
    CLEANUP(fd_closep) int fd = -1;
    struct cgroup_mounts mounts;
    size_t size;

    if (procfs_read("/", "proc/self/mounts", &mounts_text, &size) ||
        procfs_read("/", "proc/self/cgroup", &own, &size))
        return ENOENT;
    cgroup_mounts_parse(&mounts, mounts_text);
    if (!cgroup_mounts_perf(&mounts)[0])
        return ENOENT;
    fd = open_cgroup(&mounts, own);
    return fd < 0 ? errno : open_event(fd, this_cpu(), PERF_FLAG_PID_CGROUP);
}

static int read_memory(char *page)
{
    char byte;
    struct iovec local = {&byte, sizeof byte}, remote = {page, sizeof byte};

    return failed(process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
}

/* Both kinds of failure, of the call and of its page. */
static int locate(char *page, const int *target, int flags, int *nodep)
{
    void *pages[] = {page};
    int status = -EIO;

    if (move_pages(0, 1, pages, target, &status, flags) < 0)
        return errno;
    if (status < 0)
        return -status;
    *nodep = status;
    return 0;
}

static int query_pages(char *page)
{
    int node;

    return locate(page, NULL, 0, &node);
}

static int move_own_page(char *page)
{
    int node = 0, r = locate(page, NULL, 0, &node);

    return r ? r : locate(page, &node, MPOL_MF_MOVE, &node);
}

static int scan_pages(const char *page)
{
    CLEANUP(fd_closep) int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    struct page_run run = {.kinds = 0};
    struct page_scan scan = {
        .start = (uintptr_t)page,
        .end = (uintptr_t)page + (uintptr_t)sysconf(_SC_PAGESIZE),
        .runs = &run,
        .n_runs_max = 1,
    };
    long n;

    if (fd < 0)
        return errno;
    n = page_scan_fd(fd, &scan);
    if (n < 0)
        return (int)-n;
    return n == 1 && run.start == scan.start && run.kinds & PAGE_PRESENT ? 0 : EIO;
}

static int numa_maps(void)
{
    CLEANUP(fd_closep) int fd = open("/proc/self/numa_maps", O_RDONLY | O_CLOEXEC);
    char byte;

    return fd < 0 ? errno : failed(read(fd, &byte, sizeof byte));
}

static int read_pagemap(const char *page, uint64_t *entryp)
{
    CLEANUP(fd_closep) int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    off_t at = (off_t)((uintptr_t)page / (uintptr_t)sysconf(_SC_PAGESIZE) * sizeof *entryp);
    ssize_t got;

    if (fd < 0)
        return errno;
    got = pread(fd, entryp, sizeof *entryp, at);
    return got < 0 ? errno : got == sizeof *entryp ? 0 : EIO;
}

static int page_frame(const char *page)
{
    uint64_t entry;
    int r = read_pagemap(page, &entry);

    return r ? r : entry & PAGEMAP_FRAME ? 0 : EPERM;
}

static int soft_dirty(const char *page)
{
    uint64_t entry;
    int r = read_pagemap(page, &entry);

    return r ? r : entry & PAGEMAP_SOFT_DIRTY ? 0 : EOPNOTSUPP;
}

/* Reading would already clear accessed bits of the first pages: opening must do. */
static int idle_bitmap(void)
{
    CLEANUP(fd_closep) int fd = open("/sys/kernel/mm/page_idle/bitmap", O_RDWR | O_CLOEXEC);

    return failed(fd);
}

static int pidfd(void)
{
    CLEANUP(fd_closep) int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

    return failed(fd);
}

static int try_on_page(enum probe_call call, char *page)
{
    switch (call) {
    case PROBE_READ_MEMORY:
        return read_memory(page);
    case PROBE_QUERY_PAGES:
        return query_pages(page);
    case PROBE_MOVE_PAGES:
        return move_own_page(page);
    case PROBE_SCAN_PAGES:
        return scan_pages(page);
    case PROBE_PAGE_FRAME:
        return page_frame(page);
    case PROBE_SOFT_DIRTY:
        return soft_dirty(page);
    default:
        return ENOSYS;
    }
}

static int call_on_page(enum probe_call call)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *page;
    int r;

    page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return errno;
    *(volatile char *)page = 1;
    r = try_on_page(call, page);
    munmap(page, bytes);
    return r;
}

static int live_call(void *self, enum probe_call call)
{
    (void)self;
    switch (call) {
    case PROBE_PERF_THREAD:
        return perf_thread();
    case PROBE_PERF_CPU:
        return perf_cpu();
    case PROBE_PERF_CGROUP:
        return perf_cgroup();
    case PROBE_NUMA_MAPS:
        return numa_maps();
    case PROBE_IDLE_BITMAP:
        return idle_bitmap();
    case PROBE_PIDFD:
        return pidfd();
    default:
        return call_on_page(call);
    }
}

struct probe probe_live(void)
{
    static const struct probe_ops ops = {.call = live_call};

    return (struct probe){.ops = &ops, .self = NULL};
}

static void push_nothing(void *userdata, const struct access *accesses, size_t n)
{
    (void)userdata, (void)accesses, (void)n;
}

static bool want_nobody(void *userdata, pid_t pid)
{
    (void)userdata, (void)pid;
    return false;
}

int probe_source(const struct source_kind *kind, const struct topology *topology,
                 const struct host *host, unsigned rate_hz, struct source_reason *reason)
{
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    struct source_options options = {
        .rate_hz = rate_hz,
        .cpu_skip = topology->cpu_isolated,
        .n_cpu_ids = topology->n_cpu_ids,
        .epoll_fd = -1,
        .topology = topology,
        .host = host,
        .sink = {.push = push_nothing},
        .filter = {.wants = want_nobody},
    };
    struct source source = {0};
    int r = worker_pool_new_inline(&pool);

    if (r < 0)
        return r;
    options.pool = pool;
    r = kind->make(&source, &options, reason);
    if (!r)
        source_deinit(&source);
    return r;
}
