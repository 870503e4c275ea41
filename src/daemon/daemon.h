#pragma once
/*
 * The daemon: the event loop around the pipeline.
 */
#include <stdbool.h>

#include "util/cleanup.h"

struct daemon_options {
    const char *config_path;
    bool config_is_given;    /* --config: the file must exist */
    const char *root;        /* of the live machine: any path that leads to "/" */
    const char *record_path; /* --record: a new file for a trace; NULL: none */
    bool observe;            /* --observe: whatever the file says */
};

struct daemon;

/*
 * Everything that can fail at start; failures are logged here. Return: 0, one of the below, or a
 * negative errno.
 */
enum {
    DAEMON_BAD_CONFIG = 1,
    DAEMON_BUSY,      /* another numabd has the control socket */
    DAEMON_NO_RECORD, /* the file of --record cannot be made */
};
int daemon_new(struct daemon **daemonp, const struct daemon_options *options);
struct daemon *daemon_free(struct daemon *daemon);
CLEANUP_DEFINE(struct daemon *, daemon_free)

/* Runs until SIGTERM or SIGINT. Return: 0 or a negative errno. */
int daemon_run(struct daemon *daemon);
