/*
 * The live host, and one that only has files.
 */
#include "numabd/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <string.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/error.h"
#include "util/procfs.h"

/* 65,530 VMAs (the kernel's default limit) with the longest names fit; more is not worth reading.
 */
#define MAPS_TEXT_MAX ((size_t)256 << 20)

static int live_read_file(void *self, const char *path, size_t limit, char **bufp, size_t *sizep)
{
    return procfs_read_head(self, path, limit, bufp, sizep);
}

static int live_read_maps(void *self, pid_t pid, int *fdp, char **bufp, size_t *sizep)
{
    int r;

    if (*fdp < 0) {
        CLEANUP(freep) char *path = NULL;

        if (asprintf(&path, "%s/proc/%d/maps", (const char *)self, pid) < 0)
            return path = NULL, -ENOMEM;
        *fdp = open(path, O_RDONLY | O_CLOEXEC);
        if (*fdp < 0)
            return procfs_condition(errno);
    }
    r = procfs_read_fd(*fdp, MAPS_TEXT_MAX, bufp, sizep);
    if (!r && !*sizep) {
        free(TAKE(*bufp));
        return PROCFS_GONE;
    }
    return r;
}

static bool is_name(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int live_list_folder(void *self, const char *path, size_t limit,
                            bool (*visit)(void *userdata, const char *name), void *userdata)
{
    CLEANUP(freep) char *full = NULL;
    CLEANUP(closedirp) DIR *folder = NULL;
    const struct dirent *entry;

    if (asprintf(&full, "%s/%s", (const char *)self, path) < 0)
        return full = NULL, -ENOMEM;
    folder = opendir(full);
    if (!folder)
        return procfs_condition(errno);
    while (limit > 0 && (errno = 0, entry = readdir(folder))) {
        if (!is_name(entry->d_name))
            continue;
        if (!visit(userdata, entry->d_name))
            return 0;
        limit--;
    }
    return limit > 0 && errno ? procfs_condition(errno) : 0;
}

static int live_read_link(void *self, const char *path, char *text, size_t size)
{
    CLEANUP(freep) char *full = NULL;
    ssize_t got;

    if (asprintf(&full, "%s/%s", (const char *)self, path) < 0)
        return full = NULL, -ENOMEM;
    got = readlink(full, text, size - 1);
    if (got < 0)
        return procfs_condition(errno);
    text[got] = '\0';
    return 0;
}

static ssize_t live_read_memory(void *self, pid_t pid, const struct iovec *local,
                                const struct iovec *remote, size_t n)
{
    ssize_t got;

    (void)self;
    got = process_vm_readv(pid, local, n, remote, n, 0);
    return got < 0 ? error_errno() : got;
}

static long live_move_pages(void *self, pid_t pid, size_t n, void *const *pages, const int *nodes,
                            int *status, int flags)
{
    long r;

    (void)self;
    r = move_pages(pid, n, (void **)pages, nodes, status, flags);
    return r < 0 ? error_errno() : r;
}

static int live_write_file(void *self, const char *path, const char *text,
                           bool (*check)(void *userdata), void *userdata)
{
    CLEANUP(freep) char *full = NULL;
    CLEANUP(fd_closep) int fd = -1;
    ssize_t written;

    if (asprintf(&full, "%s/%s", (const char *)self, path) < 0)
        return full = NULL, -ENOMEM;
    fd = open(full, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return procfs_condition(errno);
    if (!check(userdata))
        return HOST_DECLINED;
    written = write(fd, text, strlen(text));
    return written < 0 ? procfs_condition(errno) : 0;
}

static int root_write_file(void *self, const char *path, const char *text,
                           bool (*check)(void *userdata), void *userdata)
{
    (void)self, (void)path, (void)text, (void)check, (void)userdata;
    return -EOPNOTSUPP;
}

/* Opens ROOT/PATH unless *fdp is open. Return: 0 or a negative errno. */
static int live_open(const char *root, const char *path, int flags, int *fdp)
{
    CLEANUP(freep) char *full = NULL;

    if (*fdp >= 0)
        return 0;
    if (asprintf(&full, "%s/%s", root, path) < 0)
        return full = NULL, -ENOMEM;
    *fdp = open(full, flags | O_CLOEXEC);
    return *fdp < 0 ? error_errno() : 0;
}

static ssize_t live_pread_file(void *self, const char *path, int *fdp, uint64_t offset, void *buf,
                               size_t size)
{
    ssize_t got;
    int r;

    r = live_open(self, path, O_RDONLY, fdp);
    if (r < 0)
        return r;
    got = pread(*fdp, buf, size, (off_t)offset);
    return got < 0 ? error_errno() : got;
}

static ssize_t live_pwrite_file(void *self, const char *path, int *fdp, uint64_t offset,
                                const void *buf, size_t size)
{
    ssize_t done;
    int r;

    r = live_open(self, path, O_WRONLY, fdp);
    if (r < 0)
        return r;
    done = pwrite(*fdp, buf, size, (off_t)offset);
    return done < 0 ? error_errno() : done;
}

static long live_scan_pages(void *self, pid_t pid, int *fdp, struct page_scan *scan)
{
    char path[32];
    int r;

    snprintf(path, sizeof path, "proc/%d/pagemap", pid);
    r = live_open(self, path, O_RDONLY, fdp);
    return r < 0 ? r : page_scan_fd(*fdp, scan);
}

ssize_t host_pread(const struct host *host, const char *path, int *fdp, uint64_t offset, void *buf,
                   size_t size)
{
    if (!host->ops->pread_file)
        return -EOPNOTSUPP;
    return host->ops->pread_file(host->self, path, fdp, offset, buf, size);
}

ssize_t host_pwrite(const struct host *host, const char *path, int *fdp, uint64_t offset,
                    const void *buf, size_t size)
{
    if (!host->ops->pwrite_file)
        return -EOPNOTSUPP;
    return host->ops->pwrite_file(host->self, path, fdp, offset, buf, size);
}

long host_scan_pages(const struct host *host, pid_t pid, int *fdp, struct page_scan *scan)
{
    if (!host->ops->scan_pages)
        return -EOPNOTSUPP;
    return host->ops->scan_pages(host->self, pid, fdp, scan);
}

static ssize_t root_read_memory(void *self, pid_t pid, const struct iovec *local,
                                const struct iovec *remote, size_t n)
{
    (void)self, (void)pid, (void)local, (void)remote, (void)n;
    return -EOPNOTSUPP;
}

static long root_move_pages(void *self, pid_t pid, size_t n, void *const *pages, const int *nodes,
                            int *status, int flags)
{
    (void)self, (void)pid, (void)n, (void)pages, (void)nodes, (void)status, (void)flags;
    return -EOPNOTSUPP;
}

struct host host_live(void)
{
    static const struct host_ops ops = {
        .read_file = live_read_file,
        .read_maps = live_read_maps,
        .list_folder = live_list_folder,
        .read_link = live_read_link,
        .read_memory = live_read_memory,
        .move_pages = live_move_pages,
        .write_file = live_write_file,
        .pread_file = live_pread_file,
        .pwrite_file = live_pwrite_file,
        .scan_pages = live_scan_pages,
    };

    return (struct host){
        .ops = &ops, .self = (void *)"", .page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
}

struct host host_root(const char *root)
{
    static const struct host_ops ops = {
        .read_file = live_read_file,
        .read_maps = live_read_maps,
        .list_folder = live_list_folder,
        .read_link = live_read_link,
        .read_memory = root_read_memory,
        .move_pages = root_move_pages,
        .write_file = root_write_file,
        .pread_file = live_pread_file, /* and no pwrite_file: a fixture is not written to */
    };

    return (struct host){
        .ops = &ops, .self = (void *)root, .page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
}
