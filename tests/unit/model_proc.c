/*
 * What numabd sees of the model: files of /proc and /sys, processes, samples.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model_machine.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/nsec.h"
#include "util/procfs.h"

static void print_maps(const struct model_process *process, FILE *file)
{
    for (size_t i = 0; i < process->n_vmas; i++) {
        const struct model_vma *vma = &process->vmas[i];
        uint64_t end = vma->start + vma->n_pages * MODEL_PAGE_BYTES;

        fprintf(file, "%llx-%llx %s 00000000 00:%02d %llu %s\n", (unsigned long long)vma->start,
                (unsigned long long)end, vma->perms, vma->inode ? 1 : 0,
                (unsigned long long)vma->inode, vma->inode ? "/dev/zero (deleted)" : "");
    }
    /* Never empty while the address space is there. */
    fprintf(file, "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n");
}

/* One line for each mapping; `policy` stands for those that have none of their own. */
static void print_numa_maps(const struct model_process *process, const char *policy, FILE *file)
{
    for (size_t i = 0; i < process->n_vmas; i++) {
        const struct model_vma *vma = &process->vmas[i];
        size_t n_on[MODEL_NODES] = {0};

        for (size_t page = 0; page < vma->n_pages; page++)
            if (vma->pages[page].at >= 0)
                n_on[vma->pages[page].at]++;
        fprintf(file, "%llx %s", (unsigned long long)vma->start,
                strcmp(vma->policy, "default") ? vma->policy : policy);
        for (int node = 0; node < MODEL_NODES; node++)
            if (n_on[node])
                fprintf(file, " N%d=%zu", node, n_on[node]);
        fprintf(file, " kernelpagesize_kB=4\n");
    }
}

static const char *thread_policy(const struct model_process *process, pid_t tid)
{
    for (size_t i = 0; i < process->n_threads; i++)
        if (process->threads[i].tid == tid && process->threads[i].policy)
            return process->threads[i].policy;
    return "default";
}

static int read_file(void *self, const char *path, size_t limit, char **bufp, size_t *sizep)
{
    struct model *model = self;
    const struct model_process *process;
    int pid = 0, tid = 0;
    FILE *file;

    if (sscanf(path, "proc/%d/task/%d/numa_maps", &pid, &tid) != 2 &&
        sscanf(path, "proc/%d/numa_maps", &pid) != 1)
        fail_msg("nobody knows %s", path);
    model_log_call(model, MODEL_CALL_FILE, pid, 0, 0);
    process = model_find(model, pid);
    if (!process)
        return PROCFS_GONE;
    file = open_memstream(bufp, sizep);
    assert_non_null(file);
    print_numa_maps(process, thread_policy(process, tid), file);
    assert_int_equal(fclose(file), 0);
    if (*sizep > limit)
        *sizep = limit;
    return 0;
}

static void write_maps(struct model_process *process)
{
    CLEANUP(freep) char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    print_maps(process, file);
    assert_int_equal(fclose(file), 0);
    if (process->maps_fd < 0)
        process->maps_fd = memfd_create("maps", MFD_CLOEXEC);
    assert_true(process->maps_fd >= 0);
    assert_int_equal(ftruncate(process->maps_fd, 0), 0);
    assert_int_equal(pwrite(process->maps_fd, text, size, 0), size);
}

static int read_maps(void *self, pid_t pid, int *fdp, char **bufp, size_t *sizep)
{
    struct model *model = self;
    struct model_process *process = model_find(model, pid);
    int r;

    model_log_call(model, MODEL_CALL_MAPS, pid, 0, 0);
    if (process)
        write_maps(process);
    if (*fdp < 0 && !process)
        return PROCFS_GONE;
    if (*fdp < 0)
        *fdp = fcntl(process->maps_fd, F_DUPFD_CLOEXEC, 3);
    assert_true(*fdp >= 0);
    r = procfs_read_fd(*fdp, SIZE_MAX / 4, bufp, sizep);
    if (!r && !*sizep) {
        free(TAKE(*bufp));
        return PROCFS_GONE;
    }
    return r;
}

static int list_folder(void *self, const char *path, size_t limit,
                       bool (*visit)(void *userdata, const char *name), void *userdata)
{
    const struct model *model = self;
    char name[16];

    assert_string_equal(path, "proc");
    for (size_t i = 0; i < model->n_processes && i < limit; i++) {
        snprintf(name, sizeof name, "%d", model->processes[i]->pid);
        if (!model->processes[i]->ended && !visit(userdata, name))
            break;
    }
    return 0;
}

static ssize_t read_memory(void *self, pid_t pid, const struct iovec *local,
                           const struct iovec *remote, size_t n)
{
    (void)self, (void)local, (void)remote, (void)n;
    fail_msg("the model's source needs no memory of %d", pid);
    return -EOPNOTSUPP;
}

static int write_file(void *self, const char *path, const char *text, bool (*check)(void *userdata),
                      void *userdata)
{
    (void)self, (void)path, (void)text, (void)check, (void)userdata;
    return -EOPNOTSUPP;
}

struct host model_host(struct model *model)
{
    static const struct host_ops ops = {
        .read_file = read_file,
        .read_maps = read_maps,
        .list_folder = list_folder,
        .read_memory = read_memory,
        .move_pages = model_move_pages,
        .scan_pages = model_scan_pages,
        .write_file = write_file,
    };

    return (struct host){.ops = &ops, .self = model, .page_bytes = MODEL_PAGE_BYTES};
}

static uint64_t process_rss(const struct model_process *process)
{
    uint64_t n = 0;

    for (size_t i = 0; i < process->n_vmas; i++)
        n += process->vmas[i].n_pages;
    return n * MODEL_PAGE_BYTES;
}

static int list_processes(void *self, struct process_list *list)
{
    const struct model *model = self;

    for (size_t i = 0; i < model->n_processes; i++) {
        const struct model_process *process = model->processes[i];
        struct process *listed;

        if (process->ended)
            continue;
        if (ARRAY_RESERVE(list->items, list->cap, list->n_items + 1) < 0)
            return -ENOMEM;
        listed = &list->items[list->n_items++];
        *listed = (struct process){.pid = process->pid,
                                   .start_ticks = process->start_ticks,
                                   .rss_bytes = process_rss(process),
                                   .n_threads = (unsigned)process->n_threads};
        snprintf(listed->comm, sizeof(listed->comm), "%s", process->comm);
    }
    return 0;
}

static int read_detail(void *self, struct process *process)
{
    if (!model_find(self, process->pid))
        return DISCOVER_GONE;
    process_deinit(process);
    process->uid = 1000;
    process->uid_known = true;
    return 0;
}

static int read_mems_allowed(void *self, pid_t pid, char **textp)
{
    const struct model_process *process = model_find(self, pid);

    if (!process)
        return DISCOVER_GONE;
    *textp = strdup(process->mems_allowed ? process->mems_allowed : "0-7");
    return *textp ? 0 : -ENOMEM;
}

static int open_ref(void *self, struct pidref *ref, pid_t pid, uint64_t start_ticks)
{
    const struct model_process *process = model_find(self, pid);

    if (!process || process->start_ticks != start_ticks)
        return DISCOVER_GONE;
    *ref = (struct pidref){
        .pid = pid, .start_ticks = start_ticks, .fd = fcntl(process->ended_fd, F_DUPFD_CLOEXEC, 3)};
    return ref->fd < 0 ? -errno : 0;
}

struct procs model_procs(struct model *model)
{
    static const struct procs_ops ops = {
        .list = list_processes,
        .read_detail = read_detail,
        .read_mems_allowed = read_mems_allowed,
        .open_ref = open_ref,
    };

    return (struct procs){.ops = &ops, .self = model};
}

static unsigned process_rate(const struct model *model, const struct model_process *process)
{
    return model->rate_hz ? model->rate_hz : process->asked_hz;
}

/* What one thread did since the last drain: a sample at each tick of its CPU, the last one now. */
static void push_thread(struct model *model, struct model_process *process,
                        const struct model_thread *thread)
{
    const struct model_vma *vma = &process->vmas[thread->vma];
    unsigned rate_hz = process_rate(model, process);
    unsigned n = rate_hz / MODEL_DRAINS;
    uint64_t period = NSEC_PER_SEC / MODEL_DRAINS;

    for (unsigned i = 0; i < n; i++) {
        uint64_t page = thread->first + model_random(model, thread->n_pages);
        struct access access = {
            .when_nsec = model->now - period + (i + 1) * period / n,
            .pid = process->pid,
            .tid = thread->tid,
            .cpu = thread->cpu,
            .addr = vma->start + page * MODEL_PAGE_BYTES + model_random(model, 512) * 8,
            .weight_sec = 1.0 / rate_hz,
        };

        model->sink.push(model->sink.userdata, &access, 1);
    }
    model->counts.n_accesses += n;
    process->n_pushed += n;
}

static int drain(void *self)
{
    struct model *model = self;

    for (size_t i = 0; i < model->n_processes; i++) {
        struct model_process *process = model->processes[i];
        size_t n_samples = process->n_threads * (process_rate(model, process) / MODEL_DRAINS);
        bool wanted = model->filter.wants(model->filter.userdata, process->pid);

        model->counts.n_samples += n_samples;
        if (!wanted)
            model->counts.n_foreign += n_samples;
        for (size_t t = 0; t < process->n_threads && wanted; t++)
            push_thread(model, process, &process->threads[t]);
    }
    return 0;
}

static const struct sample_counts *counts(void *self)
{
    return &((struct model *)self)->counts;
}

static int follow(void *self, const struct sample_round *round, struct source_reason *reason)
{
    struct model *model = self;

    (void)reason;
    for (size_t i = 0; i < round->n_targets; i++)
        model_find(model, round->targets[i].pid)->asked_hz = round->targets[i].rate_hz;
    return 0;
}

static int measure(void *self, const struct sample_target *target, struct cpu_use *use)
{
    const struct model *model = self;

    (void)target;
    if (model->cpi <= 0)
        return SOURCE_UNMEASURED;
    *use = (struct cpu_use){.memory_bound = 0.3, .cpi = model->cpi};
    return 0;
}

static void keep(void *self)
{
    (void)self;
}

struct source model_source(struct model *model)
{
    static const struct source_ops ops = {
        .name = "model",
        .drain = drain,
        .counts = counts,
        .round = follow,
        .measure = measure,
        .free = keep,
    };

    return (struct source){.ops = &ops, .self = model};
}
