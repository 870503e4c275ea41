#pragma once
/*
 * The host: the calls that can block on another process's memory or its mmap_lock. They run in
 * workers only, so every function must be callable from several threads at once. Tests put a model
 * machine behind it.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "util/nsec.h"

struct host_ops {
    /* Whole file below the root, at most `limit` bytes. Return: as procfs_read. */
    int (*read_file)(void *self, const char *path, size_t limit, char **bufp, size_t *sizep);
    /*
     * Whole /proc/PID/maps through *fdp, which is opened at the first call (-1) and kept: once the
     * address space has gone (exit, exec) it reads as 0 bytes, which is PROCFS_GONE here.
     */
    int (*read_maps)(void *self, pid_t pid, int *fdp, char **bufp, size_t *sizep);
    /*
     * process_vm_readv of n remote pieces, each into its local piece.
     * Return: bytes read from the front (a short count stops at an unreadable piece), or negative.
     */
    ssize_t (*read_memory)(void *self, pid_t pid, const struct iovec *local,
                           const struct iovec *remote, size_t n);
    /*
     * move_pages(2). nodes == NULL only asks. Statuses that the kernel does not write keep the
     * caller's values. Return: as the call (0, positive: pages not moved), or a negative errno.
     */
    long (*move_pages)(void *self, pid_t pid, size_t n, void *const *pages, const int *nodes,
                       int *status, int flags);
    /* CPU time of the calling thread, for costs. NULL: that of the system's clock. */
    uint64_t (*cpu_nsec)(void *self);
};

struct host {
    const struct host_ops *ops;
    void *self;
    size_t page_bytes; /* base page size */
};

static inline uint64_t host_cpu_nsec(const struct host *host)
{
    return host->ops->cpu_nsec ? host->ops->cpu_nsec(host->self)
                               : nsec_of_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* The live machine. */
struct host host_live(void);
/* Files below `root` (which must outlive it); memory and pages answer -EOPNOTSUPP. */
struct host host_root(const char *root);
