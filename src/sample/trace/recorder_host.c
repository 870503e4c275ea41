/*
 * The host with notes. Its functions run in workers.
 *
 * What sources read and write (code bytes, pagemap, clear_refs, the idle bitmap) is not noted:
 * their accesses are. Page tables are not looked at (scan_pages) while a trace is written: the
 * replay has no such answers and must ask for the same pages.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample/trace/recorder_state.h"

/* numa_maps of a process or a thread */
static bool is_noted(const char *path)
{
    const char *name = strrchr(path, '/');

    return !strncmp(path, "proc/", 5) && name && !strcmp(name, "/numa_maps") &&
           strlen(path) < TRACE_PATH_MAX;
}

/* Locked. Return: the file's text is the one that was written last. */
static bool is_same_text(struct recorder *recorder, const char *path, const char *text, size_t size)
{
    uint64_t key = recorder_hash(RECORDER_HASH_START, path, strlen(path));
    uint64_t hash = recorder_hash(RECORDER_HASH_START, text, size);
    struct recorded_file *file;
    bool same;

    HASH_FIND(hh, recorder->files, &key, sizeof key, file);
    if (!file) {
        file = calloc(1, sizeof *file);
        if (!file)
            return false;
        file->key = key;
        HASH_ADD(hh, recorder->files, key, sizeof file->key, file);
        same = false;
    } else {
        same = file->hash == hash && file->size == size;
    }
    file->hash = hash;
    file->size = size;
    file->round = recorder->n_rounds;
    return same;
}

static void note_file(struct recorder *recorder, const char *path, int r, uint64_t cpu_nsec,
                      const char *text, size_t size)
{
    if (!recorder_begin(recorder))
        return;
    if (!r && is_same_text(recorder, path, text, size))
        trace_write_same(&recorder->writer, path, cpu_nsec);
    else
        trace_write_file(&recorder->writer, path, r, cpu_nsec, text, size);
    recorder_end(recorder);
}

static int read_file(void *self, const char *path, size_t limit, char **bufp, size_t *sizep)
{
    struct recorder *recorder = self;
    const struct host *host = &recorder->host;
    uint64_t cpu = host_cpu_nsec(host);
    int r;

    if (!is_noted(path))
        return host->ops->read_file(host->self, path, limit, bufp, sizep);
    r = host->ops->read_file(host->self, path, limit, bufp, sizep);
    note_file(recorder, path, r, host_cpu_nsec(host) - cpu, r ? "" : *bufp, r ? 0 : *sizep);
    return r;
}

static int read_maps(void *self, pid_t pid, int *fdp, char **bufp, size_t *sizep)
{
    struct recorder *recorder = self;
    const struct host *host = &recorder->host;
    uint64_t cpu = host_cpu_nsec(host);
    char path[TRACE_PATH_MAX];
    int r;

    snprintf(path, sizeof path, "proc/%d/maps", pid);
    r = host->ops->read_maps(host->self, pid, fdp, bufp, sizep);
    note_file(recorder, path, r, host_cpu_nsec(host) - cpu, r ? "" : *bufp, r ? 0 : *sizep);
    return r;
}

static int list_folder(void *self, const char *path, size_t limit,
                       bool (*visit)(void *userdata, const char *name), void *userdata)
{
    const struct host *host = &((struct recorder *)self)->host;

    return host->ops->list_folder(host->self, path, limit, visit, userdata);
}

static int read_link(void *self, const char *path, char *text, size_t size)
{
    const struct host *host = &((struct recorder *)self)->host;

    return host->ops->read_link(host->self, path, text, size);
}

static ssize_t read_memory(void *self, pid_t pid, const struct iovec *local,
                           const struct iovec *remote, size_t n)
{
    const struct host *host = &((struct recorder *)self)->host;

    return host->ops->read_memory(host->self, pid, local, remote, n);
}

static int write_file(void *self, const char *path, const char *text, bool (*check)(void *userdata),
                      void *userdata)
{
    const struct host *host = &((struct recorder *)self)->host;

    return host->ops->write_file(host->self, path, text, check, userdata);
}

static ssize_t pread_file(void *self, const char *path, int *fdp, uint64_t offset, void *buf,
                          size_t size)
{
    const struct host *host = &((struct recorder *)self)->host;

    return host->ops->pread_file(host->self, path, fdp, offset, buf, size);
}

static ssize_t pwrite_file(void *self, const char *path, int *fdp, uint64_t offset, const void *buf,
                           size_t size)
{
    const struct host *host = &((struct recorder *)self)->host;

    return host->ops->pwrite_file(host->self, path, fdp, offset, buf, size);
}

static void note_call(struct recorder *recorder, const struct trace_call *call)
{
    if (!recorder_begin(recorder))
        return;
    trace_write_call(&recorder->writer, call);
    recorder_end(recorder);
}

/* Statuses that are written as the kernel leaves them: a value of the caller's could be a node. */
static long ask_unwritten(const struct host *host, pid_t pid, size_t n, void *const *pages,
                          const int *nodes, int *status, int *written, int flags)
{
    long r;

    for (size_t i = 0; i < n; i++)
        written[i] = TRACE_UNWRITTEN;
    r = host->ops->move_pages(host->self, pid, n, pages, nodes, written, flags);
    for (size_t i = 0; i < n; i++)
        if (written[i] != TRACE_UNWRITTEN)
            status[i] = written[i];
    return r;
}

static long move_pages(void *self, pid_t pid, size_t n, void *const *pages, const int *nodes,
                       int *status, int flags)
{
    struct recorder *recorder = self;
    const struct host *host = &recorder->host;
    CLEANUP(freep) int *written = calloc(n + 1, sizeof *written);
    uint64_t cpu = host_cpu_nsec(host);
    long r;

    if (!written)
        return -ENOMEM;
    r = ask_unwritten(host, pid, n, pages, nodes, status, written, flags);
    note_call(recorder, &(struct trace_call){.pid = pid,
                                             .result = (int)r,
                                             .cpu_nsec = host_cpu_nsec(host) - cpu,
                                             .page_bytes = host->page_bytes,
                                             .n = n,
                                             .pages = pages,
                                             .nodes = nodes,
                                             .status = written});
    return r;
}

static uint64_t cpu_nsec(void *self)
{
    const struct recorder *recorder = self;

    return host_cpu_nsec(&recorder->host);
}

/* What a host need not have stays as it is there, but for scan_pages. */
struct host recorder_host(struct recorder *recorder, const struct host *host)
{
    const struct host_ops *ops = host->ops;

    recorder->host = *host;
    recorder->host_ops = (struct host_ops){
        .read_file = read_file,
        .read_maps = read_maps,
        .list_folder = ops->list_folder ? list_folder : NULL,
        .read_link = ops->read_link ? read_link : NULL,
        .read_memory = read_memory,
        .move_pages = move_pages,
        .write_file = ops->write_file ? write_file : NULL,
        .cpu_nsec = cpu_nsec,
        .pread_file = ops->pread_file ? pread_file : NULL,
        .pwrite_file = ops->pwrite_file ? pwrite_file : NULL,
    };
    return (struct host){
        .ops = &recorder->host_ops, .self = recorder, .page_bytes = host->page_bytes};
}
