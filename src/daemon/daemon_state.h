#pragma once
/*
 * The daemon's own struct, shared by its making (daemon.c), its event loop (daemon_loop.c) and what
 * it answers to control (daemon_answers.c).
 */
#include <systemd/sd-event.h>

#include "daemon/checkup.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "migrate/undo.h"
#include "numabd/pipeline.h"
#include "sample/trace/recorder.h"

struct daemon {
    struct daemon_options options;
    sd_event *event;
    struct topology *topology;
    struct procs procs;
    struct host host;
    struct recorder *recorder; /* --record; NULL: none */
    struct worker_pool *pool;
    struct pipeline *pipeline;
    struct undo *undo; /* NULL: nothing outside is changed */
    struct control *control;
    struct checkup checkup;
    sd_event_source *drain_timer, *round_timer;
    uint64_t round_nsec; /* the last round; 0: none yet */
    bool round_failed;   /* said once */
};

bool daemon_is_live(const struct daemon *daemon);

/* Loads the configuration again. Return: 0, or -EINVAL with one line in message (logged too). */
int daemon_reload(struct daemon *daemon, char *message, size_t message_size);

/* What control asks of it. */
extern const struct report_ops daemon_report_ops;

/* Drains when the sampler's fd becomes readable. Return: 0 or a negative errno. */
int daemon_watch_rings(struct daemon *daemon, int fd);
/* Rounds, drains and finished requests from now on. Return: 0 or a negative errno. */
int daemon_add_timers(struct daemon *daemon);
