#include "sample/trace/replay_procs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample/trace/trace_read.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/hash.h"

struct replay_process {
    pid_t pid; /* key */
    struct process cheap;
    struct process detail; /* owns its strings */
    bool detail_known;
    char *mems; /* NULL: not known */
    UT_hash_handle hh;
};

static void forget_detail(struct replay_process *process)
{
    process_deinit(&process->detail);
    process->detail_known = false;
    free(TAKE(process->mems));
}

static void remove_process(struct replay_procs *procs, struct replay_process *process)
{
    HASH_DEL(procs->processes, process);
    forget_detail(process);
    free(process);
}

void replay_procs_deinit(struct replay_procs *procs)
{
    struct replay_process *process, *next;

    HASH_ITER (hh, procs->processes, process, next)
        remove_process(procs, process);
}

static struct replay_process *find_process(const struct replay_procs *procs, pid_t pid)
{
    struct replay_process *process;

    HASH_FIND_INT(procs->processes, &pid, process);
    return process;
}

static int take_process(struct replay_procs *procs, const struct process *seen)
{
    struct replay_process *process = find_process(procs, seen->pid);

    if (!process) {
        process = calloc(1, sizeof *process);
        if (!process)
            return -ENOMEM;
        process->pid = seen->pid;
        HASH_ADD_INT(procs->processes, pid, process);
    }
    if (process->cheap.start_ticks != seen->start_ticks)
        forget_detail(process);
    process->cheap = *seen;
    return 0;
}

static int take_detail(struct replay_process *process, const struct trace_record *record)
{
    CLEANUP(freep) char *comm = NULL;
    struct process *detail = &process->detail;
    int r;

    process_deinit(detail);
    r = trace_word_decode(&record->detail.comm, &comm);
    if (!r)
        r = trace_word_decode(&record->detail.exe, &detail->exe);
    if (!r)
        r = trace_word_decode(&record->detail.cgroup, &detail->cgroup);
    if (r < 0)
        return r;
    snprintf(detail->comm, sizeof detail->comm, "%s", comm ? comm : "");
    detail->uid = record->detail.uid;
    detail->uid_known = record->detail.uid_known;
    process->detail_known = true;
    return 0;
}

static int take_mems(struct replay_process *process, const struct trace_record *record)
{
    free(TAKE(process->mems));
    return trace_word_decode(&record->mems, &process->mems);
}

int replay_procs_take(struct replay_procs *procs, const struct trace_record *record)
{
    struct replay_process *process = find_process(procs, record->pid);

    if (record->kind == TRACE_PROCESS)
        return take_process(procs, &record->process);
    if (!process)
        return 0;
    if (record->kind == TRACE_DETAIL)
        return take_detail(process, record);
    if (record->kind == TRACE_MEMS)
        return take_mems(process, record);
    remove_process(procs, process);
    return 0;
}

static int list(void *self, struct process_list *list)
{
    const struct replay_procs *procs = self;
    struct replay_process *process, *next;

    HASH_ITER (hh, procs->processes, process, next) {
        if (ARRAY_RESERVE(list->items, list->cap, list->n_items + 1) < 0)
            return -ENOMEM;
        list->items[list->n_items++] = process->cheap;
    }
    return 0;
}

static int read_one(void *self, pid_t pid, struct process *process)
{
    const struct replay_process *known = find_process(self, pid);

    if (!known)
        return DISCOVER_GONE;
    *process = known->cheap;
    return 0;
}

static int copy_string(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return from && !*to ? -ENOMEM : 0;
}

/* Of a process that was too small in the trace and is not now, detail is unknown. */
static int read_detail(void *self, struct process *process)
{
    const struct replay_process *known = find_process(self, process->pid);

    if (!known)
        return DISCOVER_GONE;
    process_deinit(process);
    if (!known->detail_known)
        return 0;
    memcpy(process->comm, known->detail.comm, sizeof process->comm);
    process->uid = known->detail.uid;
    process->uid_known = known->detail.uid_known;
    if (copy_string(&process->exe, known->detail.exe) < 0)
        return -ENOMEM;
    return copy_string(&process->cgroup, known->detail.cgroup);
}

/* Without a record all nodes are allowed. */
static int read_mems_allowed(void *self, pid_t pid, char **textp)
{
    const struct replay_process *known = find_process(self, pid);

    if (!known)
        return DISCOVER_GONE;
    if (known->mems)
        return copy_string(textp, known->mems);
    if (asprintf(textp, "0-%d", TOPOLOGY_NODE_MAX - 1) < 0)
        return *textp = NULL, -ENOMEM;
    return 0;
}

struct procs replay_procs_ops(struct replay_procs *procs)
{
    static const struct procs_ops ops = {
        .list = list,
        .read_one = read_one,
        .read_detail = read_detail,
        .read_mems_allowed = read_mems_allowed,
    };

    return (struct procs){.ops = &ops, .self = procs};
}
