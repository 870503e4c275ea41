#pragma once
/*
 * Control: the D-Bus interface org.numabd on a private socket.
 */
#include <systemd/sd-event.h>

#include "numabd/report.h"
#include "util/cleanup.h"

struct control;

/*
 * Listens on DIRECTORY/bus (the directory is made if it is missing; the socket gets mode 0666; a
 * stale socket is replaced, one that a living daemon answers is not).
 * Return: 0, CONTROL_BUSY, or a negative errno (the daemon then runs without control, and says so).
 */
enum {
    CONTROL_BUSY = 1 /* another numabd answers there */
};
int control_new(struct control **controlp, sd_event *event, const char *directory,
                const struct report_ops *ops, void *userdata);
struct control *control_free(struct control *control);
CLEANUP_DEFINE(struct control *, control_free)
