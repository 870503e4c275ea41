/*
 * The kvm source: vCPU threads of virtual machines stand for accesses to the memory of their guest
 * node. From outside nobody sees which addresses a guest uses: registers at a VM exit are the
 * kernel's, and guest writes fault without a perf event. What is known is which vCPU ran for how
 * long and where, and which memory a vCPU can be expected to use. So a guest's memory follows its
 * vCPUs; where vCPUs of several nodes use the same memory, it looks shared, and is. Which of it is
 * hot is for idle_page to tell.
 *
 * A guest node with memory and no CPUs is left where it is: nothing says who uses it.
 *
 * Other sources need no exclusion of monitors. The timer event excludes the kernel, and a timer
 * that fires in a guest is handled after the exit, in the kernel: it gives no sample. What it does
 * sample is the monitor's own code (emulated devices), which is right, on guest memory too.
 * write_fault leaves every process with KVM files alone. mem_events has to drop records whose
 * cpumode is a guest's (PERF_RECORD_MISC_GUEST_KERNEL and _USER): their addresses are the guest's.
 *
 * Each process has at most one request with the workers:
 *
 *     round -> request (look at the process, or read its vCPUs' times) -> difference to the last
 *     times -> spread over the memory -> sink
 */
#include "sample/kvm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numabd/sample.h"
#include "sample/kvm_spread.h"
#include "sample/vmm.h"
#include "util/array.h"
#include "util/procfs.h"
#include "util/scan.h"

#define REQUEST_TIMEOUT_NSEC (2 * NSEC_PER_SEC)
#define REQUEST_LANE 0
#define MISC_BYTES ((size_t)65536)

struct kvm_link {
    unsigned n_refs; /* atomic: workers give up theirs too */
    struct kvm *kvm; /* loop thread only; NULL once it is freed */
};

struct kvm_request {
    struct work work;
    struct kvm_link *link;
    struct host host;
    uint64_t start_ticks, serial, now;
    bool looks;     /* else it reads the times of the vCPUs in vmm */
    struct vmm vmm; /* result */
    int r;          /* of vmm_look or vmm_read_times */
};

/* A target; most are no machines. */
struct kvm_process {
    pid_t pid;
    uint64_t start_ticks, serial; /* serial: unique */
    uint64_t look_nsec;           /* when it is looked at again */
    bool in_flight, denied;
    struct vmm vmm; /* as last read; no vCPUs: no machine */
    struct kvm_spread spread;
};

struct kvm {
    struct source_options options; /* pointers are the caller's: `host` and `cpu_skip` are NULL */
    struct host host;
    double tick_sec;
    struct sample_counts counts;
    struct kvm_link *link;
    struct kvm_process **processes; /* ascending pids */
    size_t n_processes;
    uint64_t n_serials;
    pid_t looked_pid; /* the last one; the next in order is the next one's turn */
};

static struct kvm_link *link_unref(struct kvm_link *link)
{
    if (link && __atomic_sub_fetch(&link->n_refs, 1, __ATOMIC_ACQ_REL) == 0)
        free(link);
    return NULL;
}

static struct kvm_process *process_free(struct kvm_process *process)
{
    if (!process)
        return NULL;
    vmm_deinit(&process->vmm);
    free(process);
    return NULL;
}

static struct kvm_request *request_free(struct kvm_request *request)
{
    if (!request)
        return NULL;
    link_unref(request->link);
    vmm_deinit(&request->vmm);
    free(request);
    return NULL;
}
CLEANUP_DEFINE(struct kvm_request *, request_free)

static void request_work_free(struct work *work)
{
    request_free((struct kvm_request *)work);
}

static void request_work_run(struct work *work)
{
    struct kvm_request *request = (struct kvm_request *)work;

    request->r = request->looks
                     ? vmm_look(&request->vmm, &request->host, work->pid, request->start_ticks)
                     : vmm_read_times(&request->vmm, &request->host, work->pid);
}

static struct kvm_process *kvm_find(const struct kvm *kvm, pid_t pid)
{
    size_t low = 0, high = kvm->n_processes;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (kvm->processes[middle]->pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < kvm->n_processes && kvm->processes[low]->pid == pid ? kvm->processes[low] : NULL;
}

static bool process_is_machine(const struct kvm_process *process)
{
    return process->vmm.n_vcpus > 0;
}

static size_t kvm_n_machines(const struct kvm *kvm)
{
    size_t n = 0;

    for (size_t i = 0; i < kvm->n_processes; i++)
        n += process_is_machine(kvm->processes[i]);
    return n;
}

static uint64_t kvm_guest_bytes(const struct kvm *kvm)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < kvm->n_processes; i++) {
        const struct vmm_memory *memory = &kvm->processes[i]->vmm.memory;

        for (size_t j = 0; j < memory->n_ranges; j++)
            bytes += memory->ranges[j].end - memory->ranges[j].start;
    }
    return bytes;
}

static size_t kvm_records_max(const struct kvm *kvm)
{
    uint64_t n = KVM_RECORDS_PER_ROUND / (kvm_n_machines(kvm) + 1);

    return n > KVM_RECORDS_MIN ? n : KVM_RECORDS_MIN;
}

static void kvm_push(struct kvm *kvm, const struct kvm_accesses *accesses)
{
    kvm->counts.n_samples += accesses->n_ran;
    kvm->counts.n_unresolved += accesses->unplaced_sec > 0;
    kvm->counts.n_accesses += accesses->n;
    if (accesses->n > 0)
        kvm->options.sink.push(kvm->options.sink.userdata, accesses->items, accesses->n);
}

/* What ran since the last reading goes to the sink, and this reading is the last one from now on.
 */
static void kvm_take_vmm(struct kvm *kvm, struct kvm_process *process, struct kvm_request *request)
{
    const struct kvm_spread_round round = {
        .pid = process->pid,
        .now = request->now,
        .tick_sec = kvm->tick_sec,
        .step_bytes = kvm_step_bytes(kvm_guest_bytes(kvm), KVM_POINTS_MAX),
        .n_max = kvm_records_max(kvm),
    };
    struct kvm_accesses accesses = {0};
    int r;

    r = kvm_spread(&process->spread, &round, &process->vmm, &request->vmm, &accesses);
    if (!r)
        kvm_push(kvm, &accesses);
    free(accesses.items);
    vmm_deinit(&process->vmm);
    process->vmm = request->vmm;
    request->vmm = (struct vmm){0};
}

static void process_set_next_look(struct kvm_process *process, const struct kvm_request *request)
{
    uint64_t cost = KVM_LOOK_COST_FACTOR * request->work.cpu_nsec;
    uint64_t period = cost > KVM_LOOK_NSEC ? cost : KVM_LOOK_NSEC;

    if (!request->r && request->vmm.n_vcpus < request->vmm.n_fds)
        period = KVM_LOOK_SOON_NSEC;
    process->look_nsec = request->now + period;
}

static void kvm_take_result(struct kvm *kvm, struct kvm_process *process,
                            struct kvm_request *request)
{
    if (request->looks) {
        process_set_next_look(process, request);
        process->denied = request->r == VMM_DENIED;
    }
    if (request->r < 0)
        return; /* no memory, no descriptors: what was known holds */
    if (!request->r) {
        kvm_take_vmm(kvm, process, request);
        return;
    }
    vmm_deinit(&process->vmm);
    /* Its vCPUs have ended: another program may run in it by now. */
    if (!request->looks)
        process->look_nsec = request->now;
}

static void request_work_done(struct work *work)
{
    CLEANUP(request_freep) struct kvm_request *request = (struct kvm_request *)work;
    struct kvm *kvm = request->link->kvm;
    struct kvm_process *process = kvm ? kvm_find(kvm, work->pid) : NULL;

    if (!process || process->serial != request->serial)
        return;
    process->in_flight = false;
    if (!kvm->options.filter.wants(kvm->options.filter.userdata, work->pid))
        kvm->counts.n_foreign++;
    else if (!work->late)
        kvm_take_result(kvm, process, request);
}

static const struct work_ops request_work_ops = {
    .name = "kvm",
    .run = request_work_run,
    .done = request_work_done,
    .free = request_work_free,
};

/* Asks about a process. Return: 0 or -ENOMEM. */
static int kvm_ask(struct kvm *kvm, struct kvm_process *process, bool looks, uint64_t now)
{
    CLEANUP(request_freep) struct kvm_request *request = calloc(1, sizeof *request);
    int r;

    if (!request)
        return -ENOMEM;
    request->work = (struct work){
        .ops = &request_work_ops,
        .pid = process->pid,
        .timeout_nsec = REQUEST_TIMEOUT_NSEC,
    };
    request->host = kvm->host;
    request->start_ticks = process->start_ticks;
    request->serial = process->serial;
    request->now = now;
    request->looks = looks;
    r = looks ? 0 : vmm_copy(&request->vmm, &process->vmm);
    if (r)
        return r;
    request->link = kvm->link;
    __atomic_add_fetch(&kvm->link->n_refs, 1, __ATOMIC_RELAXED);
    process->in_flight = true;
    worker_pool_submit(kvm->options.pool, REQUEST_LANE, &TAKE(request)->work);
    return 0;
}

/* Looks at those whose time has come, each in turn. */
static int kvm_ask_looks(struct kvm *kvm, uint64_t now)
{
    size_t n = kvm->n_processes, n_asked = 0, first = 0;
    int r = 0;

    while (first < n && kvm->processes[first]->pid <= kvm->looked_pid)
        first++;
    for (size_t i = 0; i < n && n_asked < KVM_LOOKS_PER_ROUND && !r; i++) {
        struct kvm_process *process = kvm->processes[(first + i) % n];

        if (process->in_flight || now < process->look_nsec)
            continue;
        kvm->looked_pid = process->pid;
        n_asked++;
        r = kvm_ask(kvm, process, true, now);
    }
    return r;
}

static int kvm_ask_times(struct kvm *kvm, uint64_t now)
{
    int r = 0;

    for (size_t i = 0; i < kvm->n_processes && !r; i++)
        if (!kvm->processes[i]->in_flight && process_is_machine(kvm->processes[i]))
            r = kvm_ask(kvm, kvm->processes[i], false, now);
    return r;
}

static struct kvm_process *process_new(struct kvm *kvm, const struct sample_target *target)
{
    struct kvm_process *process = calloc(1, sizeof *process);

    if (!process)
        return NULL;
    process->pid = target->pid;
    process->start_ticks = target->start_ticks;
    process->serial = ++kvm->n_serials;
    process->spread.random = process->serial;
    return process;
}

/* The known process that is the target, taken out of the list. */
static struct kvm_process *kvm_take_known(struct kvm *kvm, size_t *atp,
                                          const struct sample_target *target)
{
    struct kvm_process **processes = kvm->processes;

    while (*atp < kvm->n_processes && processes[*atp]->pid < target->pid)
        ++*atp;
    if (*atp >= kvm->n_processes || processes[*atp]->pid != target->pid ||
        processes[*atp]->start_ticks != target->start_ticks)
        return NULL;
    return TAKE(processes[*atp]);
}

static void kvm_drop_processes(struct kvm *kvm)
{
    for (size_t i = 0; i < kvm->n_processes; i++)
        process_free(kvm->processes[i]);
    free(kvm->processes);
    kvm->processes = NULL;
    kvm->n_processes = 0;
}

/* From here on the targets are known, and nobody else. Return: 0 or -ENOMEM. */
static int kvm_follow(struct kvm *kvm, const struct sample_round *round)
{
    struct kvm_process **followed = calloc(round->n_targets + 1, sizeof(struct kvm_process *));
    size_t at = 0, n = 0;
    bool failed = !followed;

    for (; n < round->n_targets && !failed; n += !failed) {
        const struct sample_target *target = &round->targets[n];
        struct kvm_process *known = kvm_take_known(kvm, &at, target);

        followed[n] = known ? known : process_new(kvm, target);
        failed = !followed[n];
        /* The search goes on behind it: its place is empty. */
        at += known != NULL;
    }
    kvm_drop_processes(kvm);
    kvm->processes = followed;
    kvm->n_processes = n;
    return failed ? -ENOMEM : 0;
}

static int kvm_round(void *self, const struct sample_round *round, struct source_reason *reason)
{
    struct kvm *kvm = self;
    int r;

    (void)reason;
    r = kvm_follow(kvm, round);
    if (!r)
        r = kvm_ask_looks(kvm, round->now);
    return r ? r : kvm_ask_times(kvm, round->now);
}

static int kvm_drain(void *self)
{
    (void)self; /* accesses come through requests only */
    return 0;
}

static const struct sample_counts *kvm_counts(void *self)
{
    struct kvm *kvm = self;

    return &kvm->counts;
}

static void kvm_describe(void *self, char *text, size_t size)
{
    const struct kvm *kvm = self;
    size_t n = kvm_n_machines(kvm), n_vcpus = 0, n_denied = 0;
    int used;

    for (size_t i = 0; i < kvm->n_processes; i++) {
        n_vcpus += kvm->processes[i]->vmm.n_vcpus;
        n_denied += kvm->processes[i]->denied;
    }
    used = snprintf(text, size, "%zu virtual machine%s, %zu vCPU%s", n, n == 1 ? "" : "s", n_vcpus,
                    n_vcpus == 1 ? "" : "s");
    if (n_denied > 0 && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ", %zu process%s not to be looked into",
                 n_denied, n_denied == 1 ? "" : "es");
}

static struct kvm *kvm_free(struct kvm *kvm)
{
    if (!kvm)
        return NULL;
    kvm_drop_processes(kvm);
    if (kvm->link)
        kvm->link->kvm = NULL;
    link_unref(kvm->link);
    free(kvm);
    return NULL;
}
CLEANUP_DEFINE(struct kvm *, kvm_free)

static void kvm_source_free(void *self)
{
    kvm_free(self);
}

/* Of /proc/misc, "232 kvm": is the device registered? */
static bool misc_has_kvm(const char *text, size_t size)
{
    struct scan misc = {.at = text, .end = text + size}, line;
    uint64_t minor;

    while (!scan_at_end(&misc)) {
        (void)scan_line(&misc, &line);
        scan_blanks(&line);
        if (scan_decimal(&line, UINT64_MAX, &minor) && scan_blanks(&line) &&
            scan_literal(&line, "kvm") && scan_at_end(&line))
            return true;
    }
    return false;
}

/* Return: 0, SOURCE_UNAVAILABLE with the reason, or a negative errno. */
static int kvm_probe(const struct host *host, struct source_reason *reason)
{
    CLEANUP(freep) char *text = NULL;
    size_t size = 0;
    int r;

    r = host->ops->read_file(host->self, "proc/misc", MISC_BYTES, &text, &size);
    if (r < 0)
        return r;
    if (!r && misc_has_kvm(text, size))
        return 0;
    snprintf(reason->text, sizeof reason->text,
             r == PROCFS_DENIED ? "reading /proc/misc is not permitted"
                                : "no kvm in /proc/misc: no KVM here, or its module (kvm_intel, "
                                  "kvm_amd) is not loaded");
    return SOURCE_UNAVAILABLE;
}

int kvm_new(struct source *source, const struct source_options *options,
            struct source_reason *reason)
{
    static const struct source_ops ops = {
        .name = "kvm",
        .round = kvm_round,
        .drain = kvm_drain,
        .counts = kvm_counts,
        .describe = kvm_describe,
        .free = kvm_source_free,
    };
    CLEANUP(kvm_freep) struct kvm *kvm = NULL;
    int r;

    r = kvm_probe(options->host, reason);
    if (r)
        return r;
    kvm = calloc(1, sizeof *kvm);
    if (!kvm)
        return -ENOMEM;
    kvm->link = calloc(1, sizeof *kvm->link);
    if (!kvm->link)
        return -ENOMEM;
    *kvm->link = (struct kvm_link){.n_refs = 1, .kvm = kvm};
    kvm->options = *options;
    kvm->options.host = NULL;
    kvm->options.cpu_skip = NULL;
    kvm->host = *options->host;
    kvm->tick_sec = 1.0 / (double)sysconf(_SC_CLK_TCK);
    *source = (struct source){.ops = &ops, .self = TAKE(kvm)};
    return 0;
}
