/*
 * The timer source. A drain takes the samples of wanted processes from the scope and gathers them
 * by process into requests; a worker reads the code and computes addresses (timer_resolve.c);
 * done() hands them to the sink, back in the loop.
 *
 * Reading code can block on the process for as long as its owner likes. So a process has at most
 * one request with the workers: while it does not answer, the next request fills up, and what
 * exceeds that is dropped and counted. A process that is stuck costs one worker, not one per drain.
 *
 *     scope -> filling (one per process) -> in flight (one per process) -> sink
 *
 * Requests can outlive the source: a lost worker may give one back at any time. What they share
 * with it is counted: the link (source_link.h) and the shelf of decoded code.
 */
#include "sample/timer/timer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "sample/scope/perf_scope.h"
#include "sample/source_link.h"
#include "sample/timer/timer_resolve.h"
#include "util/array.h"
#include "util/nsec.h"
#include "util/pid_array.h"

/* A drain of 100 ms at 250 Hz brings 25 per CPU: 6,400 of one process on 256 CPUs. */
#define REQUEST_SAMPLES_MAX 8192
#define REQUEST_TIMEOUT_NSEC (2 * NSEC_PER_SEC)
#define REQUEST_LANE 0

struct timer_request {
    struct work work;
    struct source_link *link;
    struct code_shelf *shelf;
    struct host host;
    bool backward;
    struct timer_sample *samples;
    size_t n_samples, cap;
    struct timer_result result;
    int r; /* of timer_resolve */
};

/* A process with a request. */
struct timer_process {
    pid_t pid;
    struct timer_request *filling;
    bool in_flight;
};

struct timer {
    struct source_options options;
    struct host host;
    bool backward;
    struct perf_scope *scope;
    struct sample_counts counts;
    struct source_link *link;
    struct code_shelf *shelf;        /* the workers' */
    struct timer_process *processes; /* ascending pids */
    size_t n_processes, cap;
};

static struct timer_request *request_free(struct timer_request *request)
{
    if (!request)
        return NULL;
    source_link_unref(request->link);
    code_shelf_unref(request->shelf);
    timer_result_deinit(&request->result);
    free(request->samples);
    free(request);
    return NULL;
}
CLEANUP_DEFINE(struct timer_request *, request_free)

static void request_work_run(struct work *work)
{
    struct timer_request *request = (struct timer_request *)work;

    request->r = timer_resolve(&request->host, work->pid, request->samples, request->n_samples,
                               request->backward, request->shelf, &request->result);
}

static void request_work_free(struct work *work)
{
    request_free((struct timer_request *)work);
}

/* Return: where the pid is or belongs. */
static size_t processes_position(const struct timer *timer, pid_t pid)
{
    return PID_ARRAY_POSITION(timer->processes, timer->n_processes, pid);
}

static struct timer_process *processes_find(struct timer *timer, pid_t pid)
{
    size_t at = processes_position(timer, pid);

    return at < timer->n_processes && timer->processes[at].pid == pid ? &timer->processes[at]
                                                                      : NULL;
}

static struct timer_process *processes_get(struct timer *timer, pid_t pid)
{
    struct timer_process *process = processes_find(timer, pid);
    size_t at = processes_position(timer, pid);

    if (process)
        return process;
    if (ARRAY_RESERVE(timer->processes, timer->cap, timer->n_processes + 1) < 0)
        return NULL;
    process = &timer->processes[at];
    memmove(process + 1, process, (timer->n_processes++ - at) * sizeof *process);
    *process = (struct timer_process){.pid = pid};
    return process;
}

static bool timer_wants(const struct timer *timer, pid_t pid)
{
    return timer->options.filter.wants(timer->options.filter.userdata, pid);
}

static void timer_take_result(struct timer *timer, const struct timer_request *request)
{
    const struct timer_result *result = &request->result;

    if (!timer_wants(timer, request->work.pid)) {
        timer->counts.n_foreign += request->n_samples;
    } else if (request->work.late || request->r < 0) {
        timer->counts.n_unresolved += request->n_samples;
    } else {
        timer->counts.n_unresolved += result->n_unresolved;
        timer->counts.n_accesses += result->n_accesses;
        if (result->n_accesses > 0)
            timer->options.sink.push(timer->options.sink.userdata, result->accesses,
                                     result->n_accesses);
    }
}

static void request_work_done(struct work *work)
{
    CLEANUP(request_freep) struct timer_request *request = (struct timer_request *)work;
    struct timer *timer = request->link->owner;
    struct timer_process *process;

    if (!timer)
        return;
    process = processes_find(timer, work->pid);
    if (process)
        process->in_flight = false;
    timer_take_result(timer, request);
}

static const struct work_ops request_work_ops = {
    .name = "timer",
    .run = request_work_run,
    .done = request_work_done,
    .free = request_work_free,
};

static struct timer_request *request_new(struct timer *timer, pid_t pid)
{
    struct timer_request *request;

    request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->work = (struct work){
        .ops = &request_work_ops,
        .pid = pid,
        .timeout_nsec = REQUEST_TIMEOUT_NSEC,
    };
    request->host = timer->host;
    request->backward = timer->backward;
    request->link = source_link_ref(timer->link);
    request->shelf = code_shelf_ref(timer->shelf);
    return request;
}

/* Room for one more sample of a process; NULL when its request is full (or memory is). */
static struct timer_sample *timer_room(struct timer *timer, pid_t pid)
{
    struct timer_process *process = processes_get(timer, pid);
    struct timer_request *request;

    if (!process)
        return NULL;
    if (!process->filling)
        process->filling = request_new(timer, pid);
    request = process->filling;
    if (!request || request->n_samples >= REQUEST_SAMPLES_MAX ||
        ARRAY_RESERVE(request->samples, request->cap, request->n_samples + 1) < 0)
        return NULL;
    return &request->samples[request->n_samples++];
}

static void timer_on_record(void *userdata, size_t event, uint64_t period_nsec,
                            const struct perf_event_header *record)
{
    struct timer *timer = userdata;
    struct timer_sample sample, *room;
    pid_t pid = perf_sample_pid(record);

    (void)event;
    timer->counts.n_samples++;
    if (pid == 0 || !timer_wants(timer, pid)) {
        timer->counts.n_foreign++;
        return;
    }
    if (perf_sample_decode(record, &sample) || sample.abi == PERF_SAMPLE_REGS_ABI_NONE ||
        !(room = timer_room(timer, pid))) {
        timer->counts.n_unresolved++;
        return;
    }
    sample.period_nsec = period_nsec;
    *room = sample;
}

/* A process may have been excluded while its samples waited. */
static void process_submit(struct timer *timer, struct timer_process *process)
{
    if (!process->filling || process->in_flight)
        return;
    if (!timer_wants(timer, process->pid)) {
        timer->counts.n_foreign += process->filling->n_samples;
        process->filling = request_free(process->filling);
        return;
    }
    process->in_flight = true;
    worker_pool_submit(timer->options.pool, REQUEST_LANE, &TAKE(process->filling)->work);
}

static void timer_submit(struct timer *timer)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < timer->n_processes; i++) {
        struct timer_process *process = &timer->processes[i];

        process_submit(timer, process);
        if (process->in_flight || process->filling)
            timer->processes[n_kept++] = *process;
    }
    timer->n_processes = n_kept;
}

static int timer_drain(void *self)
{
    struct timer *timer = self;

    perf_scope_read(timer->scope, timer_on_record, timer);
    timer_submit(timer);
    return 0;
}

static int timer_round(void *self, const struct sample_round *round, struct source_reason *reason)
{
    struct timer *timer = self;

    return perf_scope_round(timer->scope, round, reason);
}

static bool timer_lacks(void *self, struct source_reason *reason)
{
    const struct timer *timer = self;

    return perf_scope_lacks(timer->scope, reason);
}

static void timer_describe(void *self, char *text, size_t size)
{
    struct timer *timer = self;

    perf_scope_describe(timer->scope, text, size);
}

static const struct sample_counts *timer_counts(void *self)
{
    struct timer *timer = self;
    const struct perf_scope_counts *counts = perf_scope_counts(timer->scope);

    timer->counts.n_lost = counts->n_lost;
    timer->counts.n_interrupts = counts->n_interrupts;
    return &timer->counts;
}

static struct timer *timer_free(struct timer *timer)
{
    if (!timer)
        return NULL;
    for (size_t i = 0; i < timer->n_processes; i++)
        request_free(timer->processes[i].filling);
    free(timer->processes);
    perf_scope_free(timer->scope);
    source_link_cut(timer->link);
    code_shelf_unref(timer->shelf);
    free(timer);
    return NULL;
}
CLEANUP_DEFINE(struct timer *, timer_free)

static void timer_source_free(void *self)
{
    timer_free(self);
}

static int timer_open(struct timer *timer, const struct perf_kernel *kernel,
                      struct source_reason *reason)
{
    struct perf_scope_event event = {.leads = false};
    const struct perf_scope_options options = {
        .source = &timer->options,
        .events = &event,
        .n_events = 1,
        .record_bytes = PERF_SAMPLE_BYTES,
    };

    perf_sample_attr(&event.attr, timer->options.rate_hz);
    return perf_scope_new_from_kernel(&timer->scope, &options, kernel, reason);
}

int timer_new_from_kernel(struct source *source, const struct source_options *options,
                          bool backward, const struct perf_kernel *kernel,
                          struct source_reason *reason)
{
    static const struct source_ops ops = {
        .name = "timer",
        .round = timer_round,
        .drain = timer_drain,
        .counts = timer_counts,
        .describe = timer_describe,
        .lacks = timer_lacks,
        .free = timer_source_free,
    };
    CLEANUP(timer_freep) struct timer *timer = NULL;
    int r;

    if (options->rate_hz == 0)
        return -EINVAL;
    timer = calloc(1, sizeof *timer);
    if (!timer)
        return -ENOMEM;
    timer->link = source_link_new(timer);
    timer->shelf = code_shelf_new();
    if (!timer->link || !timer->shelf)
        return -ENOMEM;
    timer->options = *options;
    timer->host = *options->host;
    timer->backward = backward;
    r = timer_open(timer, kernel, reason);
    if (r)
        return r;
    *source = (struct source){.ops = &ops, .self = TAKE(timer)};
    return 0;
}

#ifdef __x86_64__

/*
 * QEMU's TCG takes interrupts between basic blocks: the IP is the start of one, and the instruction
 * before it belongs to code that may never have run. Its CPUID says so (leaf 0x40000000).
 */
static bool cpu_is_tcg(void)
{
    const unsigned hypervisor_bit = 1u << 31, signature_leaf = 0x40000000;
    unsigned eax, name[3], ecx, edx;

    if (!__get_cpuid(1, &eax, &name[0], &ecx, &edx) || !(ecx & hypervisor_bit))
        return false;
    __cpuid(signature_leaf, eax, name[0], name[1], name[2]);
    return memcmp(name, "TCGTCGTCGTCG", sizeof name) == 0;
}

/* Samples without the code that they interrupted would be taken for nothing. */
static bool reads_code(const struct host *host, struct source_reason *reason)
{
    char from = 0, to;
    struct iovec local = {&to, sizeof to}, remote = {&from, sizeof from};
    ssize_t got = host->ops->read_memory(host->self, getpid(), &local, &remote, 1);

    if (got == sizeof to)
        return true;
    snprintf(reason->text, sizeof reason->text,
             "process_vm_readv: %s: code cannot be read: allow it in the seccomp filter, or use a "
             "kernel with CONFIG_CROSS_MEMORY_ATTACH",
             strerrordesc_np(got < 0 ? (int)-got : EIO));
    return false;
}

int timer_new(struct source *source, const struct source_options *options,
              struct source_reason *reason)
{
    const struct perf_kernel kernel = perf_kernel_live();

    if (options->rate_hz && !reads_code(options->host, reason))
        return SOURCE_UNAVAILABLE;
    return timer_new_from_kernel(source, options, !cpu_is_tcg(), &kernel, reason);
}

#else

int timer_new(struct source *source, const struct source_options *options,
              struct source_reason *reason)
{
    (void)source, (void)options;
    snprintf(reason->text, sizeof reason->text,
             "the timer source computes addresses of x86-64 instructions only");
    return SOURCE_UNAVAILABLE;
}

#endif
