/*
 * Processes of a tree of files, for --root and tests: the same facts as libproc2 gives, read from
 * ROOT/proc/PID.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discover/proc_files.h"
#include "numabd/discover.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/error.h"

struct root {
    char *path;
};

static void root_free(void *self)
{
    struct root *root = self;

    free(root->path);
    free(root);
}

/* Return: the pid that a folder of /proc is for, 0 for other names. */
static pid_t pid_of_name(const char *name)
{
    char *end;
    long pid = strtol(name, &end, 10);

    if (*name < '1' || *name > '9' || *end || pid > INT_MAX)
        return 0;
    return (pid_t)pid;
}

static int append_process(struct process_list *list, const char *root, pid_t pid)
{
    struct process process = {0};
    int r = proc_files_stat(root, pid, &process);

    if (r) /* one that cannot be read is left out, and so left alone */
        return r == -ENOMEM ? r : 0;
    if (ARRAY_RESERVE(list->items, list->cap, list->n_items + 1) < 0)
        return -ENOMEM;
    list->items[list->n_items++] = process;
    return 0;
}

static int root_read_one(void *self, pid_t pid, struct process *process)
{
    const struct root *root = self;
    int r = proc_files_stat(root->path, pid, process);

    return r > 0 ? DISCOVER_GONE : r;
}

static int root_list(void *self, struct process_list *list)
{
    CLEANUP(closedirp) DIR *folder = NULL;
    CLEANUP(freep) char *path = NULL;
    struct root *root = self;
    struct dirent *entry;
    int r = 0;

    if (asprintf(&path, "%s/proc", root->path) < 0)
        return -ENOMEM;
    folder = opendir(path);
    if (!folder)
        return error_errno();
    while (!r && (entry = readdir(folder))) {
        pid_t pid = pid_of_name(entry->d_name);

        if (pid)
            r = append_process(list, root->path, pid);
    }
    return r;
}

static int root_read_detail(void *self, struct process *process)
{
    struct root *root = self;
    int r;

    process_deinit(process);
    r = proc_files_uid(root->path, process->pid, process);
    if (r < 0 || r == DISCOVER_GONE)
        return r;
    if ((r = proc_files_cgroup(root->path, process->pid, &process->cgroup)) < 0)
        return r;
    r = proc_files_exe(root->path, process->pid, &process->exe);
    return r < 0 ? r : 0;
}

static int root_read_mems_allowed(void *self, pid_t pid, char **textp)
{
    struct root *root = self;

    return proc_files_mems_allowed(root->path, pid, textp);
}

static const struct procs_ops root_ops = {
    .list = root_list,
    .read_one = root_read_one,
    .read_detail = root_read_detail,
    .read_mems_allowed = root_read_mems_allowed,
    .free = root_free,
};

int procs_new_root(struct procs *procs, const char *root)
{
    struct root *self = calloc(1, sizeof(*self));

    if (!self)
        return -ENOMEM;
    self->path = strdup(root);
    if (!self->path) {
        root_free(self);
        return -ENOMEM;
    }
    *procs = (struct procs){.ops = &root_ops, .self = self};
    return 0;
}
