/*
 * The event loop's timers: samples are drained every 100 ms (and when a ring is half full), a round
 * runs every `interval`, workers are looked after with each drain. All of it becomes rare while
 * there is nothing to see.
 */
#include <errno.h>
#include <string.h>

#include "daemon/daemon_state.h"
#include "daemon/runnable.h"
#include "report/journal.h"
#include "util/nsec.h"

#define DRAIN_USEC UINT64_C(100000)
/* While nothing is sampled: on an idle machine each wake-up counts. */
#define QUIET_USEC UINT64_C(5000000)
/* The same after a minute, unless a glance each QUIET_USEC shows that something runs. */
#define ASLEEP_USEC UINT64_C(30000000)
#define ASLEEP_NSEC (60 * NSEC_PER_SEC)
/* Without a source there is only to see whether one works again. */
#define IDLE_USEC UINT64_C(10000000)
#define TIMER_ACCURACY_USEC UINT64_C(5000)
/* Timers that come rarely wake the CPU together. */
#define RARELY_USEC QUIET_USEC
#define RARELY_ACCURACY_USEC UINT64_C(1000000)
/* Finished requests handled in one go, so that control calls come through in between. */
#define DISPATCH_LIMIT 16

static void on_late(void *userdata, pid_t pid, const char *name)
{
    struct daemon *daemon = userdata;

    if (daemon->recorder)
        recorder_on_late(daemon->recorder, pid, name);
    pipeline_on_late(daemon->pipeline, pid, name);
}

static int rearm(sd_event_source *timer, uint64_t usec)
{
    uint64_t accuracy = usec < RARELY_USEC ? TIMER_ACCURACY_USEC : RARELY_ACCURACY_USEC;
    int r = sd_event_source_set_time_relative(timer, usec);

    if (r >= 0)
        r = sd_event_source_set_time_accuracy(timer, accuracy);
    return r < 0 ? r : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

/* How long until the next time, where it is `usec` while there is something to do. */
static uint64_t daemon_pace(const struct daemon *daemon, uint64_t usec)
{
    uint64_t now = nsec_now(), rarely = QUIET_USEC;

    if (!pipeline_is_quiet(daemon->pipeline, now))
        return usec;
    if (pipeline_quiet_nsec(daemon->pipeline, now) > ASLEEP_NSEC)
        rarely = ASLEEP_USEC;
    else if (pipeline_is_idle(daemon->pipeline))
        rarely = IDLE_USEC;
    return usec > rarely ? usec : rarely;
}

/* Something was sampled: the timers come soon, if they were to come rarely. */
static int daemon_hurry(struct daemon *daemon)
{
    uint64_t due = 0, now = 0;
    int r;

    if (!daemon->drain_timer)
        return 0;
    r = sd_event_source_get_time(daemon->drain_timer, &due);

    if (r >= 0)
        r = sd_event_now(daemon->event, CLOCK_MONOTONIC, &now);
    if (r < 0 || due <= now + DRAIN_USEC)
        return r < 0 ? r : 0;
    r = rearm(daemon->drain_timer, DRAIN_USEC);
    return r < 0 ? r : rearm(daemon->round_timer, DRAIN_USEC);
}

static int on_drain(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct daemon *daemon = userdata;

    (void)usec;
    (void)pipeline_drain(daemon->pipeline);
    worker_pool_check(daemon->pool, nsec_now(), on_late, daemon);
    if (daemon->recorder)
        recorder_on_lost(daemon->recorder, worker_pool_lost(daemon->pool));
    pipeline_on_lost(daemon->pipeline, worker_pool_lost(daemon->pool));
    return rearm(source, daemon_pace(daemon, DRAIN_USEC));
}

static void daemon_record_round(struct daemon *daemon, uint64_t now)
{
    if (daemon->recorder && recorder_round(daemon->recorder, daemon->topology, now))
        journal(JOURNAL_ERROR, "recording stops, everything else goes on: %s: %s",
                daemon->options.record_path, strerror(errno));
}

static bool daemon_is_asleep(const struct daemon *daemon, uint64_t now)
{
    return !pipeline_is_idle(daemon->pipeline) &&
           pipeline_quiet_nsec(daemon->pipeline, now) > ASLEEP_NSEC;
}

/* Nothing was sampled for long: is a round too much, because still nobody runs? */
static bool daemon_sleeps_on(const struct daemon *daemon, uint64_t now)
{
    return daemon_is_asleep(daemon, now) &&
           now < daemon->round_nsec + ASLEEP_USEC * NSEC_PER_USEC && !runnable_any(&daemon->host);
}

static int on_round(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct daemon *daemon = userdata;
    uint64_t now = nsec_now();
    int r;

    (void)usec;
    if (daemon_sleeps_on(daemon, now))
        return rearm(source, QUIET_USEC);
    daemon->round_nsec = now;
    r = pipeline_round(daemon->pipeline, now, nsec_of_clock(CLOCK_PROCESS_CPUTIME_ID));
    daemon_record_round(daemon, now);
    if (r < 0 && !daemon->round_failed)
        journal(JOURNAL_ERROR, "round failed, ignoring: %s", strerror(-r));
    daemon->round_failed = r < 0;
    if (daemon_is_asleep(daemon, now))
        return rearm(source, QUIET_USEC);
    return rearm(source, daemon_pace(daemon, pipeline_config(daemon->pipeline)->interval_nsec /
                                                 NSEC_PER_USEC));
}

static int on_ring(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct daemon *daemon = userdata;

    (void)source, (void)fd, (void)events;
    (void)pipeline_drain(daemon->pipeline);
    /* Samples after a quiet time: their requests are looked after, and the round comes soon. */
    return daemon_hurry(daemon);
}

static int on_done(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct daemon *daemon = userdata;

    (void)source, (void)fd, (void)events;
    worker_pool_dispatch(daemon->pool, DISPATCH_LIMIT);
    return pipeline_is_quiet(daemon->pipeline, nsec_now()) ? 0 : daemon_hurry(daemon);
}

int daemon_watch_rings(struct daemon *daemon, int fd)
{
    int r = sd_event_add_io(daemon->event, NULL, fd, EPOLLIN, on_ring, daemon);

    return r < 0 ? r : 0;
}

static int daemon_add_timer(struct daemon *daemon, sd_event_source **timerp,
                            sd_event_time_handler_t handler)
{
    return sd_event_add_time_relative(daemon->event, timerp, CLOCK_MONOTONIC, 0,
                                      TIMER_ACCURACY_USEC, handler, daemon);
}

/* On a machine that cannot be balanced there is nothing to wake up for. */
int daemon_add_timers(struct daemon *daemon)
{
    int r = sd_event_add_io(daemon->event, NULL, worker_pool_fd(daemon->pool), EPOLLIN, on_done,
                            daemon);

    if (r < 0 || (pipeline_is_barred(daemon->pipeline) && daemon_is_live(daemon)))
        return r;
    r = daemon_add_timer(daemon, &daemon->round_timer, on_round);
    if (r < 0)
        return r;
    return daemon_add_timer(daemon, &daemon->drain_timer, on_drain);
}
