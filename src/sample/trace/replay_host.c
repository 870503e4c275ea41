#include "sample/trace/replay_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numabd/host.h"
#include "sample/trace/trace_read.h"
#include "util/cleanup.h"
#include "util/hash.h"
#include "util/procfs.h"

struct replay_file {
    char path[TRACE_PATH_MAX]; /* key */
    int result;
    bool gone_first; /* it read as gone before, which nobody has been told */
    char *text;
    size_t size;
    uint64_t cpu_nsec;
    UT_hash_handle hh;
};

struct replay_answers {
    pid_t pid;     /* key */
    int errors[2]; /* of the last query and move: negative errnos, or 0 */
    UT_hash_handle hh;
};

void replay_host_deinit(struct replay_host *host)
{
    struct replay_file *file, *next_file;
    struct replay_answers *answers, *next_answers;

    HASH_ITER (hh, host->files, file, next_file) {
        HASH_DEL(host->files, file);
        free(file->text);
        free(file);
    }
    HASH_ITER (hh, host->answers, answers, next_answers) {
        HASH_DEL(host->answers, answers);
        free(answers);
    }
    replay_pages_deinit(&host->pages);
}

static struct replay_answers *find_answers(const struct replay_host *host, pid_t pid)
{
    struct replay_answers *answers;

    HASH_FIND_INT(host->answers, &pid, answers);
    return answers;
}

void replay_host_forget(struct replay_host *host, pid_t pid)
{
    struct replay_answers *answers = find_answers(host, pid);

    if (!answers)
        return;
    replay_pages_forget(&host->pages, pid);
    HASH_DEL(host->answers, answers);
    free(answers);
}

static struct replay_file *find_file(const struct replay_host *host, const char *path)
{
    struct replay_file *file;

    HASH_FIND_STR(host->files, path, file);
    return file;
}

static struct replay_file *add_file(struct replay_host *host, const char *path)
{
    struct replay_file *file = calloc(1, sizeof *file);

    if (!file)
        return NULL;
    snprintf(file->path, sizeof file->path, "%s", path);
    HASH_ADD_STR(host->files, path, file);
    return file;
}

/* A file of an older program is not that of the next one, which may have come in the same round. */
static int take_file(struct replay_host *host, const struct trace_record *record)
{
    struct replay_file *file = find_file(host, record->file.path);
    char *text = NULL;

    if (record->file.same && (!file || !file->text))
        return 0;
    if (!file && !(file = add_file(host, record->file.path)))
        return -ENOMEM;
    if (!record->file.result && !record->file.same) {
        if (trace_text_decode(record, &text) < 0)
            return -ENOMEM;
        free(file->text);
        file->text = text;
        file->size = record->file.size;
    }
    file->gone_first |= record->file.result == PROCFS_GONE;
    file->result = record->file.result;
    file->cpu_nsec = record->file.cpu_nsec;
    return 0;
}

static struct replay_answers *add_answers(struct replay_host *host, pid_t pid)
{
    struct replay_answers *answers = calloc(1, sizeof *answers);

    if (!answers)
        return NULL;
    answers->pid = pid;
    HASH_ADD_INT(host->answers, pid, answers);
    return answers;
}

static void take_run(struct replay_host *host, const struct trace_record *record,
                     const struct trace_run *run)
{
    uint64_t step = run->stride_pages * host->pages.page_bytes, addr = run->addr;

    for (uint64_t i = 0; i < run->n; i++, addr += step) {
        if (record->kind == TRACE_MOVE)
            replay_pages_note_move(&host->pages, record->pid, addr, run->node, run->status);
        else
            replay_pages_observe(&host->pages, record->pid, addr, run->status);
    }
}

static int take_call(struct replay_host *host, const struct trace_record *record)
{
    struct replay_answers *answers = find_answers(host, record->pid);
    int moves = record->kind == TRACE_MOVE, result = record->pages.result;

    if (!answers && !(answers = add_answers(host, record->pid)))
        return -ENOMEM;
    answers->errors[moves] = result < 0 ? result : 0;
    host->pages_nsec[moves] += record->pages.cpu_nsec;
    for (size_t i = 0; i < record->pages.n_runs; i++) {
        host->n_pages[moves] += record->pages.runs[i].n;
        take_run(host, record, &record->pages.runs[i]);
    }
    return 0;
}

int replay_host_take(struct replay_host *host, const struct trace_record *record)
{
    return record->kind == TRACE_FILE ? take_file(host, record) : take_call(host, record);
}

static int read_path(struct replay_host *host, const char *path, size_t limit, char **bufp,
                     size_t *sizep)
{
    struct replay_file *file = find_file(host, path);
    size_t size;

    if (!file)
        return -EAGAIN;
    host->cpu_nsec += file->cpu_nsec;
    if (file->gone_first || file->result) {
        int result = file->gone_first ? PROCFS_GONE : file->result;

        file->gone_first = false;
        return result;
    }
    if (!file->text)
        return -EAGAIN;
    size = file->size < limit ? file->size : limit;
    *bufp = malloc(size + 1);
    if (!*bufp)
        return -ENOMEM;
    memcpy(*bufp, file->text, size);
    (*bufp)[size] = '\0';
    *sizep = size;
    return 0;
}

static int read_file(void *self, const char *path, size_t limit, char **bufp, size_t *sizep)
{
    return read_path(self, path, limit, bufp, sizep);
}

static int read_maps(void *self, pid_t pid, int *fdp, char **bufp, size_t *sizep)
{
    char path[TRACE_PATH_MAX];

    (void)fdp; /* stays -1: there is no file */
    snprintf(path, sizeof path, "proc/%d/maps", pid);
    return read_path(self, path, SIZE_MAX / 4, bufp, sizep);
}

static ssize_t read_memory(void *self, pid_t pid, const struct iovec *local,
                           const struct iovec *remote, size_t n)
{
    (void)self, (void)pid, (void)local, (void)remote, (void)n;
    return -EOPNOTSUPP;
}

/* CPU time of n pages, as the trace's calls took on average. */
static uint64_t cost_nsec(const struct replay_host *host, int moves, size_t n)
{
    if (!host->n_pages[moves])
        return 0;
    return (uint64_t)((double)host->pages_nsec[moves] / (double)host->n_pages[moves] * (double)n);
}

static long move_pages(void *self, pid_t pid, size_t n, void *const *pages, const int *nodes,
                       int *status, int flags)
{
    struct replay_host *host = self;
    const struct replay_answers *answers = find_answers(host, pid);
    int moves = nodes != NULL;

    (void)flags;
    host->cpu_nsec += cost_nsec(host, moves, n);
    if (!answers)
        return -EAGAIN;
    if (answers->errors[moves])
        return answers->errors[moves];
    for (size_t i = 0; i < n; i++) {
        uint64_t addr = (uintptr_t)pages[i];

        status[i] = moves ? replay_pages_move(&host->pages, pid, addr, nodes[i])
                          : replay_pages_ask(&host->pages, pid, addr);
    }
    return 0;
}

static uint64_t cpu_nsec(void *self)
{
    const struct replay_host *host = self;

    return host->cpu_nsec;
}

struct host replay_host_ops(struct replay_host *host)
{
    static const struct host_ops ops = {
        .read_file = read_file,
        .read_maps = read_maps,
        .read_memory = read_memory,
        .move_pages = move_pages,
        .cpu_nsec = cpu_nsec,
    };

    return (struct host){.ops = &ops, .self = host, .page_bytes = host->pages.page_bytes};
}
