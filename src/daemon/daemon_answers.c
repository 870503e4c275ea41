/*
 * What the daemon answers to control; in the loop thread.
 */
#include <errno.h>
#include <stdio.h>

#include "daemon/daemon_state.h"
#include "report/journal.h"
#include "sample/sources.h"
#include "util/nsec.h"

static int control_status(void *userdata, struct status_report *report)
{
    struct daemon *daemon = userdata;

    return pipeline_status(daemon->pipeline, nsec_now(), report);
}

static int control_processes(void *userdata, uid_t uid, struct process_reports *reports)
{
    struct daemon *daemon = userdata;

    return pipeline_processes(daemon->pipeline, uid, reports);
}

static int control_vmas(void *userdata, uid_t uid, const struct vmas_query *query,
                        struct vmas_page *page)
{
    struct daemon *daemon = userdata;

    return pipeline_vmas(daemon->pipeline, uid, query, nsec_now(), page);
}

static void describe_source(void *userdata, const char *source, char *text, size_t size)
{
    pipeline_describe_source(userdata, source, text, size);
}

static int control_doctor(void *userdata, const struct doctor_report **reportp)
{
    struct daemon *daemon = userdata;
    char obstacle[512];
    struct doctor_options options = {
        .probe = probe_live(),
        .topology = daemon->topology,
        .host = &daemon->host,
        .rate_hz = pipeline_config(daemon->pipeline)->rate_hz,
        .describe = describe_source,
        .userdata = daemon->pipeline,
    };

    if (!daemon_is_live(daemon)) {
        snprintf(obstacle, sizeof obstacle, "reading %s: nothing is sampled or moved",
                 daemon->options.root);
        options.obstacle = obstacle;
    }
    options.kinds = source_kinds(&options.n_kinds);
    return checkup_report(&daemon->checkup, &options, nsec_now(), reportp);
}

static int control_reload(void *userdata, char *message, size_t message_size)
{
    return daemon_reload(userdata, message, message_size);
}

static void control_hold(void *userdata, bool held)
{
    struct daemon *daemon = userdata;

    journal(JOURNAL_INFO, held ? "paused: nothing is moved" : "resumed");
    pipeline_hold(daemon->pipeline, held);
}

static int control_undo(void *userdata, char *message, size_t message_size)
{
    struct daemon *daemon = userdata;

    control_hold(daemon, true);
    if (!pipeline_undo(daemon->pipeline))
        return 0;
    snprintf(message, message_size, "something could not be put back, the journal says what");
    return -EIO;
}

const struct report_ops daemon_report_ops = {
    .status = control_status,
    .processes = control_processes,
    .vmas = control_vmas,
    .doctor = control_doctor,
    .reload = control_reload,
    .hold = control_hold,
    .undo = control_undo,
};
