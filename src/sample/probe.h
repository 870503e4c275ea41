#pragma once
/*
 * Probe: tries what numabd needs of the kernel, on this process and its own memory only.
 */
#include "numabd/sample.h"
#include "sample/sources.h"

enum probe_call {
    PROBE_PERF_THREAD, /* perf_event_open: cpu-clock of this thread */
    PROBE_PERF_CPU,    /* ... of all that runs on a CPU */
    PROBE_PERF_CGROUP, /* ... of this process's cgroup on a CPU */
    PROBE_READ_MEMORY, /* process_vm_readv of an own page */
    PROBE_QUERY_PAGES, /* move_pages that only asks where an own page lies */
    PROBE_MOVE_PAGES,  /* move_pages of an own page to where it lies */
    PROBE_SCAN_PAGES,  /* PAGEMAP_SCAN of /proc/self/pagemap finds an own page */
    PROBE_NUMA_MAPS,   /* /proc/self/numa_maps */
    PROBE_PAGE_FRAME,  /* /proc/self/pagemap tells page frame numbers; EPERM: it hides them */
    PROBE_SOFT_DIRTY,  /* ... and a new page is soft-dirty; EOPNOTSUPP: it is not */
    PROBE_IDLE_BITMAP, /* /sys/kernel/mm/page_idle/bitmap can be opened for writing */
    PROBE_PIDFD,       /* pidfd_open of this process */
    PROBE_CALL_COUNT
};

struct probe_ops {
    /* Return: 0, or the errno of what failed, positive. */
    int (*call)(void *self, enum probe_call call);
};

struct probe {
    const struct probe_ops *ops;
    void *self;
};

/* The running kernel. */
struct probe probe_live(void);

/*
 * Makes a source that samples nobody, and frees it. Return: 0, SOURCE_UNAVAILABLE with the reason,
 * or a negative errno.
 */
int probe_source(const struct source_kind *kind, const struct topology *topology,
                 const struct host *host, unsigned rate_hz, struct source_reason *reason);
