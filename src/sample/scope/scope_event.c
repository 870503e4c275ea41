/*
 * The period of an event is kept here, since cpu-clock goes on telling the one that it was opened
 * with. A ring is read some time after a change, so the place in the ring where it happened is kept
 * too: records that end before it have the old period.
 *
 * An event's interrupts: a clock event fires each period of its running time, also where the sample
 * is then dropped (in the kernel, in idle), so that counting samples would miss most of them.
 */
#include "sample/scope/scope_event.h"

#include <errno.h>
#include <stdlib.h>

#include "sample/perf/perf_refusal.h"
#include "util/array.h"
#include "util/nsec.h"

bool scope_failure_is_shortage(const struct scope_failure *failure)
{
    return failure->map || perf_refusal_is_shortage(failure->error);
}

static bool kind_is_clock(const struct perf_scope_event *kind)
{
    return !kind->no_sample && !kind->fixed_period && !kind->attr.freq;
}

static bool kind_has_rate(const struct perf_scope_event *kind)
{
    return !kind->no_sample && !kind->fixed_period;
}

int scope_events_refuse(struct scope_events *events, int error, bool map)
{
    events->failure = (struct scope_failure){.error = error, .map = map};
    events->n_failures++;
    return SCOPE_EVENT_REFUSED;
}

struct scope_ring *scope_events_add_ring(struct scope_events *events, size_t data_bytes)
{
    struct scope_ring *ring;

    if (ARRAY_RESERVE(events->rings, events->rings_cap, events->n_rings + 1) < 0)
        return NULL;
    ring = calloc(1, sizeof *ring);
    if (!ring)
        return NULL;
    ring->data_bytes = data_bytes;
    ring->fd = -1;
    events->rings[events->n_rings++] = ring;
    return ring;
}

void scope_ring_retire(struct scope_ring *ring)
{
    if (ring)
        ring->retired = true;
}

/*
 * Kinds with a frequency (loads and stores) share the rate, since the budget is for all samples of
 * a CPU; and the kernel has a limit.
 */
static unsigned rate_within(const struct scope_events *events, const struct perf_scope_event *kind,
                            unsigned rate_hz)
{
    unsigned n_freq = 0;

    if (!kind->attr.freq)
        return rate_hz;
    for (size_t i = 0; i < events->n_kinds; i++)
        n_freq += events->kinds[i].attr.freq;
    rate_hz = rate_hz > n_freq ? rate_hz / n_freq : 1;
    return events->rate_max_hz && rate_hz > events->rate_max_hz ? events->rate_max_hz : rate_hz;
}

/* In the unit of sample_period and sample_freq. */
static uint64_t rate_value(const struct perf_scope_event *kind, unsigned rate_hz)
{
    return kind->attr.freq ? rate_hz : NSEC_PER_SEC / rate_hz;
}

/* As perf_scope_read tells it. */
static uint64_t period_of(const struct perf_scope_event *kind, unsigned rate_hz)
{
    if (kind_has_rate(kind))
        return kind->attr.freq ? 0 : NSEC_PER_SEC / rate_hz;
    return kind->attr.sample_period;
}

static struct perf_event_attr attr_of(const struct perf_scope_event *kind,
                                      const struct scope_ring *ring, unsigned rate_hz)
{
    struct perf_event_attr attr = kind->attr;

    attr.size = sizeof attr;
    attr.read_format = PERF_KERNEL_READ_FORMAT;
    attr.watermark = 1;
    attr.wakeup_watermark = (uint32_t)(ring->data_bytes / 2);
    if (kind_has_rate(kind) && attr.freq)
        attr.sample_freq = rate_hz;
    else if (kind_has_rate(kind))
        attr.sample_period = NSEC_PER_SEC / rate_hz;
    return attr;
}

/* The first event of a thread's ring brings its memory, the others are sent there. */
static int attach(struct scope_events *events, struct scope_ring *ring, int fd)
{
    const struct perf_kernel *kernel = &events->kernel;
    int r;

    if (ring->map) {
        r = kernel->ops->set_output(kernel->self, fd, ring->fd);
        return r < 0 ? scope_events_refuse(events, -r, false) : 0;
    }
    r = scope_ring_map(ring, kernel, fd);
    if (r < 0)
        return scope_events_refuse(events, -r, true);
    if (events->epoll_fd < 0)
        return 0;
    r = kernel->ops->watch(kernel->self, events->epoll_fd, fd);
    if (r == 0)
        return 0;
    scope_ring_unmap(ring, kernel);
    return scope_events_refuse(events, -r, false);
}

static int open_fd(struct scope_events *events, const struct perf_event_attr *attr,
                   const struct scope_event_request *request, int *fdp)
{
    const struct perf_kernel *kernel = &events->kernel;
    int fd, r;

    fd = kernel->ops->open(kernel->self, attr, request->pid, request->cpu, request->group_fd,
                           request->flags);
    if (fd < 0)
        return scope_events_refuse(events, -fd, false);
    r = attach(events, request->ring, fd);
    if (r)
        kernel->ops->close(kernel->self, fd);
    else
        *fdp = fd;
    return r;
}

int scope_events_open_owner(struct scope_events *events, int cpu, struct scope_ring *ring, int *fdp)
{
    const struct perf_event_attr *model = &events->kinds[0].attr;
    const struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_IDENTIFIER,
        .read_format = PERF_KERNEL_READ_FORMAT,
        .exclude_kernel = model->exclude_kernel,
        .use_clockid = model->use_clockid,
        .clockid = model->clockid,
        .watermark = 1,
        .wakeup_watermark = (uint32_t)(ring->data_bytes / 2),
    };
    const struct scope_event_request request = {
        .pid = -1, .cpu = cpu, .group_fd = -1, .ring = ring};

    return open_fd(events, &attr, &request, fdp);
}

int scope_events_open(struct scope_events *events, const struct scope_event_request *request,
                      struct scope_event **eventp)
{
    const struct perf_kernel *kernel = &events->kernel;
    const struct perf_scope_event *kind = &events->kinds[request->kind];
    unsigned rate_hz = rate_within(events, kind, request->rate_hz);
    struct perf_event_attr attr = attr_of(kind, request->ring, rate_hz);
    struct scope_event *event;
    int r;

    event = calloc(1, sizeof *event);
    if (!event)
        return -ENOMEM;
    events->n_calls++;
    r = open_fd(events, &attr, request, &event->fd);
    if (r == 0) {
        r = kernel->ops->id(kernel->self, event->fd, &event->id);
        if (r < 0) {
            kernel->ops->close(kernel->self, event->fd);
            r = scope_events_refuse(events, -r, false);
        }
    }
    if (r) {
        free(event);
        return r;
    }
    event->kind = request->kind;
    event->ring = request->ring;
    event->rate_hz = rate_hz;
    event->period = event->period_before = period_of(kind, rate_hz);
    event->changed_at = scope_ring_head(event->ring);
    event->ring->n_events++;
    events->n_open++;
    HASH_ADD(hh, events->by_id, id, sizeof event->id, event);
    *eventp = event;
    return 0;
}

void scope_event_account(struct scope_events *events, struct scope_event *event)
{
    const struct perf_kernel *kernel = &events->kernel;
    struct perf_kernel_count count;
    uint64_t n;

    if (event->fd < 0 || !kind_is_clock(&events->kinds[event->kind]) || event->period == 0 ||
        kernel->ops->read(kernel->self, event->fd, &count) < 0 ||
        count.running_nsec < event->running_nsec)
        return;
    n = (count.running_nsec - event->running_nsec) / event->period;
    events->n_interrupts += n;
    event->running_nsec += n * event->period;
}

void scope_event_set_rate(struct scope_events *events, struct scope_event *event, unsigned rate_hz)
{
    const struct perf_kernel *kernel = &events->kernel;
    const struct perf_scope_event *kind = &events->kinds[event->kind];

    rate_hz = rate_within(events, kind, rate_hz);
    if (!kind_has_rate(kind) || rate_hz == event->rate_hz)
        return;
    scope_event_account(events, event);
    events->n_calls++;
    if (kernel->ops->set_period(kernel->self, event->fd, rate_value(kind, rate_hz)) < 0) {
        events->n_failures++;
        return;
    }
    /* Where even an earlier change has not been read yet, the oldest period goes for all of it. */
    if (event->ring->map && (int64_t)(*event->ring->ring.tail - event->changed_at) >= 0)
        event->period_before = event->period;
    event->changed_at = scope_ring_head(event->ring);
    event->period = period_of(kind, rate_hz);
    event->rate_hz = rate_hz;
}

uint64_t scope_event_period_at(const struct scope_event *event, uint64_t end)
{
    return (int64_t)(end - event->changed_at) <= 0 ? event->period_before : event->period;
}

struct scope_event *scope_event_retire(struct scope_events *events, struct scope_event *event)
{
    if (!event)
        return NULL;
    scope_event_account(events, event);
    events->kernel.ops->close(events->kernel.self, event->fd);
    event->fd = -1;
    event->ring->n_events--;
    events->n_open--;
    events->n_retired++;
    return NULL;
}

struct scope_event *scope_events_find(const struct scope_events *events, uint64_t id)
{
    struct scope_event *event;

    HASH_FIND(hh, events->by_id, &id, sizeof id, event);
    return event;
}

static void sweep_rings(struct scope_events *events)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < events->n_rings; i++) {
        struct scope_ring *ring = events->rings[i];

        if (!ring->retired) {
            events->rings[n_kept++] = ring;
            continue;
        }
        scope_ring_unmap(ring, &events->kernel);
        free(ring);
    }
    events->n_rings = n_kept;
}

/* Each drain comes here: thousands of open events are not gone through for nothing. */
void scope_events_sweep(struct scope_events *events)
{
    struct scope_event *event, *next;

    HASH_ITER (hh, events->by_id, event, next) {
        if (events->n_retired == 0)
            break;
        if (event->fd >= 0)
            continue;
        HASH_DELETE(hh, events->by_id, event);
        free(event);
        events->n_retired--;
    }
    sweep_rings(events);
}

/* Places are gone: what is still here is retired. */
void scope_events_deinit(struct scope_events *events)
{
    for (size_t i = 0; i < events->n_rings; i++)
        scope_ring_retire(events->rings[i]);
    scope_events_sweep(events);
    free(events->rings);
    events->rings = NULL;
}
