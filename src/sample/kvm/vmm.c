/*
 * Files of each vCPU are open in the monitor as long as the guest has it, so /proc/PID/fd tells a
 * monitor for sure, whatever its name.
 */
#include "sample/kvm/vmm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discover/proc_text.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/procfs.h"
#include "util/scan.h"

/*
 * Monitors open KVM before disks and network cards, and descriptors come in order of their number,
 * so a process with thousands of connections costs 1 to 2 ms. A monitor with more vCPUs than that
 * is still one.
 */
#define FDS_MAX 1024
#define THREADS_MAX 16384         /* KVM_MAX_VCPUS is 4096 at most, and threads for I/O */
#define STAT_BYTES ((size_t)4096) /* 52 numbers and a name */
#define CMDLINE_BYTES                                                                              \
    ((size_t)1 << 20) /* libvirt's are some 10 KiB; a longer one is not trusted                    \
                       */
#define PATH_SIZE 80

void vmm_deinit(struct vmm *vmm)
{
    free(vmm->vcpus);
    vmm_memory_deinit(&vmm->memory);
    *vmm = (struct vmm){0};
}

static int condition_of(int r)
{
    return r == PROCFS_GONE ? VMM_GONE : r == PROCFS_DENIED ? VMM_DENIED : r;
}

bool vmm_link_is_vcpu(const char *target)
{
    struct scan link = {.at = target, .end = target + strlen(target)};

    return scan_literal(&link, "anon_inode:kvm-vcpu") &&
           (scan_at_end(&link) || scan_char(&link, ':'));
}

/* A walk over a folder of the process. */
struct look {
    struct vmm *vmm;
    const struct host *host;
    pid_t pid;
    int r; /* negative: the walk ended with it */
};

static bool look_fd(void *userdata, const char *name)
{
    struct look *look = userdata;
    char path[PATH_SIZE], target[64];

    snprintf(path, sizeof path, "proc/%d/fd/%.20s", look->pid, name);
    if (!look->host->ops->read_link(look->host->self, path, target, sizeof target))
        look->vmm->n_fds += vmm_link_is_vcpu(target);
    return true;
}

static int look_at_fds(struct look *look)
{
    const struct host *host = look->host;
    char path[PATH_SIZE];
    int r;

    snprintf(path, sizeof path, "proc/%d/fd", look->pid);
    r = condition_of(host->ops->list_folder(host->self, path, FDS_MAX, look_fd, look));
    return r ? r : look->vmm->n_fds > 0 ? 0 : VMM_NONE;
}

/* Return: 0, VMM_GONE, VMM_DENIED or a negative errno; a text that makes no sense is VMM_GONE. */
static int read_thread(const struct host *host, pid_t pid, pid_t tid, struct vmm_thread *thread)
{
    CLEANUP(freep) char *text = NULL;
    char path[PATH_SIZE];
    size_t size;
    int r;

    snprintf(path, sizeof path, "proc/%d/task/%d/stat", pid, tid);
    r = host->ops->read_file(host->self, path, STAT_BYTES, &text, &size);
    if (r)
        return condition_of(r);
    return vmm_thread_parse(text, thread) || thread->tid != tid ? VMM_GONE : 0;
}

static int vmm_add_thread(struct vmm *vmm, const struct vmm_thread *thread)
{
    size_t at = vmm->n_vcpus;

    if (ARRAY_RESERVE(vmm->vcpus, vmm->vcpus_cap, vmm->n_vcpus + 1) < 0)
        return -ENOMEM;
    for (; at > 0 && vmm->vcpus[at - 1].thread.tid > thread->tid; at--)
        vmm->vcpus[at] = vmm->vcpus[at - 1];
    vmm->vcpus[at] = (struct vmm_vcpu){.thread = *thread, .node = -1};
    vmm->n_vcpus++;
    return 0;
}

static bool look_thread(void *userdata, const char *name)
{
    struct look *look = userdata;
    struct vmm_thread thread;
    int r;

    r = read_thread(look->host, look->pid, atoi(name), &thread);
    if (!r && vmm_thread_is_vcpu(&thread))
        r = vmm_add_thread(look->vmm, &thread);
    if (r < 0)
        look->r = r;
    return r >= 0;
}

static int look_at_threads(struct look *look)
{
    const struct host *host = look->host;
    char path[PATH_SIZE];
    int r;

    snprintf(path, sizeof path, "proc/%d/task", look->pid);
    r = condition_of(host->ops->list_folder(host->self, path, THREADS_MAX, look_thread, look));
    return look->r < 0 ? look->r : r;
}

/* What cannot be read or is cut says nothing. */
static int look_at_args(const struct look *look, struct qemu_args *args)
{
    CLEANUP(freep) char *text = NULL;
    char path[PATH_SIZE];
    size_t size;
    int r;

    snprintf(path, sizeof path, "proc/%d/cmdline", look->pid);
    r = look->host->ops->read_file(look->host->self, path, CMDLINE_BYTES, &text, &size);
    if (r < 0)
        return r;
    return r || size >= CMDLINE_BYTES ? 0 : qemu_args_parse(args, text, size);
}

/* A node that has CPUs and no memory uses that of the others. */
static void vmm_place_vcpus(struct vmm *vmm, const struct qemu_args *args)
{
    for (size_t i = 0; i < vmm->n_vcpus; i++) {
        int node = qemu_args_cpu_node(args, vmm->vcpus[i].thread.index);

        vmm->vcpus[i].node = vmm_memory_has_node(&vmm->memory, node) ? node : -1;
    }
}

static int look_at_memory(struct look *look)
{
    CLEANUP(qemu_args_deinit) struct qemu_args args = {0};
    CLEANUP(freep) char *text = NULL;
    CLEANUP(fd_closep) int fd = -1;
    const struct host *host = look->host;
    size_t size;
    int r;

    r = look_at_args(look, &args);
    if (r)
        return r;
    r = condition_of(host->ops->read_maps(host->self, look->pid, &fd, &text, &size));
    if (!r)
        r = vmm_memory_find(&look->vmm->memory, &args, text, size);
    if (!r)
        vmm_place_vcpus(look->vmm, &args);
    return r;
}

/* Asked last: then all that was read is of the process that is meant. */
static int look_at_identity(const struct look *look, uint64_t start_ticks)
{
    CLEANUP(freep) char *text = NULL;
    struct process process = {0};
    char path[PATH_SIZE];
    size_t size;
    int r;

    snprintf(path, sizeof path, "proc/%d/stat", look->pid);
    r = look->host->ops->read_file(look->host->self, path, STAT_BYTES, &text, &size);
    if (r)
        return condition_of(r);
    return proc_text_stat(text, &process) || process.start_ticks != start_ticks ? VMM_GONE : 0;
}

int vmm_look(struct vmm *vmm, const struct host *host, pid_t pid, uint64_t start_ticks)
{
    struct look look = {.vmm = vmm, .host = host, .pid = pid};
    int r;

    if (!host->ops->list_folder || !host->ops->read_link)
        return VMM_NONE;
    r = look_at_fds(&look);
    if (!r)
        r = look_at_threads(&look);
    if (!r)
        r = look_at_memory(&look);
    if (!r)
        r = look_at_identity(&look, start_ticks);
    return r;
}

int vmm_read_times(struct vmm *vmm, const struct host *host, pid_t pid)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < vmm->n_vcpus; i++) {
        struct vmm_vcpu vcpu = vmm->vcpus[i];
        int r = read_thread(host, pid, vcpu.thread.tid, &vcpu.thread);

        if (r < 0)
            return r;
        if (!r && vcpu.thread.start_ticks == vmm->vcpus[i].thread.start_ticks)
            vmm->vcpus[n_kept++] = vcpu;
    }
    vmm->n_vcpus = n_kept;
    return n_kept > 0 ? 0 : VMM_GONE;
}

static int copy_items(void *top, const void *from, size_t n, size_t size)
{
    void **to = top;

    if (n == 0)
        return 0;
    *to = malloc(n * size);
    if (!*to)
        return -ENOMEM;
    memcpy(*to, from, n * size);
    return 0;
}

int vmm_copy(struct vmm *vmm, const struct vmm *from)
{
    CLEANUP(vmm_deinit) struct vmm copy = {0};
    const struct vmm_memory *memory = &from->memory;

    if (copy_items(&copy.vcpus, from->vcpus, from->n_vcpus, sizeof *from->vcpus) < 0 ||
        copy_items(&copy.memory.ranges, memory->ranges, memory->n_ranges, sizeof *memory->ranges))
        return -ENOMEM;
    copy.n_vcpus = copy.vcpus_cap = from->n_vcpus;
    copy.memory.n_ranges = copy.memory.cap = memory->n_ranges;
    copy.n_fds = from->n_fds;
    *vmm = copy;
    copy = (struct vmm){0};
    return 0;
}
