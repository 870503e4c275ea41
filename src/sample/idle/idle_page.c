/*
 * The idle_page source. Each round takes some pages of the round's ranges (idle_turn.c, as many as
 * idle_budget.c gives), and asks a worker for each process concerned to check what was armed a
 * round ago and to arm these (idle_scan.c). Nobody else is touched: no bit is set for pages outside
 * the ranges, and no target takes a fault.
 *
 *     ranges -> next (one list per process) -> scan in flight -> armed -> scan in flight -> sink
 *
 * A process has at most one scan with the workers, so that one that is stuck costs one worker.
 * Scans can outlive the source: they share only the link with it (source_link.h).
 *
 * When the bitmap or the frames are refused, the next round says so, and the sampler takes the
 * source out.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "numabd/sample.h"
#include "sample/idle/idle_budget.h"
#include "sample/idle/idle_probe.h"
#include "sample/idle/idle_process.h"
#include "sample/idle/idle_scan.h"
#include "sample/idle/idle_turn.h"
#include "sample/source_link.h"
#include "util/nsec.h"
#include "util/pid_array.h"

#define REQUEST_TIMEOUT_NSEC (2 * NSEC_PER_SEC)
#define REQUEST_LANE 0

struct idle_request {
    struct work work;
    struct source_link *link;
    struct host host;
    uint64_t start_ticks;
    uint64_t when_nsec; /* of the round */
    size_t n_pages;     /* to be checked and armed */
    size_t n_next;      /* to be armed: what the budget counts; checking is in their price */
    struct idle_scan scan;
    int r; /* of idle_scan_run */
};

struct idle_page {
    struct source_options options; /* pointers are the caller's: `host` and `cpu_skip` are NULL */
    struct host host;
    struct source_link *link;
    struct idle_processes processes;
    struct idle_turn turn;
    struct idle_budget budget;
    struct sample_counts counts;
    const struct sample_round *round; /* during idle_page_round */
    bool failed;
    struct source_reason reason; /* why */
};

static struct idle_request *request_free(struct idle_request *request)
{
    if (!request)
        return NULL;
    source_link_unref(request->link);
    idle_scan_deinit(&request->scan);
    free(request);
    return NULL;
}
CLEANUP_DEFINE(struct idle_request *, request_free)

static void request_work_run(struct work *work)
{
    struct idle_request *request = (struct idle_request *)work;

    request->r = idle_scan_run(&request->host, work->pid, &request->scan);
}

static void request_work_free(struct work *work)
{
    request_free((struct idle_request *)work);
}

static bool idle_wants(const struct idle_page *idle, pid_t pid)
{
    return idle->options.filter.wants(idle->options.filter.userdata, pid);
}

/* A failure of the source itself; being short of memory may pass. */
static void idle_fail(struct idle_page *idle, const struct idle_request *request)
{
    if (request->r == -ENOMEM)
        return;
    idle->failed = true;
    idle_probe_explain(request->r, request->scan.path, &idle->reason);
}

static void idle_push(struct idle_page *idle, const struct idle_request *request)
{
    for (size_t i = 0; i < request->scan.touched.n; i++) {
        const struct access access = {
            .when_nsec = request->when_nsec,
            .pid = request->work.pid,
            .cpu = -1,
            .addr = request->scan.touched.items[i].addr,
            .kind = ACCESS_TOUCH,
            .source = ACCESS_SOURCE_IDLE_PAGE,
        };

        idle->options.sink.push(idle->options.sink.userdata, &access, 1);
        idle->counts.n_accesses++;
    }
}

/* What a scan found, of a process that is still the one that was meant. */
static void idle_take_result(struct idle_page *idle, struct idle_process *process,
                             struct idle_request *request)
{
    struct idle_scan *scan = &request->scan;
    struct access_work work = {0};

    if (request->r < 0 || request->r == IDLE_SCAN_HIDDEN) {
        idle_fail(idle, request);
        return;
    }
    idle->counts.n_samples += scan->n_checked;
    idle->counts.n_unresolved += scan->n_unresolved;
    idle_push(idle, request);
    idle_armed_deinit(&process->armed);
    process->armed = scan->armed;
    scan->armed = IDLE_ARMED_NULL;
    work.n_armed = process->armed.frames.n;
    access_sink_work(&idle->options.sink, request->work.pid, &work);
}

static void request_work_done(struct work *work)
{
    CLEANUP(request_freep) struct idle_request *request = (struct idle_request *)work;
    struct idle_page *idle = request->link->owner;
    struct idle_process *process;

    if (!idle)
        return;
    process = idle_processes_find(&idle->processes, work->pid);
    if (process)
        process->in_flight = false;
    if (!work->late)
        idle_budget_learn(&idle->budget, request->n_next, work->cpu_nsec);
    if (work->late)
        idle->counts.n_unresolved += request->n_pages;
    else if (!process || process->start_ticks != request->start_ticks ||
             !idle_wants(idle, work->pid))
        idle->counts.n_foreign += request->n_pages;
    else
        idle_take_result(idle, process, request);
}

static const struct work_ops request_work_ops = {
    .name = "idle_page",
    .run = request_work_run,
    .done = request_work_done,
    .free = request_work_free,
};

static struct idle_request *request_new(struct idle_page *idle, struct idle_process *process)
{
    struct idle_request *request;

    request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->work = (struct work){
        .ops = &request_work_ops,
        .pid = process->pid,
        .timeout_nsec = REQUEST_TIMEOUT_NSEC,
    };
    request->host = idle->host;
    request->start_ticks = process->start_ticks;
    request->when_nsec = idle->round->now;
    request->n_next = process->next.n;
    request->n_pages = process->armed.frames.n + process->next.n;
    request->scan = IDLE_SCAN_NULL;
    request->scan.armed = process->armed;
    request->scan.next = process->next;
    process->armed = IDLE_ARMED_NULL;
    process->next = (struct page_frames){0};
    request->link = source_link_ref(idle->link);
    return request;
}

static void idle_submit(struct idle_page *idle)
{
    for (size_t i = 0; i < idle->processes.n; i++) {
        struct idle_process *process = &idle->processes.items[i];
        struct idle_request *request;

        if (process->in_flight || process->armed.frames.n + process->next.n == 0)
            continue;
        request = request_new(idle, process);
        if (!request)
            continue;
        process->in_flight = true;
        worker_pool_submit(idle->options.pool, REQUEST_LANE, &request->work);
    }
}

static const struct sample_target *round_find(const struct sample_round *round, pid_t pid)
{
    size_t at = PID_ARRAY_POSITION(round->targets, round->n_targets, pid);

    return at < round->n_targets && round->targets[at].pid == pid ? &round->targets[at] : NULL;
}

/* What was armed of a process is worth checking as long as it is a target. */
static bool round_keeps(void *userdata, const struct idle_process *process)
{
    const struct idle_page *idle = userdata;
    const struct sample_target *target = round_find(idle->round, process->pid);

    return target && target->start_ticks == process->start_ticks && idle_wants(idle, process->pid);
}

static bool turn_wants(void *userdata, pid_t pid)
{
    const struct idle_page *idle = userdata;
    const struct idle_process *process = idle_processes_find(&idle->processes, pid);

    return round_find(idle->round, pid) && !(process && process->in_flight) &&
           idle_wants(idle, pid);
}

static void turn_take(void *userdata, pid_t pid, uint64_t addr)
{
    struct idle_page *idle = userdata;
    struct idle_process *process =
        idle_processes_get(&idle->processes, pid, round_find(idle->round, pid)->start_ticks);

    /* Without memory it is its turn again later. */
    if (process)
        (void)page_frames_add(&process->next, &(struct page_frame){.addr = addr});
}

static int idle_page_round(void *self, const struct sample_round *round,
                           struct source_reason *reason)
{
    static const struct idle_turn_ops turn_ops = {.wants = turn_wants, .take = turn_take};
    struct idle_page *idle = self;

    if (idle->failed) {
        *reason = idle->reason;
        return SOURCE_UNAVAILABLE;
    }
    idle->round = round;
    idle_processes_prune(&idle->processes, round_keeps, idle);
    idle_turn_next(&idle->turn, round->ranges, round->n_ranges, idle->host.page_bytes,
                   idle_budget_give(&idle->budget, round->cpu_budget, round->now), &turn_ops, idle);
    idle_submit(idle);
    idle->round = NULL;
    return 0;
}

static int idle_page_drain(void *self)
{
    (void)self; /* results come through the workers */
    return 0;
}

static const struct sample_counts *idle_page_counts(void *self)
{
    struct idle_page *idle = self;

    return &idle->counts;
}

static void idle_page_describe(void *self, char *text, size_t size)
{
    const struct idle_page *idle = self;
    size_t n_armed = 0;

    for (size_t i = 0; i < idle->processes.n; i++)
        n_armed += idle->processes.items[i].armed.frames.n;
    snprintf(text, size, "%zu pages armed in %zu processes, %.1f us a page", n_armed,
             idle->processes.n, idle->budget.page_nsec / (double)NSEC_PER_USEC);
}

static struct idle_page *idle_page_free(struct idle_page *idle)
{
    if (!idle)
        return NULL;
    idle_processes_deinit(&idle->processes);
    source_link_cut(idle->link);
    free(idle);
    return NULL;
}
CLEANUP_DEFINE(struct idle_page *, idle_page_free)

static void idle_page_source_free(void *self)
{
    idle_page_free(self);
}

static const struct source_ops idle_page_ops = {
    .name = "idle_page",
    .round = idle_page_round,
    .drain = idle_page_drain,
    .counts = idle_page_counts,
    .describe = idle_page_describe,
    .free = idle_page_source_free,
};

int idle_page_new(struct source *source, const struct source_options *options,
                  struct source_reason *reason)
{
    CLEANUP(idle_page_freep) struct idle_page *idle = NULL;
    int r;

    r = idle_probe(options->host, reason);
    if (r)
        return r;
    idle = calloc(1, sizeof *idle);
    if (!idle)
        return -ENOMEM;
    idle->link = source_link_new(idle);
    if (!idle->link)
        return -ENOMEM;
    idle->options = *options;
    idle->options.host = NULL;
    idle->options.cpu_skip = NULL;
    idle->host = *options->host;
    idle->budget = IDLE_BUDGET_START;
    *source = (struct source){.ops = &idle_page_ops, .self = TAKE(idle)};
    return 0;
}
