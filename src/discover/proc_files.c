#include "discover/proc_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "discover/proc_text.h"
#include "util/cleanup.h"
#include "util/procfs.h"

static int read_proc(const char *root, pid_t pid, const char *file, char **textp)
{
    char path[64];
    size_t size;
    int r;

    snprintf(path, sizeof(path), "proc/%d/%s", pid, file);
    r = procfs_read(root, path, textp, &size);
    if (r == PROCFS_GONE)
        return DISCOVER_GONE;
    return r == PROCFS_DENIED ? DISCOVER_DENIED : r;
}

/* A text without its fields is one of a process that is just going. */
static int fold_malformed(int r)
{
    return r == PROC_TEXT_MALFORMED ? DISCOVER_GONE : r;
}

int proc_files_stat(const char *root, pid_t pid, struct process *process)
{
    CLEANUP(freep) char *text = NULL;
    int r = read_proc(root, pid, "stat", &text);

    if (r)
        return r < 0 ? r : DISCOVER_GONE;
    process->pid = pid;
    return fold_malformed(proc_text_stat(text, process));
}

int proc_files_comm(const char *root, pid_t pid, struct process *process)
{
    CLEANUP(freep) char *text = NULL;
    int r = read_proc(root, pid, "comm", &text);
    size_t size;

    if (r)
        return r;
    size = strlen(text);
    if (size && text[size - 1] == '\n') /* only the last: the name may hold others */
        text[size - 1] = '\0';
    snprintf(process->comm, sizeof(process->comm), "%s", text);
    return 0;
}

int proc_files_mems_allowed(const char *root, pid_t pid, char **textp)
{
    CLEANUP(freep) char *text = NULL;
    int r = read_proc(root, pid, "status", &text);

    return r ? r : fold_malformed(proc_text_mems_allowed(text, textp));
}

int proc_files_uid(const char *root, pid_t pid, struct process *process)
{
    CLEANUP(freep) char *text = NULL;
    int r = read_proc(root, pid, "status", &text);

    if (!r)
        r = fold_malformed(proc_text_euid(text, &process->uid));
    process->uid_known = !r;
    return r;
}

int proc_files_cgroup(const char *root, pid_t pid, char **pathp)
{
    CLEANUP(freep) char *text = NULL;
    int r = read_proc(root, pid, "cgroup", &text);

    return r ? r : fold_malformed(proc_text_cgroup(text, pathp));
}

int proc_files_exe(const char *root, pid_t pid, char **pathp)
{
    CLEANUP(freep) char *link = NULL;
    char target[PATH_MAX];
    ssize_t size;

    if (asprintf(&link, "%s/proc/%d/exe", root, pid) < 0)
        return -ENOMEM;
    size = readlink(link, target, sizeof(target) - 1);
    if (size < 0)
        return errno == EACCES || errno == EPERM ? DISCOVER_DENIED : DISCOVER_GONE;
    target[size] = '\0';
    proc_text_cut_deleted(target);
    *pathp = strdup(target);
    return *pathp ? 0 : -ENOMEM;
}
