/*
 * The write_fault source. In each round it opens page fault events for targets that are due, lets a
 * worker clear their soft-dirty bits, collects the faults of the second that follows, lets a worker
 * look at what the target used meanwhile, and hands the faults over as accesses.
 *
 * The events are open before the clear, so that no first write is missed; what faulted before the
 * clear began is dropped by its time. A target whose interval is the shortest is cleared again as
 * soon as it was looked at, unless all windows are taken and others wait for one.
 *
 * Requests can outlive the source; they share only the link with it (source_link.h).
 */
#include "sample/fault/write_fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sample/fault/clear_request.h"
#include "sample/fault/fault_pace.h"
#include "sample/fault/fault_record.h"
#include "sample/fault/fault_target.h"
#include "sample/scope/perf_scope.h"
#include "util/nsec.h"

#define REQUEST_LANE 0
/* Rings are sized for so many faults a second and CPU; beyond it records are lost and counted. */
#define FAULT_RATE_HZ 20000
/* Rounds do not come to the nanosecond: what is due within so much is due now. */
#define SLACK_NSEC (FAULT_WINDOW_NSEC / 10)
/* What comes sooner behind a window tells no rate. */
#define TAIL_MIN_SEC 0.5
/* A smaller process tells more of the call than of its pages. */
#define LEARN_PAGES_MIN 1024

struct write_fault {
    struct source_options options; /* pointers are the caller's; `host` is ours */
    struct host host;
    struct write_fault_seams seams;
    struct perf_scope *scope;
    struct source_link *link;
    struct sample_counts counts;
    struct fault_targets targets;
    double sec_per_page; /* of all clears */
    uint64_t now;        /* of the last round */
    double budget;       /* of the last round: sampling_budget */
    uint64_t n_clears, n_windows;
    uint64_t n_execs; /* windows that were dropped for a new address space */
};

static bool wants(const struct write_fault *self, pid_t pid)
{
    return self->options.filter.wants(self->options.filter.userdata, pid);
}

static double sec_per_page_of(const struct write_fault *self, const struct fault_target *target)
{
    return target->sec_per_page > 0 ? target->sec_per_page : self->sec_per_page;
}

/* Sets it aside for the longest interval. */
static void target_refuse(struct write_fault *self, struct fault_target *target,
                          enum fault_verdict verdict)
{
    if (verdict == FAULT_TOO_LARGE)
        target->sec_per_page = fault_pace_forget(sec_per_page_of(self, target));
    target->verdict = verdict;
    target->phase = FAULT_WAITING;
    target->due_nsec = self->now + FAULT_INTERVAL_MAX_NSEC;
    self->counts.n_foreign += target->window.n_faults;
    fault_window_reset(&target->window);
}

static void on_record(void *userdata, size_t event, uint64_t period,
                      const struct perf_event_header *record)
{
    struct write_fault *self = userdata;
    pid_t pid = fault_record_pid(record);
    struct fault_target *target = pid ? fault_targets_find(&self->targets, pid) : NULL;
    struct fault fault;

    (void)event, (void)period;
    self->counts.n_samples++;
    if (!target || target->phase == FAULT_WAITING || !wants(self, pid))
        self->counts.n_foreign++;
    else if (fault_record_decode(record, &fault) || fault_window_add(&target->window, &fault))
        self->counts.n_unresolved++;
}

static int write_fault_drain(void *userdata)
{
    struct write_fault *self = userdata;

    self->seams.events->read(self->scope, on_record, self);
    self->counts.n_lost = self->seams.events->counts(self->scope)->n_lost;
    self->counts.n_interrupts = self->counts.n_samples + self->counts.n_lost;
    return 0;
}

static void on_request_done(struct work *work);

/* Return: 0 or -ENOMEM. */
static int target_submit(struct write_fault *self, struct fault_target *target, bool clear)
{
    const struct clear_task task = {
        .pid = target->pid,
        .start_ticks = target->start_ticks,
        .clear = clear,
        .sec_per_page = sec_per_page_of(self, target),
    };
    struct clear_request *request =
        clear_request_new(self->link, &self->host, &self->seams.clock, &task, on_request_done);

    if (!request)
        return -ENOMEM;
    request->serial = target->serial;
    target->phase = clear ? FAULT_CLEARING : FAULT_LOOKING;
    target->in_flight = true;
    worker_pool_submit(self->options.pool, REQUEST_LANE, &request->work);
    return 0;
}

static bool is_same_space(const struct proc_usage *before, const struct proc_usage *after)
{
    return before->code_start == after->code_start && before->stack_start == after->stack_start;
}

/* Pages that were not written in the window fault after it, until the next clear begins anew. */
static void target_learn_tail(struct fault_target *target, const struct clear_result *result)
{
    const struct clear_result *looked = &target->looked;
    double tail_sec = nsec_to_sec(result->begin_nsec - looked->begin_nsec);

    if (!looked->begin_nsec || tail_sec < TAIL_MIN_SEC)
        return;
    target->tail_rate =
        is_same_space(&looked->usage, &result->usage)
            ? (double)(result->usage.minor_faults - looked->usage.minor_faults) / tail_sec
            : 0;
}

static void target_on_cleared(struct write_fault *self, struct fault_target *target,
                              const struct clear_result *result)
{
    double clear_sec = nsec_to_sec(result->clear_nsec);
    uint64_t n_pages = result->usage.rss_pages;
    const struct access_work work = {.n_armed = n_pages};

    target_learn_tail(target, result);
    access_sink_work(&self->options.sink, target->pid, &work);
    self->n_clears++;
    target->sec_per_page = fault_pace_learn(sec_per_page_of(self, target), clear_sec, n_pages);
    if (n_pages >= LEARN_PAGES_MIN)
        self->sec_per_page = fault_pace_learn(self->sec_per_page, clear_sec, n_pages);
    target->verdict = FAULT_CLEAR;
    target->opened = *result;
    target->phase = FAULT_OPEN;
}

/* Faults of the window and, at the rate of the last time, behind it; each page faults once. */
static uint64_t faults_of(const struct fault_target *target, const struct clear_result *look)
{
    const struct clear_result *opened = &target->opened;
    uint64_t n = look->usage.minor_faults - opened->usage.minor_faults;
    double tail_sec =
        nsec_to_sec(target->interval_nsec) - nsec_to_sec(look->begin_nsec - opened->begin_nsec);
    double sum = (double)n + (tail_sec > 0 ? target->tail_rate * tail_sec : 0);

    if (sum > (double)look->usage.rss_pages)
        return n > look->usage.rss_pages ? n : look->usage.rss_pages;
    return (uint64_t)sum;
}

/* Of the window that ends with the look. */
static struct fault_bill bill_of(const struct write_fault *self, const struct fault_target *target,
                                 const struct clear_result *look)
{
    const struct clear_result *opened = &target->opened;
    uint64_t window_nsec = look->begin_nsec - opened->begin_nsec;

    return (struct fault_bill){
        .clear_sec = nsec_to_sec(opened->clear_nsec),
        .n_faults = faults_of(target, look),
        .fault_sec = self->seams.fault_sec,
        .cpu_sec = (double)(look->usage.cpu_ticks - opened->usage.cpu_ticks) /
                   (double)sysconf(_SC_CLK_TCK),
        .window_sec = nsec_to_sec(window_nsec ? window_nsec : 1),
        .budget = self->budget,
    };
}

static void target_deliver(struct write_fault *self, struct fault_target *target,
                           const struct clear_result *look, const struct fault_bill *bill)
{
    /* The ticks of a window are up to one short. */
    double cpu_sec = bill->cpu_sec + 1.0 / (double)sysconf(_SC_CLK_TCK);
    CLEANUP(freep) struct access *accesses = NULL;
    size_t n = 0, n_kept = target->window.n_faults;
    struct access_work work = {0};

    self->n_windows++;
    if (fault_window_accesses(&target->window, target->pid, target->opened.begin_nsec,
                              look->begin_nsec, cpu_sec, &accesses, &n) < 0) {
        self->counts.n_unresolved += n_kept;
        return;
    }
    self->counts.n_foreign += n_kept - n;
    self->counts.n_accesses += n;
    work.n_faults = bill->n_faults > n ? bill->n_faults - n : 0;
    access_sink_work(&self->options.sink, target->pid, &work);
    if (n > 0)
        self->options.sink.push(self->options.sink.userdata, accesses, n);
}

/* Is there a window for each that is due? Else the round gives them to those that wait longest. */
static bool windows_suffice(const struct write_fault *self)
{
    return fault_targets_n_active(&self->targets) +
               fault_targets_n_due(&self->targets, self->now + SLACK_NSEC) <=
           WRITE_FAULT_WINDOWS_MAX;
}

static void target_on_looked(struct write_fault *self, struct fault_target *target,
                             const struct clear_result *look)
{
    struct fault_bill bill = bill_of(self, target, look);

    /* What happened up to the look may still be in the rings. */
    (void)write_fault_drain(self);
    target->looked = *look;
    target->phase = FAULT_WAITING;
    target->due_nsec = self->now;
    if (is_same_space(&target->opened.usage, &look->usage)) {
        target_deliver(self, target, look, &bill);
        target->interval_nsec = fault_pace_interval(target->interval_nsec, &bill);
        target->due_nsec = target->opened.begin_nsec + target->interval_nsec;
    } else {
        self->n_execs++;
        self->counts.n_foreign += target->window.n_faults;
    }
    fault_window_reset(&target->window);
    if (target->due_nsec <= look->begin_nsec + SLACK_NSEC && windows_suffice(self))
        (void)target_submit(self, target, true); /* without memory: in the next round */
}

static void target_on_result(struct write_fault *self, struct fault_target *target,
                             const struct clear_request *request)
{
    if (request->r)
        target_refuse(self, target, FAULT_UNREADABLE);
    else if (request->result.verdict != FAULT_CLEAR)
        target_refuse(self, target, request->result.verdict);
    else if (!wants(self, target->pid))
        target_refuse(self, target, FAULT_GONE);
    else if (request->task.clear)
        target_on_cleared(self, target, &request->result);
    else
        target_on_looked(self, target, &request->result);
}

static void on_request_done(struct work *work)
{
    CLEANUP(clear_request_freep) struct clear_request *request = (struct clear_request *)work;
    struct write_fault *self = request->link->owner;
    struct fault_target *target = self ? fault_targets_find(&self->targets, work->pid) : NULL;

    if (!target)
        return;
    target->in_flight = false;
    if (target->start_ticks == request->task.start_ticks && work->late)
        target_refuse(self, target, FAULT_LATE);
    else if (target->serial == request->serial)
        target_on_result(self, target, request);
}

/* Windows that have been open for long enough are looked at. */
static int round_close(struct write_fault *self)
{
    for (size_t i = 0; i < self->targets.n_items; i++) {
        struct fault_target *target = &self->targets.items[i];
        int r;

        if (target->phase != FAULT_OPEN ||
            self->now + SLACK_NSEC < target->opened.begin_nsec + FAULT_WINDOW_NSEC)
            continue;
        r = target_submit(self, target, false);
        if (r)
            return r;
    }
    return 0;
}

/* Picks those that are due, as many as may be open; they wait for their events to be opened. */
static void round_pick(struct write_fault *self)
{
    size_t n_active = fault_targets_n_active(&self->targets);
    struct fault_target *target;

    while (n_active < WRITE_FAULT_WINDOWS_MAX &&
           (target = fault_targets_next_due(&self->targets, self->now + SLACK_NSEC))) {
        if ((double)target->rss_pages * sec_per_page_of(self, target) > FAULT_CLEAR_LIMIT_SEC) {
            target_refuse(self, target, FAULT_TOO_LARGE);
            continue;
        }
        target->phase = FAULT_CLEARING;
        n_active++;
    }
}

/* Opens events for all that are under way, closes those of the others. */
static int round_open(struct write_fault *self, const struct sample_round *round,
                      struct source_reason *reason)
{
    CLEANUP(freep) struct sample_target *covered = calloc(round->n_targets + 1, sizeof *covered);
    struct sample_round own = *round;

    if (!covered)
        return -ENOMEM;
    own.targets = covered;
    own.n_targets = 0;
    for (size_t i = 0; i < round->n_targets; i++) {
        const struct fault_target *target =
            fault_targets_find(&self->targets, round->targets[i].pid);

        if (!target || !target->present || target->phase == FAULT_WAITING)
            continue;
        covered[own.n_targets] = round->targets[i];
        covered[own.n_targets++].rate_hz = FAULT_RATE_HZ;
    }
    return self->seams.events->round(self->scope, &own, reason);
}

static int round_clear(struct write_fault *self)
{
    for (size_t i = 0; i < self->targets.n_items; i++) {
        struct fault_target *target = &self->targets.items[i];
        int r;

        if (target->phase != FAULT_CLEARING || target->in_flight)
            continue;
        fault_window_reset(&target->window);
        r = target_submit(self, target, true);
        if (r)
            return r;
    }
    return 0;
}

static int write_fault_round(void *userdata, const struct sample_round *round,
                             struct source_reason *reason)
{
    struct write_fault *self = userdata;
    int r;

    self->now = round->now;
    self->budget = round->sampling_budget;
    r = fault_targets_sync(&self->targets, round, self->host.page_bytes);
    if (!r)
        r = round_close(self);
    if (r)
        return r;
    round_pick(self);
    r = round_open(self, round, reason);
    return r ? r : round_clear(self);
}

static const struct sample_counts *write_fault_counts(void *userdata)
{
    struct write_fault *self = userdata;

    return &self->counts;
}

static bool write_fault_lacks(void *userdata, struct source_reason *reason)
{
    const struct write_fault *self = userdata;

    return self->seams.events->lacks(self->scope, reason);
}

static void write_fault_describe(void *userdata, char *text, size_t size)
{
    const struct write_fault *self = userdata;
    const char *note = self->seams.events->counts(self->scope)->note;
    CLEANUP(fclosep) FILE *file = size ? fmemopen(text, size, "w") : NULL;

    if (!file)
        return;
    fprintf(
        file, "%zu of %zu allowed processes open, %llu clears (%.0f ns a page, %.1f us a fault)",
        fault_targets_n_active(&self->targets), self->targets.n_items,
        (unsigned long long)self->n_clears, self->sec_per_page * 1e9, self->seams.fault_sec * 1e6);
    if (self->n_execs)
        fprintf(file, ", %llu windows ended by exec", (unsigned long long)self->n_execs);
    fault_targets_print_refused(&self->targets, file);
    if (note)
        fprintf(file, "; %s", note);
}

static struct write_fault *write_fault_free(struct write_fault *self)
{
    if (!self)
        return NULL;
    source_link_cut(self->link);
    if (self->scope)
        self->seams.events->close(self->scope);
    fault_targets_deinit(&self->targets);
    free(self);
    return NULL;
}
CLEANUP_DEFINE(struct write_fault *, write_fault_free)

static void write_fault_source_free(void *userdata)
{
    write_fault_free(userdata);
}

int fault_events_open(const struct source_options *options, const struct write_fault_events *events,
                      struct perf_scope **scopep, struct source_reason *reason)
{
    struct perf_scope_event event = {.fixed_period = true};
    const struct perf_scope_options scope_options = {
        .source = options,
        .events = &event,
        .n_events = 1,
        .record_bytes = FAULT_RECORD_BYTES,
    };

    fault_record_attr(&event.attr);
    return events->open(scopep, &scope_options, reason);
}

int write_fault_new_from_seams(struct source *source, const struct source_options *options,
                               const struct write_fault_seams *seams, struct source_reason *reason)
{
    static const struct source_ops ops = {
        .name = "write_fault",
        .round = write_fault_round,
        .drain = write_fault_drain,
        .counts = write_fault_counts,
        .describe = write_fault_describe,
        .lacks = write_fault_lacks,
        .free = write_fault_source_free,
    };
    CLEANUP(write_fault_freep) struct write_fault *self = calloc(1, sizeof *self);
    int r;

    if (!self || !(self->link = source_link_new(self)))
        return -ENOMEM;
    self->options = *options;
    self->options.host = &self->host;
    self->options.rate_hz = FAULT_RATE_HZ;
    self->host = *options->host;
    self->seams = *seams;
    self->sec_per_page = FAULT_PAGE_SEC;
    r = fault_events_open(&self->options, seams->events, &self->scope, reason);
    if (r)
        return r;
    *source = (struct source){.ops = &ops, .self = TAKE(self)};
    return 0;
}
