#pragma once
/*
 * The host: the calls that can block on another process's memory or its mmap_lock. They run in
 * workers only, so every function must be callable from several threads at once. Tests put a model
 * machine behind it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "util/nsec.h"
#include "util/page_scan.h"

enum {
    HOST_DECLINED =
        3, /* write_file: the check said no; other conditions are those of procfs_read */
};

struct host_ops {
    /* Whole file below the root, at most `limit` bytes. Return: as procfs_read. */
    int (*read_file)(void *self, const char *path, size_t limit, char **bufp, size_t *sizep);
    /*
     * Whole /proc/PID/maps through *fdp, which is opened at the first call (-1) and kept: once the
     * address space has gone (exit, exec) it reads as 0 bytes, which is PROCFS_GONE here.
     */
    int (*read_maps)(void *self, pid_t pid, int *fdp, char **bufp, size_t *sizep);
    /*
     * Names in a folder below the root, in its order and without "." and "..", until visit returns
     * false or `limit` names were seen. NULL: not supported. Return: as procfs_read.
     */
    int (*list_folder)(void *self, const char *path, size_t limit,
                       bool (*visit)(void *userdata, const char *name), void *userdata);
    /*
     * What a symbolic link says, with a NUL behind it, cut to size - 1 bytes; size > 0. NULL: not
     * supported. Return: as procfs_read.
     */
    int (*read_link)(void *self, const char *path, char *text, size_t size);
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
    /*
     * Opens a file for writing, asks check(userdata), and writes the text in one piece if that says
     * yes. A file of /proc/PID that is open stays with the process that it was opened for: what
     * check finds out in between holds for the process that is written to, even if the pid is used
     * again. Return: as procfs_read, or HOST_DECLINED.
     */
    int (*write_file)(void *self, const char *path, const char *text, bool (*check)(void *userdata),
                      void *userdata);
    /* CPU time of the calling thread, for costs. NULL: that of the system's clock. */
    uint64_t (*cpu_nsec)(void *self);
    /*
     * pread(2) and pwrite(2) of a file in which positions have a meaning (pagemap, kpageflags, the
     * idle-page bitmap). *fdp is opened at the first call (-1), for pwrite_file for writing only,
     * and stays open; the caller closes it. NULL: not supported (call through the functions below).
     * Return: bytes, or a negative errno.
     */
    ssize_t (*pread_file)(void *self, const char *path, int *fdp, uint64_t offset, void *buf,
                          size_t size);
    ssize_t (*pwrite_file)(void *self, const char *path, int *fdp, uint64_t offset, const void *buf,
                           size_t size);
    /*
     * PAGEMAP_SCAN of a process (util/page_scan.h). *fdp: its pagemap, opened at the first call
     * (-1); it stays open and with that address space, and the caller closes it. NULL: not
     * supported (call through the function below). Return: as page_scan_fd; opening it gives
     * -EACCES or -EPERM for a process that may not be read.
     */
    long (*scan_pages)(void *self, pid_t pid, int *fdp, struct page_scan *scan);
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

/* As the functions of host_ops; -EOPNOTSUPP where the host has none. */
ssize_t host_pread(const struct host *host, const char *path, int *fdp, uint64_t offset, void *buf,
                   size_t size);
ssize_t host_pwrite(const struct host *host, const char *path, int *fdp, uint64_t offset,
                    const void *buf, size_t size);
long host_scan_pages(const struct host *host, pid_t pid, int *fdp, struct page_scan *scan);

/* The live machine. */
struct host host_live(void);
/* Files below `root` (which must outlive it); memory, pages and writing answer -EOPNOTSUPP. */
struct host host_root(const char *root);
