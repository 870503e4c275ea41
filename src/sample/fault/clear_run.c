/*
 * The guard's facts are read with clear_refs already open (host.h says why), so that it is the
 * process that was judged whose bits are cleared. What remains is an exec between the two: the new
 * program's bits are cleared then, before it can have come to rely on them.
 *
 * Only CPU time counts as the cost of a clear: waiting for a busy mmap_lock holds up nobody else.
 */
#include "sample/fault/clear_run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "util/cleanup.h"
#include "util/nsec.h"
#include "util/procfs.h"

#define CLEAR_SOFT_DIRTY "4"
#define PROC_TEXT_MAX ((size_t)65536) /* stat has 52 numbers; status a mask a CPU */
#define LINKS_MAX 65536u              /* readlink takes about 1 us: 65 ms of a worker */

struct clear_attempt {
    const struct host *host;
    const struct clear_clock *clock;
    const struct clear_task *task;
    struct clear_result *result;
    struct fault_facts facts;
    unsigned n_links;
    int links_r; /* of the last read_link */
    uint64_t cpu_begin_nsec;
    int r;
};

/* Return: 0, or as read_file. */
static int read_proc(const struct clear_attempt *attempt, const char *name, char **textp)
{
    char path[64];
    size_t size;

    snprintf(path, sizeof path, "proc/%d/%s", attempt->task->pid, name);
    return attempt->host->ops->read_file(attempt->host->self, path, PROC_TEXT_MAX, textp, &size);
}

/* A file that is closed meanwhile cannot be one that holds back the clear. */
static bool on_file(void *userdata, const char *name)
{
    struct clear_attempt *attempt = userdata;
    const struct host *host = attempt->host;
    char path[64], target[PATH_MAX];
    enum fault_link link;

    snprintf(path, sizeof path, "proc/%d/fd/%.32s", attempt->task->pid, name);
    attempt->links_r = host->ops->read_link(host->self, path, target, sizeof target);
    if (attempt->links_r == PROCFS_GONE) {
        attempt->links_r = 0;
        return true;
    }
    if (attempt->links_r)
        return false;
    link = fault_guard_link(target);
    attempt->facts.has_tracker |= link == FAULT_LINK_TRACKER;
    attempt->facts.has_kvm |= link == FAULT_LINK_KVM;
    attempt->n_links++;
    return link == FAULT_LINK_OTHER;
}

static void look_at_usage(struct clear_attempt *attempt)
{
    struct fault_facts *facts = &attempt->facts;
    CLEANUP(freep) char *text = NULL;
    int r = read_proc(attempt, "stat", &text);

    if (r == -ENOMEM)
        attempt->r = r;
    facts->gone = r || proc_usage_parse(text, &attempt->result->usage);
    facts->start_ticks = attempt->result->usage.start_ticks;
    facts->rss_pages = attempt->result->usage.rss_pages;
    attempt->result->begin_nsec = attempt->clock->now(attempt->clock->userdata);
}

static void look_at_tracer(struct clear_attempt *attempt)
{
    CLEANUP(freep) char *text = NULL;

    attempt->facts.tracer_known = !read_proc(attempt, "status", &text) &&
                                  !proc_usage_parse_tracer(text, &attempt->facts.tracer);
}

static void look_at_links(struct clear_attempt *attempt)
{
    char path[64];
    int r;

    snprintf(path, sizeof path, "proc/%d/fd", attempt->task->pid);
    r = attempt->host->ops->list_folder(attempt->host->self, path, LINKS_MAX, on_file, attempt);
    attempt->facts.links_known = !r && !attempt->links_r && attempt->n_links < LINKS_MAX;
}

/* The last word before the write. */
static bool may_clear(void *userdata)
{
    struct clear_attempt *attempt = userdata;

    look_at_usage(attempt);
    look_at_tracer(attempt);
    look_at_links(attempt);
    attempt->result->verdict = fault_guard_judge(&attempt->facts);
    if (attempt->r || attempt->result->verdict != FAULT_CLEAR)
        return false;
    attempt->result->begin_nsec = attempt->clock->now(attempt->clock->userdata);
    attempt->cpu_begin_nsec = attempt->clock->cpu(attempt->clock->userdata);
    return true;
}

static enum fault_verdict verdict_of_write(int r, enum fault_verdict judged)
{
    switch (r) {
    case 0:
    case HOST_DECLINED:
        return judged;
    case PROCFS_GONE:
        return FAULT_GONE;
    default:
        return FAULT_REFUSED;
    }
}

static int attempt_clear(struct clear_attempt *attempt)
{
    struct clear_result *result = attempt->result;
    char path[64];
    int r;

    snprintf(path, sizeof path, "proc/%d/clear_refs", attempt->task->pid);
    r = attempt->host->ops->write_file(attempt->host->self, path, CLEAR_SOFT_DIRTY, may_clear,
                                       attempt);
    if (r == -ENOMEM)
        return r;
    if (!r)
        result->clear_nsec =
            attempt->clock->cpu(attempt->clock->userdata) - attempt->cpu_begin_nsec;
    result->verdict = verdict_of_write(r, result->verdict);
    return attempt->r;
}

static int attempt_look(struct clear_attempt *attempt)
{
    const struct fault_facts *facts = &attempt->facts;

    look_at_usage(attempt);
    attempt->result->verdict =
        facts->gone || facts->start_ticks != facts->wanted_ticks ? FAULT_GONE : FAULT_CLEAR;
    return attempt->r;
}

int clear_run(const struct host *host, const struct clear_clock *clock,
              const struct clear_task *task, struct clear_result *result)
{
    struct clear_attempt attempt = {
        .host = host,
        .clock = clock,
        .task = task,
        .result = result,
        .facts = {.wanted_ticks = task->start_ticks, .sec_per_page = task->sec_per_page},
    };

    *result = (struct clear_result){.verdict = FAULT_GONE};
    return task->clear ? attempt_clear(&attempt) : attempt_look(&attempt);
}

static uint64_t live_now(void *userdata)
{
    (void)userdata;
    return nsec_now();
}

static uint64_t live_cpu(void *userdata)
{
    (void)userdata;
    return nsec_of_clock(CLOCK_THREAD_CPUTIME_ID);
}

struct clear_clock clear_clock_live(void)
{
    return (struct clear_clock){.now = live_now, .cpu = live_cpu};
}
