/*
 * The daemon: made of its parts in the order of their needs, run, and taken apart again. It owns
 * everything; the pipeline does the work.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "daemon/control_socket.h"
#include "daemon/daemon_state.h"
#include "daemon/limits.h"
#include "daemon/load.h"
#include "daemon/privilege.h"
#include "numabd/pipeline.h"
#include "report/journal.h"
#include "sample/sample_cost.h"
#include "sample/sources.h"
#include "sample/trace/recorder.h"
#include "util/nsec.h"

/* At the end requests get so long; systemd allows 90 s. */
#define SETTLE_NSEC (1 * NSEC_PER_SEC)
#define SETTLE_STEP_USEC 5000

bool daemon_is_live(const struct daemon *daemon)
{
    return strcmp(daemon->options.root, "/") == 0;
}

static void log_line(void *userdata, const char *line)
{
    (void)userdata;
    journal(JOURNAL_WARNING, "%s", line);
}

/*
 * A file that was there at start and is missing now is no wish for the defaults: what it excluded
 * would be moved. Return: 0, DAEMON_BAD_CONFIG, or a negative errno, both with a message in *error.
 */
static int daemon_load_config(const struct daemon *daemon, struct config **configp,
                              struct config_error *error)
{
    return load_config(&daemon->options, !daemon->pipeline, configp, error);
}

/* For `systemctl status`, behind `before`: "READY=1\n" or nothing. */
static void tell_systemd(const char *before, const struct status_report *report)
{
    sd_notifyf(false, "%sSTATUS=%s%s%s", before, report->state, report->why[0] ? ": " : "",
               report->why);
}

int daemon_reload(struct daemon *daemon, char *message, size_t message_size)
{
    struct config_error error = {""};
    struct config *config = NULL;
    struct status_report report;
    int r = daemon_load_config(daemon, &config, &error);

    if (r) {
        snprintf(message, message_size, "%s", error.message);
        journal(JOURNAL_ERROR, "%s; the configuration in force stays", error.message);
        return -EINVAL;
    }
    pipeline_commit(daemon->pipeline, config);
    journal(JOURNAL_INFO, "configuration reloaded from %s", daemon->options.config_path);
    (void)pipeline_status(daemon->pipeline, nsec_now(), &report);
    tell_systemd("", &report);
    return 0;
}

static int on_sighup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    char message[sizeof(struct config_error)];

    (void)source, (void)info;
    (void)daemon_reload(userdata, message, sizeof message);
    return 0;
}

static void on_returned(void *userdata, pid_t pid)
{
    struct daemon *daemon = userdata;

    if (daemon->recorder)
        recorder_on_returned(daemon->recorder, pid);
    pipeline_on_returned(daemon->pipeline, pid);
}

/* Why nothing can be balanced here, if so. */
static bool daemon_find_obstacle(const struct daemon *daemon, char *why, size_t why_size)
{
    if (!daemon_is_live(daemon)) {
        snprintf(why, why_size, "reading %s: nothing is sampled or moved", daemon->options.root);
        return true;
    }
    if (daemon->topology->n_memory_nodes < 2) {
        snprintf(why, why_size, "this machine has one memory node: there is nothing to balance");
        return true;
    }
    return !privilege_check(why, why_size);
}

static struct access_sink daemon_sink(struct daemon *daemon)
{
    struct access_sink sink = pipeline_sink(daemon->pipeline);

    return daemon->recorder ? recorder_sink(daemon->recorder, sink) : sink;
}

static int daemon_start_sampler(struct daemon *daemon)
{
    const struct config *config = pipeline_config(daemon->pipeline);
    struct sampler_options options = {.log = log_line, .userdata = daemon};
    struct sampler *sampler = NULL;
    char why[256];
    int r;

    if (daemon_find_obstacle(daemon, why, sizeof why)) {
        pipeline_set_idle(daemon->pipeline, why);
        return 0;
    }
    options.kinds = source_kinds(&options.n_kinds);
    options.sample_cost_nsec = sample_cost_measure();
    options.source = (struct source_options){
        .cpu_skip = daemon->topology->cpu_isolated,
        .n_cpu_ids = daemon->topology->n_cpu_ids,
        .topology = daemon->topology,
        .host = &daemon->host,
        .pool = daemon->pool,
        .sink = daemon_sink(daemon),
        .filter = pipeline_filter(daemon->pipeline),
    };
    r = sampler_new(&sampler, &options, config, nsec_now());
    if (r < 0)
        return r;
    pipeline_set_sampler(daemon->pipeline, sampler);
    return daemon_watch_rings(daemon, sampler_fd(sampler));
}

static int daemon_add_signals(struct daemon *daemon)
{
    sigset_t signals;
    int r;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    /* Before any thread starts, so that all threads inherit it. */
    if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
        return -errno;
    r = sd_event_add_signal(daemon->event, NULL, SIGTERM, NULL, NULL);
    if (r >= 0)
        r = sd_event_add_signal(daemon->event, NULL, SIGINT, NULL, NULL);
    if (r >= 0)
        r = sd_event_add_signal(daemon->event, NULL, SIGHUP, on_sighup, daemon);
    return r;
}

/*
 * Before the source: a second numabd must not even sample.
 * Return: 0 or DAEMON_BUSY.
 */
static int daemon_start_control(struct daemon *daemon)
{
    const char *directory = control_directory();
    int r = control_new(&daemon->control, daemon->event, directory, &daemon_report_ops, daemon);
    if (r == CONTROL_BUSY) {
        journal(JOURNAL_ERROR, "another numabd answers at %s/bus", directory);
        return DAEMON_BUSY;
    }
    if (r < 0)
        journal(JOURNAL_WARNING, "no control socket at %s/bus, ignoring: %s", directory,
                strerror(-r));
    return 0;
}

/*
 * Once the control socket is ours: the journal of a numabd that runs would be put back under its
 * feet. Return: 0 or a negative errno.
 */
static int daemon_start_undo(struct daemon *daemon)
{
    const struct host host = host_live();
    CLEANUP(freep) char *path = NULL;
    struct undo_reason reason;
    int r;

    if (!daemon_is_live(daemon))
        return 0;
    if (asprintf(&path, "%s/" UNDO_NAME, control_directory()) < 0)
        return path = NULL, -ENOMEM;
    r = undo_new(&daemon->undo, path, &host, &reason);
    if (r > 0)
        journal(JOURNAL_WARNING, "%s; nothing outside numabd will be changed", reason.text);
    if (r)
        return r < 0 ? r : 0;
    if (undo_n(daemon->undo))
        journal(JOURNAL_WARNING, "an earlier numabd did not end well, undoing what it changed");
    (void)undo_restore(daemon->undo, log_line, NULL);
    pipeline_set_undo(daemon->pipeline, daemon->undo);
    return 0;
}

/* Between the pipeline and the world. */
static int daemon_start_recorder(struct daemon *daemon)
{
    const char *path = daemon->options.record_path;
    int r = recorder_new(&daemon->recorder, path);

    if (r < 0) {
        journal(JOURNAL_ERROR, "cannot record to %s: %s", path, strerror(-r));
        return DAEMON_NO_RECORD;
    }
    recorder_start(daemon->recorder, daemon->topology, daemon->host.page_bytes, getpid(),
                   nsec_now());
    daemon->host = recorder_host(daemon->recorder, &daemon->host);
    daemon->procs = recorder_procs(daemon->recorder, daemon->procs);
    return 0;
}

static int daemon_new_parts(struct daemon *daemon)
{
    int r = topology_new(&daemon->topology, daemon->options.root);

    if (r < 0)
        return r;
    r = worker_pool_new(&daemon->pool, pipeline_n_lanes(daemon->topology));
    if (r < 0)
        return r;
    worker_pool_on_returned(daemon->pool, on_returned, daemon);
    daemon->host = daemon_is_live(daemon) ? host_live() : host_root(daemon->options.root);
    r = daemon_is_live(daemon) ? procs_new_live(&daemon->procs)
                               : procs_new_root(&daemon->procs, daemon->options.root);
    return r < 0 || !daemon->options.record_path ? r : daemon_start_recorder(daemon);
}

static int daemon_new_pipeline(struct daemon *daemon, struct config *config)
{
    const struct pipeline_options options = {
        .root = daemon->options.root,
        .topology = daemon->topology,
        .procs = &daemon->procs,
        .host = &daemon->host,
        .pool = daemon->pool,
        .config = config,
        .self_pid = getpid(),
        .now = nsec_now(),
        .log = log_line,
        .userdata = daemon,
    };

    return pipeline_new(&daemon->pipeline, &options);
}

static int daemon_start(struct daemon *daemon, struct config *config)
{
    int r = sd_event_new(&daemon->event);

    limits_raise();
    limits_return_memory();
    if (r >= 0)
        r = daemon_add_signals(daemon);
    if (r >= 0)
        r = daemon_new_parts(daemon);
    if (r) {
        config_free(config);
        return r;
    }
    r = daemon_new_pipeline(daemon, config);
    if (r >= 0 && daemon_start_control(daemon))
        return DAEMON_BUSY;
    if (r >= 0)
        r = daemon_start_undo(daemon);
    if (r >= 0)
        r = daemon_start_sampler(daemon);
    if (r >= 0)
        r = daemon_add_timers(daemon);
    if (r >= 0)
        r = sd_event_set_watchdog(daemon->event, true);
    return r < 0 ? r : 0;
}

/* "//", "/." and links are "/" too. */
static bool leads_to_live_root(const char *path)
{
    CLEANUP(freep) char *real = realpath(path, NULL);

    return real && strcmp(real, "/") == 0;
}

int daemon_new(struct daemon **daemonp, const struct daemon_options *options)
{
    CLEANUP(daemon_freep) struct daemon *daemon = calloc(1, sizeof *daemon);
    struct config_error error = {""};
    struct config *config = NULL;
    int r;

    if (!daemon)
        return -ENOMEM;
    daemon->options = *options;
    if (leads_to_live_root(options->root))
        daemon->options.root = "/";
    r = daemon_load_config(daemon, &config, &error);
    if (r) {
        journal(JOURNAL_ERROR, "%s", error.message);
        return r;
    }
    r = daemon_start(daemon, config);
    if (r < 0)
        journal(JOURNAL_ERROR, "cannot start: %s", strerror(-r));
    if (r)
        return r;
    *daemonp = TAKE(daemon);
    return 0;
}

/* What runs gets some time to end and be counted; what waits is dropped. */
static void daemon_settle(struct daemon *daemon)
{
    uint64_t end = nsec_now() + SETTLE_NSEC;

    if (!daemon->pipeline)
        return;
    worker_pool_wind_down(daemon->pool);
    for (size_t lane = 0; lane < pipeline_n_lanes(daemon->topology); lane++)
        while (worker_pool_pending(daemon->pool, lane) && nsec_now() < end) {
            usleep(SETTLE_STEP_USEC);
            worker_pool_dispatch(daemon->pool, 0);
        }
}

/* Do threads of the pool still run requests, which may come back to the recorder? */
static bool is_busy(const struct daemon *daemon)
{
    size_t n = worker_pool_lost(daemon->pool);

    for (size_t lane = 0; lane < pipeline_n_lanes(daemon->topology); lane++)
        n += worker_pool_pending(daemon->pool, lane);
    return n > 0;
}

/* Requests that are still out point into pipeline and source: the pool goes first. */
struct daemon *daemon_free(struct daemon *daemon)
{
    bool busy;

    if (!daemon)
        return NULL;
    /* While nobody else can take our place. */
    if (daemon->undo)
        (void)pipeline_undo(daemon->pipeline);
    control_free(daemon->control);
    checkup_deinit(&daemon->checkup);
    daemon_settle(daemon);
    busy = daemon->pool && is_busy(daemon);
    worker_pool_free(daemon->pool);
    pipeline_free(daemon->pipeline);
    undo_free(daemon->undo);
    procs_deinit(&daemon->procs);
    if (daemon->recorder && busy)
        recorder_stop(daemon->recorder);
    else
        recorder_free(daemon->recorder);
    topology_free(daemon->topology);
    sd_event_source_unref(daemon->drain_timer);
    sd_event_source_unref(daemon->round_timer);
    sd_event_unref(daemon->event);
    free(daemon);
    return NULL;
}

static void daemon_announce(struct daemon *daemon)
{
    const char *difference =
        daemon_is_live(daemon) ? topology_compare_libnuma(daemon->topology) : NULL;
    struct status_report report;

    if (difference)
        journal(JOURNAL_WARNING, "libnuma sees another topology, ignoring: %s", difference);
    (void)pipeline_status(daemon->pipeline, nsec_now(), &report);
    if (report.why[0])
        journal(JOURNAL_INFO, "version %s, %s: %s", NUMABD_VERSION, report.state, report.why);
    else
        journal(JOURNAL_INFO, "version %s, %s %u memory nodes, sources: %s", NUMABD_VERSION,
                report.state, report.n_memory_nodes, report.sources);
    tell_systemd("READY=1\n", &report);
}

int daemon_run(struct daemon *daemon)
{
    int r;

    daemon_announce(daemon);
    r = sd_event_loop(daemon->event);
    sd_notify(false, "STOPPING=1");
    return r < 0 ? r : 0;
}
