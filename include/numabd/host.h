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
};

struct host {
    const struct host_ops *ops;
    void *self;
    size_t page_bytes; /* base page size */
};

/* As the functions of host_ops; -EOPNOTSUPP where the host has none. */
ssize_t host_pread(const struct host *host, const char *path, int *fdp, uint64_t offset, void *buf,
                   size_t size);
ssize_t host_pwrite(const struct host *host, const char *path, int *fdp, uint64_t offset,
                    const void *buf, size_t size);

/* The live machine. */
struct host host_live(void);
/* Files below `root` (which must outlive it); memory, pages and writes answer -EOPNOTSUPP. */
struct host host_root(const char *root);
