/*
 * Files of /proc as text, and the list of processes. Requests run inline, on the machine's own
 * clock of CPU time.
 */
#include "sim/view.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/fail.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/procfs.h"

/* numa_maps, for each entry of the page table; maps, for each line (50 ms for 65,530). */
#define NUMA_MAPS_ENTRY_NSEC 70
#define MAPS_LINE_NSEC 760

struct text {
    char *buf;
    size_t size, cap;
};

static void __attribute__((format(printf, 2, 3)))
text_add(struct text *text, const char *format, ...)
{
    va_list args;

    SIM_NEED(ARRAY_RESERVE(text->buf, text->cap, text->size + 256) == 0);
    va_start(args, format);
    text->size += (size_t)vsnprintf(text->buf + text->size, 256, format, args);
    va_end(args);
}

static const char *thread_policy(const struct sim_process *process, pid_t tid)
{
    size_t i = (size_t)(tid - process->pid);

    if (tid < process->pid || i >= process->n_threads || !process->threads[i]->policy)
        return "default";
    return process->threads[i]->policy;
}

static void print_numa_line(struct text *text, const struct sim_vma *vma, const char *policy)
{
    const struct sim_object *object = vma->object;
    uint64_t scale = object->huge ? SIM_CHUNK_PAGES : 1, n_on[SIM_NODES_MAX] = {0};

    sim_object_count(object, vma->first_mapped, vma->n_mapped, n_on);
    text_add(text, "%llx %s", (unsigned long long)vma->start,
             strcmp(vma->policy, "default") ? vma->policy : policy);
    if (object->shared)
        text_add(text, " file=/dev/shm/%llu", (unsigned long long)object->inode);
    for (int node = 0; node < SIM_NODES_MAX; node++)
        if (n_on[node])
            text_add(text, " N%d=%llu", node, (unsigned long long)(n_on[node] / scale));
    text_add(text, " kernelpagesize_kB=%llu\n", (unsigned long long)(4 * scale));
}

/* Return: 0 or PROCFS_GONE. */
static int read_numa_maps(struct sim_machine *machine, pid_t pid, pid_t tid, size_t limit,
                          struct text *text)
{
    const struct sim_process *process = sim_machine_find(machine, pid);

    if (!process)
        return PROCFS_GONE;
    for (size_t i = 0; i < process->n_vmas && text->size < limit; i++) {
        const struct sim_vma *vma = &process->vmas[i];
        uint64_t n = sim_object_n_present(vma->object);

        print_numa_line(text, vma, thread_policy(process, tid));
        if (limit > SIM_PAGE_BYTES) /* heads are taken as free, as their first mapping is small */
            machine->tally.cpu_nsec +=
                NUMA_MAPS_ENTRY_NSEC * (vma->object->huge ? n / SIM_CHUNK_PAGES : n);
    }
    return 0;
}

/* Return: 0 or PROCFS_GONE. */
static int print_file(struct sim_machine *machine, const char *path, size_t limit,
                      struct text *text)
{
    int pid = 0, tid = 0;

    if (sscanf(path, "proc/%d/task/%d/numa_maps", &pid, &tid) == 2)
        machine->tally.n_heads++;
    else if (sscanf(path, "proc/%d/numa_maps", &pid) == 1)
        machine->tally.n_numa_maps++;
    else
        return PROCFS_GONE;
    return read_numa_maps(machine, pid, tid, limit, text);
}

static int read_file(void *self, const char *path, size_t limit, char **bufp, size_t *sizep)
{
    struct text text = {0};
    int r = print_file(self, path, limit, &text);

    if (r)
        return r;
    text_add(&text, "%s", "");
    *bufp = text.buf;
    *sizep = text.size < limit ? text.size : limit;
    return 0;
}

static int list_folder(void *self, const char *path, size_t limit,
                       bool (*visit)(void *userdata, const char *name), void *userdata)
{
    const struct sim_machine *machine = self;
    char name[16];

    if (strcmp(path, "proc"))
        return PROCFS_GONE;
    for (size_t i = 0; i < machine->n_processes && i < limit; i++) {
        snprintf(name, sizeof name, "%d", machine->processes[i]->pid);
        if (!machine->processes[i]->ended && !visit(userdata, name))
            break;
    }
    return 0;
}

static int read_maps(void *self, pid_t pid, int *fdp, char **bufp, size_t *sizep)
{
    struct sim_machine *machine = self;
    const struct sim_process *process = sim_machine_find(machine, pid);
    struct text text = {0};

    (void)fdp;
    machine->tally.n_maps++;
    if (!process)
        return PROCFS_GONE;
    for (size_t i = 0; i < process->n_vmas; i++) {
        const struct sim_vma *vma = &process->vmas[i];
        uint64_t end = vma->start + vma->object->n_pages * SIM_PAGE_BYTES;
        uint64_t inode = vma->object->shared ? vma->object->inode : 0;

        text_add(&text, "%llx-%llx %s 00000000 00:%s %llu", (unsigned long long)vma->start,
                 (unsigned long long)end, vma->perms, inode ? "1a" : "00",
                 (unsigned long long)inode);
        if (inode)
            text_add(&text, " /dev/shm/%llu", (unsigned long long)inode);
        text_add(&text, "\n");
    }
    text_add(&text, "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n");
    machine->tally.cpu_nsec += (process->n_vmas + 1) * MAPS_LINE_NSEC;
    *bufp = text.buf;
    *sizep = text.size;
    return 0;
}

static ssize_t read_memory(void *self, pid_t pid, const struct iovec *local,
                           const struct iovec *remote, size_t n)
{
    (void)self, (void)pid, (void)local, (void)remote, (void)n;
    return -EOPNOTSUPP;
}

static int write_file(void *self, const char *path, const char *text, bool (*check)(void *userdata),
                      void *userdata)
{
    (void)self, (void)path, (void)text, (void)check, (void)userdata;
    return -EOPNOTSUPP;
}

static uint64_t cpu_nsec(void *self)
{
    return ((const struct sim_machine *)self)->tally.cpu_nsec;
}

struct host sim_host(struct sim_machine *machine)
{
    static const struct host_ops ops = {
        .read_file = read_file,
        .read_maps = read_maps,
        .list_folder = list_folder,
        .read_memory = read_memory,
        .move_pages = sim_move_pages,
        .write_file = write_file,
        .cpu_nsec = cpu_nsec,
    };

    return (struct host){.ops = &ops, .self = machine, .page_bytes = SIM_PAGE_BYTES};
}

static int list_processes(void *self, struct process_list *list)
{
    const struct sim_machine *machine = self;

    for (size_t i = 0; i < machine->n_processes; i++) {
        const struct sim_process *process = machine->processes[i];
        struct process *listed;

        if (process->ended)
            continue;
        if (ARRAY_RESERVE(list->items, list->cap, list->n_items + 1) < 0)
            return -ENOMEM;
        listed = &list->items[list->n_items++];
        *listed = (struct process){.pid = process->pid,
                                   .start_ticks = process->start_ticks,
                                   .rss_bytes = sim_process_n_present(process) * SIM_PAGE_BYTES,
                                   .n_threads = (unsigned)process->n_threads};
        snprintf(listed->comm, sizeof listed->comm, "%s", process->comm);
    }
    return 0;
}

static int read_detail(void *self, struct process *process)
{
    if (!sim_machine_find(self, process->pid))
        return DISCOVER_GONE;
    process_deinit(process);
    process->uid = 1000;
    process->uid_known = true;
    return 0;
}

static int read_mems_allowed(void *self, pid_t pid, char **textp)
{
    const struct sim_machine *machine = self;
    const struct sim_process *process = sim_machine_find(machine, pid);

    if (!process)
        return DISCOVER_GONE;
    if (process->mems_allowed)
        *textp = strdup(process->mems_allowed);
    else if (asprintf(textp, "0-%d", machine->shape.n_nodes - 1) < 0)
        *textp = NULL;
    return *textp ? 0 : -ENOMEM;
}

struct procs sim_procs(struct sim_machine *machine)
{
    static const struct procs_ops ops = {
        .list = list_processes,
        .read_detail = read_detail,
        .read_mems_allowed = read_mems_allowed,
    };

    return (struct procs){.ops = &ops, .self = machine};
}
