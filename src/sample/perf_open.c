/*
 * Opening the events. Each refusal of the kernel is told with what an administrator can change; it
 * is not an error of ours, numabd then runs without this source.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sample/perf_ring.h"
#include "util/error.h"

#define DATA_PAGES 16

static unsigned long long limit_soft(int resource)
{
    struct rlimit limit = {0};

    (void)getrlimit(resource, &limit);
    return (unsigned long long)limit.rlim_cur;
}

/* The value of kernel.perf_event_paranoid as text. */
static void paranoid_read(const struct host *host, char *text, size_t text_size)
{
    CLEANUP(freep) char *buf = NULL;
    size_t size = 0;

    snprintf(text, text_size, "unknown");
    if (host->ops->read_file(host->self, "proc/sys/kernel/perf_event_paranoid", 16, &buf, &size))
        return;
    snprintf(text, text_size, "%.*s", (int)strcspn(buf, "\n"), buf);
}

static int refuse_permission(int error, const struct host *host, struct source_reason *reason)
{
    char paranoid[16];

    paranoid_read(host, paranoid, sizeof paranoid);
    snprintf(reason->text, sizeof reason->text,
             "perf_event_open: %s: kernel.perf_event_paranoid is %s: give CAP_PERFMON (up to 2) or "
             "CAP_SYS_ADMIN (3, Debian's default), or set it to 0; or a seccomp filter forbids it",
             strerrordesc_np(error), paranoid);
    return SOURCE_UNAVAILABLE;
}

static int refuse_open(int error, const struct host *host, struct source_reason *reason)
{
    const char *fix = "no fix is known";

    switch (error) {
    case ENOMEM:
        return -ENOMEM;
    case EACCES:
    case EPERM:
        return refuse_permission(error, host, reason);
    case EMFILE:
        snprintf(reason->text, sizeof reason->text,
                 "perf_event_open: %s: one file per CPU is needed, RLIMIT_NOFILE is %llu: raise "
                 "LimitNOFILE=",
                 strerrordesc_np(error), limit_soft(RLIMIT_NOFILE));
        return SOURCE_UNAVAILABLE;
    case ENFILE:
        fix = "raise fs.file-max";
        break;
    case ENOENT:
    case ENOSYS:
    case EOPNOTSUPP:
        fix = "this kernel has no perf software events: use one with CONFIG_PERF_EVENTS";
        break;
    case EINVAL:
    case E2BIG:
        fix = "this kernel knows no user registers or no clock choice: use Linux 4.1 or later";
        break;
    }
    snprintf(reason->text, sizeof reason->text, "perf_event_open: %s: %s", strerrordesc_np(error),
             fix);
    return SOURCE_UNAVAILABLE;
}

static int refuse_map(int error, struct source_reason *reason)
{
    if (error == ENOMEM)
        return -ENOMEM;
    snprintf(reason->text, sizeof reason->text,
             "mmap of a perf ring: %s: RLIMIT_MEMLOCK is %llu bytes: raise LimitMEMLOCK= or "
             "kernel.perf_event_mlock_kb, or give CAP_IPC_LOCK",
             strerrordesc_np(error), limit_soft(RLIMIT_MEMLOCK));
    return SOURCE_UNAVAILABLE;
}

static int ring_map(struct perf_ring *ring, int fd, size_t page_bytes, struct source_reason *reason)
{
    size_t bytes = (DATA_PAGES + 1) * page_bytes;
    struct perf_event_mmap_page *page;

    page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return refuse_map(errno, reason);
    *ring = (struct perf_ring){
        .ring =
            {
                .data = (const uint8_t *)page + page_bytes,
                .size = DATA_PAGES * page_bytes,
                .head = (const uint64_t *)&page->data_head,
                .tail = (uint64_t *)&page->data_tail,
            },
        .map = page,
        .map_bytes = bytes,
    };
    return 0;
}

static int rings_add(struct perf_rings *rings, struct perf_event_attr *attr, int cpu,
                     const struct source_options *options, struct source_reason *reason)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    CLEANUP(fd_closep) int fd = -1;
    int r;

    fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        /* ENODEV: offline. EINVAL after a success cannot be the attr: the id is not possible. */
        if (errno == ENODEV || (errno == EINVAL && rings->n > 0))
            return 0;
        return refuse_open(errno, options->host, reason);
    }
    r = ring_map(&rings->items[rings->n], fd, page_bytes, reason);
    if (r)
        return r;
    rings->fds[rings->n++] = fd;
    fd = -1;
    return 0;
}

static int rings_open(struct perf_rings *rings, struct perf_event_attr *attr,
                      const struct source_options *options, struct source_reason *reason)
{
    size_t n_cpu_ids = options->n_cpu_ids > 0 ? (size_t)options->n_cpu_ids : 0;
    int r;

    rings->items = calloc(n_cpu_ids + 1, sizeof *rings->items);
    rings->fds = calloc(n_cpu_ids + 1, sizeof *rings->fds);
    if (!rings->items || !rings->fds)
        return -ENOMEM;
    for (int cpu = 0; cpu < options->n_cpu_ids; cpu++) {
        if (options->cpu_skip && options->cpu_skip[cpu])
            continue;
        r = rings_add(rings, attr, cpu, options, reason);
        if (r)
            return r;
    }
    if (rings->n > 0)
        return 0;
    snprintf(reason->text, sizeof reason->text,
             "no CPU is left to sample: each is offline, isolated or nohz_full");
    return SOURCE_UNAVAILABLE;
}

int perf_rings_init(struct perf_rings *rings, const struct perf_event_attr *attr,
                    const struct source_options *options, struct source_reason *reason)
{
    struct perf_rings opened = PERF_RINGS_NULL;
    struct perf_event_attr wanted = *attr;
    int r;

    wanted.watermark = 1;
    wanted.wakeup_watermark = (uint32_t)(DATA_PAGES * sysconf(_SC_PAGESIZE) / 2);
    r = rings_open(&opened, &wanted, options, reason);
    if (r) {
        perf_rings_deinit(&opened);
        return r;
    }
    *rings = opened;
    return 0;
}

int perf_rings_set_period(const struct perf_rings *rings, uint64_t period_nsec)
{
    int r = 0;

    for (size_t i = 0; i < rings->n; i++)
        if (ioctl(rings->fds[i], PERF_EVENT_IOC_PERIOD, &period_nsec) < 0)
            r = error_errno();
    return r;
}

void perf_rings_deinit(struct perf_rings *rings)
{
    for (size_t i = 0; i < rings->n; i++) {
        if (rings->items[i].map)
            munmap(rings->items[i].map, rings->items[i].map_bytes);
        fd_close(rings->fds[i]);
    }
    free(rings->items);
    free(rings->fds);
    *rings = PERF_RINGS_NULL;
}
