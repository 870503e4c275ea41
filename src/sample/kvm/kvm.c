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
#include "sample/kvm/kvm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numabd/sample.h"
#include "sample/kvm/kvm_processes.h"
#include "sample/kvm/kvm_request.h"
#include "sample/kvm/kvm_spread.h"
#include "sample/kvm/vmm.h"
#include "util/procfs.h"
#include "util/scan.h"

#define REQUEST_LANE 0
#define MISC_BYTES ((size_t)65536)

struct kvm {
    struct source_options options; /* pointers are the caller's: `host` and `cpu_skip` are NULL */
    struct host host;
    double tick_sec;
    struct sample_counts counts;
    struct source_link *link;
    struct kvm_processes processes;
    pid_t looked_pid; /* the last one; the next in order is the next one's turn */
};

static size_t kvm_records_max(const struct kvm *kvm)
{
    uint64_t n = KVM_RECORDS_PER_ROUND / (kvm_processes_machines(&kvm->processes) + 1);

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
        .step_bytes = kvm_step_bytes(kvm_processes_guest_bytes(&kvm->processes), KVM_POINTS_MAX),
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
    bool starts = !request->r && request->vmm.n_vcpus < request->vmm.n_fds;
    uint64_t period = starts ? KVM_LOOK_SOON_NSEC : KVM_LOOK_NSEC;
    uint64_t cost = KVM_LOOK_COST_FACTOR * request->work.cpu_nsec;

    process->look_nsec = request->now + (cost > period ? cost : period);
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
    CLEANUP(kvm_request_freep) struct kvm_request *request = (struct kvm_request *)work;
    struct kvm *kvm = request->link->owner;
    struct kvm_process *process = kvm ? kvm_processes_find(&kvm->processes, work->pid) : NULL;

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
    .run = kvm_request_run,
    .done = request_work_done,
    .free = kvm_request_free_work,
};

/* Asks about a process. Return: 0 or -ENOMEM. */
static int kvm_ask(struct kvm *kvm, struct kvm_process *process, bool looks, uint64_t now)
{
    struct kvm_request *request;
    int r;

    r = kvm_request_new(&request, kvm->link, &kvm->host, process, looks, &request_work_ops);
    if (r)
        return r;
    request->now = now;
    process->in_flight = true;
    worker_pool_submit(kvm->options.pool, REQUEST_LANE, &request->work);
    return 0;
}

/* Looks at those whose time has come, each in turn. */
static int kvm_ask_looks(struct kvm *kvm, uint64_t now)
{
    size_t n = kvm->processes.n, n_asked = 0, first = 0;
    int r = 0;

    while (first < n && kvm->processes.items[first]->pid <= kvm->looked_pid)
        first++;
    for (size_t i = 0; i < n && n_asked < KVM_LOOKS_PER_ROUND && !r; i++) {
        struct kvm_process *process = kvm->processes.items[(first + i) % n];

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

    for (size_t i = 0; i < kvm->processes.n && !r; i++)
        if (!kvm->processes.items[i]->in_flight && kvm_process_is_machine(kvm->processes.items[i]))
            r = kvm_ask(kvm, kvm->processes.items[i], false, now);
    return r;
}

static int kvm_round(void *self, const struct sample_round *round, struct source_reason *reason)
{
    struct kvm *kvm = self;
    int r;

    (void)reason;
    r = kvm_processes_follow(&kvm->processes, round);
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
    size_t n = kvm_processes_machines(&kvm->processes), n_vcpus = 0, n_denied = 0;
    int used;

    for (size_t i = 0; i < kvm->processes.n; i++) {
        n_vcpus += kvm->processes.items[i]->vmm.n_vcpus;
        n_denied += kvm->processes.items[i]->denied;
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
    kvm_processes_deinit(&kvm->processes);
    source_link_cut(kvm->link);
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
    if (r == -ENOMEM)
        return r;
    if (!r && misc_has_kvm(text, size))
        return 0;
    if (r < 0)
        snprintf(reason->text, sizeof reason->text, "/proc/misc: %s%s", strerrordesc_np(-r),
                 r == -EMFILE ? ": raise LimitNOFILE=" : "");
    else
        snprintf(reason->text, sizeof reason->text,
                 r == PROCFS_DENIED
                     ? "reading /proc/misc is not permitted"
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
    kvm->link = source_link_new(kvm);
    if (!kvm->link)
        return -ENOMEM;
    kvm->options = *options;
    kvm->options.host = NULL;
    kvm->options.cpu_skip = NULL;
    kvm->host = *options->host;
    kvm->tick_sec = 1.0 / (double)sysconf(_SC_CLK_TCK);
    *source = (struct source){.ops = &ops, .self = TAKE(kvm)};
    return 0;
}
