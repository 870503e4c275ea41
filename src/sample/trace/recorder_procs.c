/*
 * The processes with notes: of each scan only what has changed since the last one is written.
 * Everything here runs in the loop thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sample/trace/recorder_state.h"

static struct recorded_process *find_process(const struct recorder *recorder, pid_t pid)
{
    struct recorded_process *process;

    HASH_FIND_INT(recorder->processes, &pid, process);
    return process;
}

static bool same_cheap(const struct process *a, const struct process *b)
{
    return a->start_ticks == b->start_ticks && a->rss_bytes == b->rss_bytes &&
           a->n_threads == b->n_threads && a->kernel_thread == b->kernel_thread &&
           !strcmp(a->comm, b->comm);
}

static void keep_cheap(struct recorded_process *into, const struct process *process)
{
    if (into->cheap.start_ticks != process->start_ticks)
        into->detail_hash = into->mems_hash = 0;
    into->cheap = *process;
    into->cheap.exe = into->cheap.cgroup = NULL; /* not its own */
}

static struct recorded_process *add_process(struct recorder *recorder, pid_t pid)
{
    struct recorded_process *process = calloc(1, sizeof *process);

    if (!process)
        return NULL;
    process->pid = pid;
    HASH_ADD_INT(recorder->processes, pid, process);
    return process;
}

static void note_process(struct recorder *recorder, const struct process *seen)
{
    struct recorded_process *process = find_process(recorder, seen->pid);

    if (process && same_cheap(&process->cheap, seen)) {
        process->scan = recorder->n_scans;
        return;
    }
    if (!process)
        process = add_process(recorder, seen->pid);
    if (process) {
        keep_cheap(process, seen);
        process->scan = recorder->n_scans;
    }
    if (!recorder_begin(recorder))
        return;
    trace_write_process(&recorder->writer, seen);
    recorder_end(recorder);
}

static void note_gone(struct recorder *recorder, pid_t pid)
{
    struct recorded_process *process = find_process(recorder, pid);

    if (!process)
        return;
    HASH_DEL(recorder->processes, process);
    free(process);
    if (!recorder_begin(recorder))
        return;
    trace_write_gone(&recorder->writer, pid);
    recorder_end(recorder);
}

static void note_unseen(struct recorder *recorder)
{
    struct recorded_process *process, *next;

    HASH_ITER (hh, recorder->processes, process, next)
        if (process->scan != recorder->n_scans)
            note_gone(recorder, process->pid);
}

static int list(void *self, struct process_list *list)
{
    struct recorder *recorder = self;
    size_t n_before = list->n_items;
    int r = recorder->procs.ops->list(recorder->procs.self, list);

    if (r)
        return r;
    recorder->n_scans++;
    for (size_t i = n_before; i < list->n_items; i++)
        note_process(recorder, &list->items[i]);
    note_unseen(recorder);
    return 0;
}

static int read_one(void *self, pid_t pid, struct process *process)
{
    struct recorder *recorder = self;
    int r = recorder->procs.ops->read_one(recorder->procs.self, pid, process);

    if (!r)
        note_process(recorder, process);
    else if (r == DISCOVER_GONE)
        note_gone(recorder, pid);
    return r;
}

static uint64_t hash_string(uint64_t hash, const char *string)
{
    return recorder_hash(recorder_hash(hash, string ? "+" : "-", 1), string ? string : "",
                         string ? strlen(string) + 1 : 0);
}

/* Return: the facts were not those of *hashp, which they are now. */
static bool renew_hash(uint64_t *hashp, uint64_t hash)
{
    bool changed = *hashp != hash;

    *hashp = hash;
    return changed;
}

static void note_detail(struct recorder *recorder, const struct process *seen)
{
    struct recorded_process *process = find_process(recorder, seen->pid);
    uint64_t hash = hash_string(RECORDER_HASH_START, seen->comm);

    hash = hash_string(hash_string(hash, seen->exe), seen->cgroup);
    hash = recorder_hash(hash, &seen->uid, seen->uid_known ? sizeof seen->uid : 0);
    if ((process && !renew_hash(&process->detail_hash, hash)) || !recorder_begin(recorder))
        return;
    trace_write_detail(&recorder->writer, seen);
    recorder_end(recorder);
}

static int read_detail(void *self, struct process *process)
{
    struct recorder *recorder = self;
    int r = recorder->procs.ops->read_detail(recorder->procs.self, process);

    if (!r)
        note_detail(recorder, process);
    else if (r == DISCOVER_GONE)
        note_gone(recorder, process->pid);
    return r;
}

static void note_mems(struct recorder *recorder, pid_t pid, const char *text)
{
    struct recorded_process *process = find_process(recorder, pid);
    uint64_t hash = hash_string(RECORDER_HASH_START, text);

    if ((process && !renew_hash(&process->mems_hash, hash)) || !recorder_begin(recorder))
        return;
    trace_write_mems(&recorder->writer, pid, text);
    recorder_end(recorder);
}

static int read_mems_allowed(void *self, pid_t pid, char **textp)
{
    struct recorder *recorder = self;
    int r = recorder->procs.ops->read_mems_allowed(recorder->procs.self, pid, textp);

    if (!r)
        note_mems(recorder, pid, *textp);
    else if (r == DISCOVER_GONE)
        note_gone(recorder, pid);
    return r;
}

static int open_ref(void *self, struct pidref *ref, pid_t pid, uint64_t start_ticks)
{
    struct recorder *recorder = self;

    return recorder->procs.ops->open_ref(recorder->procs.self, ref, pid, start_ticks);
}

static void free_procs(void *self)
{
    struct recorder *recorder = self;

    procs_deinit(&recorder->procs);
}

struct procs recorder_procs(struct recorder *recorder, struct procs procs)
{
    recorder->procs = procs;
    recorder->procs_ops = (struct procs_ops){
        .list = list,
        .read_one = procs.ops->read_one ? read_one : NULL,
        .read_detail = read_detail,
        .read_mems_allowed = read_mems_allowed,
        .open_ref = procs.ops->open_ref ? open_ref : NULL,
        .free = free_procs,
    };
    return (struct procs){.ops = &recorder->procs_ops, .self = recorder};
}
