#include "fake-procs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

static void give_facts(const struct fake_process *fake, struct process *process)
{
    *process = (struct process){.pid = fake->pid,
                                .start_ticks = fake->start_ticks,
                                .rss_bytes = fake->rss_bytes,
                                .n_threads = 1,
                                .kernel_thread = fake->kernel_thread};
    snprintf(process->comm, sizeof(process->comm), "%s", fake->comm ? fake->comm : "work");
}

static int fake_list(void *self, struct process_list *list)
{
    struct fake_procs *procs = self;

    procs->n_lists++;
    if (procs->list_error)
        return procs->list_error;
    if (ARRAY_RESERVE(list->items, list->cap, procs->n_items + 1) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < procs->n_items; i++)
        give_facts(&procs->items[i], &list->items[list->n_items++]);
    return 0;
}

static int fake_one(void *self, pid_t pid, struct process *process)
{
    struct fake_procs *procs = self;

    procs->n_ones++;
    for (size_t i = 0; i < procs->n_items; i++)
        if (procs->items[i].pid == pid) {
            if (procs->items[i].one_error)
                return procs->items[i].one_error;
            give_facts(&procs->items[i], process);
            return 0;
        }
    return DISCOVER_GONE;
}

static const struct fake_process *find_fake(const struct fake_procs *procs, pid_t pid)
{
    for (size_t i = 0; i < procs->n_items; i++)
        if (procs->items[i].pid == pid)
            return &procs->items[i];
    abort(); /* nobody listed it */
}

static int fake_detail(void *self, struct process *process)
{
    struct fake_procs *procs = self;
    const struct fake_process *fake = find_fake(procs, process->pid);

    procs->n_details++;
    if (procs->detail_error)
        return procs->detail_error;
    if (fake->detail_error)
        return fake->detail_error;
    if (fake->gone)
        return DISCOVER_GONE;
    process_deinit(process);
    process->exe = fake->exe ? strdup(fake->exe) : NULL;
    process->uid = 65534;
    process->uid_known = true;
    if (fake->exact_comm)
        snprintf(process->comm, sizeof(process->comm), "%s", fake->exact_comm);
    return 0;
}

static int fake_mems_allowed(void *self, pid_t pid, char **textp)
{
    const struct fake_process *fake = find_fake(self, pid);

    if (fake->mems_error)
        return fake->mems_error;
    *textp = strdup(fake->mems ? fake->mems : "0-1");
    return 0;
}

static int fake_open_ref(void *self, struct pidref *ref, pid_t pid, uint64_t start_ticks)
{
    struct fake_procs *procs = self;

    procs->n_refs++;
    if (find_fake(procs, pid)->no_pidfd)
        return -EMFILE;
    *ref = (struct pidref){.pid = pid, .start_ticks = start_ticks, .fd = -1};
    return 0;
}

static const struct procs_ops fake_ops = {
    .list = fake_list,
    .read_one = fake_one,
    .read_detail = fake_detail,
    .read_mems_allowed = fake_mems_allowed,
    .open_ref = fake_open_ref,
};

struct procs fake_procs_of(struct fake_procs *fake)
{
    return (struct procs){.ops = &fake_ops, .self = fake};
}
