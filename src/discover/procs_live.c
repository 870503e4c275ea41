/*
 * The only file that knows libproc2. The list asks for items of stat alone, so that a scan opens
 * one file a process; nothing here reads cmdline or environ, which wait for the mmap_lock of their
 * process and so could be made to wait for ever. In the command name libproc2 replaces control
 * characters and, by locale, whatever is not ASCII, so that rules would miss it: it is read again
 * with the detail.
 */
#include <errno.h>
#include <libproc2/pids.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discover/proc_files.h"
#include "numabd/discover.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/error.h"

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* PIDS_VAL takes four arguments up to procps 4.0.4 and three since: this is what it stands for. */
#define ITEM(stack, item, type) ((stack)->head[item].result.type)

/* Positions in the item list. */
enum {
    LIST_PID,
    LIST_COMM,
    LIST_RSS,
    LIST_THREADS,
    LIST_START,
    LIST_FLAGS,
    LIST_COUNT
};

struct live {
    struct pids_info *list;
    uint64_t page_bytes;
};

static void live_free(void *self)
{
    struct live *live = self;

    if (live->list)
        procps_pids_unref(&live->list);
    free(live);
}

static void live_freep(struct live **live)
{
    if (*live)
        live_free(*live);
}

static void process_of_stack(const struct live *live, struct process *process,
                             const struct pids_stack *stack)
{
    *process = (struct process){
        .pid = ITEM(stack, LIST_PID, s_int),
        .start_ticks = ITEM(stack, LIST_START, ull_int),
        .rss_bytes = ITEM(stack, LIST_RSS, ul_int) * live->page_bytes,
        .n_threads = (unsigned)ITEM(stack, LIST_THREADS, s_int),
        .kernel_thread = ITEM(stack, LIST_FLAGS, ul_int) & PF_KTHREAD,
    };
    snprintf(process->comm, sizeof(process->comm), "%s", ITEM(stack, LIST_COMM, str));
}

static int live_list(void *self, struct process_list *list)
{
    struct live *live = self;
    struct pids_fetch *fetch = procps_pids_reap(live->list, PIDS_FETCH_TASKS_ONLY);
    size_t n;

    if (!fetch)
        return error_errno();
    n = (size_t)fetch->counts->total;
    if (ARRAY_RESERVE(list->items, list->cap, list->n_items + n) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        process_of_stack(live, &list->items[list->n_items++], fetch->stacks[i]);
    return 0;
}

static int live_read_one(void *self, pid_t pid, struct process *process)
{
    struct live *live = self;
    unsigned wanted = (unsigned)pid;
    struct pids_fetch *fetch = procps_pids_select(live->list, &wanted, 1, PIDS_SELECT_PID);

    if (!fetch)
        return error_errno();
    if (fetch->counts->total < 1)
        return DISCOVER_GONE;
    process_of_stack(live, process, fetch->stacks[0]);
    return 0;
}

static int live_read_detail(void *self, struct process *process)
{
    int r;

    (void)self;
    process_deinit(process);
    r = proc_files_uid("/", process->pid, process);
    if (r < 0 || r == DISCOVER_GONE)
        return r;
    if ((r = proc_files_comm("/", process->pid, process)) < 0)
        return r;
    if ((r = proc_files_cgroup("/", process->pid, &process->cgroup)) < 0)
        return r;
    r = proc_files_exe("/", process->pid, &process->exe);
    return r < 0 ? r : 0;
}

static int live_read_mems_allowed(void *self, pid_t pid, char **textp)
{
    (void)self;
    return proc_files_mems_allowed("/", pid, textp);
}

static int live_open_ref(void *self, struct pidref *ref, pid_t pid, uint64_t start_ticks)
{
    (void)self;
    return pidref_init(ref, pid, start_ticks);
}

static const struct procs_ops live_ops = {
    .list = live_list,
    .read_one = live_read_one,
    .read_detail = live_read_detail,
    .read_mems_allowed = live_read_mems_allowed,
    .open_ref = live_open_ref,
    .free = live_free,
};

int procs_new_live(struct procs *procs)
{
    CLEANUP(live_freep) struct live *live = calloc(1, sizeof(*live));
    enum pids_item list[LIST_COUNT] = {
        [LIST_PID] = PIDS_ID_PID,   [LIST_COMM] = PIDS_CMD,         [LIST_RSS] = PIDS_RSS,
        [LIST_THREADS] = PIDS_NLWP, [LIST_START] = PIDS_TICS_BEGAN, [LIST_FLAGS] = PIDS_FLAGS,
    };
    int r;

    if (!live)
        return -ENOMEM;
    live->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    if ((r = procps_pids_new(&live->list, list, LIST_COUNT)) < 0)
        return r;
    *procs = (struct procs){.ops = &live_ops, .self = TAKE(live)};
    return 0;
}
