#pragma once
/*
 * Control rig: a real control server in a directory of its own, with a fake daemon behind it.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "daemon/control.h"
#include "report/doctor.h"

struct control_rig {
    char top[32];       /* temporary, mode 0755 */
    char directory[40]; /* TOP/run, made by control */
    char bus[48];
    sd_event *event;
    struct control *control;
    /* the fake daemon */
    struct status_report status;
    struct process_reports processes;
    struct doctor_report doctor;
    /* The answer to Vmas; NULL: no process is known. */
    int (*vmas)(struct control_rig *rig, uid_t uid, const struct vmas_query *query,
                struct vmas_page *page);
    unsigned n_vmas_calls;
    int result; /* of the next calls */
    const char *reload_message, *undo_message;
    bool held;
    unsigned n_reloads;
    uid_t asked_uid;
};

/* Makes the directory, and the server too unless `idle`. */
void control_rig_init(struct control_rig *rig, bool idle);
void control_rig_deinit(struct control_rig *rig);

/* control_new on the rig's directory. */
int control_rig_start(struct control_rig *rig);

/* Runs the server until nothing is left to do at once. */
void control_rig_pump(struct control_rig *rig);

/* Runs function(argument) in a thread while the server runs, and gives its value. */
int control_rig_run(struct control_rig *rig, int (*function)(void *argument), void *argument);

/* A non-blocking connection, fd or -1. */
int control_rig_connect(const struct control_rig *rig);
/* Has the other side closed it? Reads what there is away. */
bool control_rig_is_closed(int fd);

/* Makes the rig's directory and a listening socket there that is not numabd's. */
int control_rig_listen(const struct control_rig *rig);

/* A client's Status call on the socket (const char *) `argument`; a condition of ctl/client.h. */
int control_rig_ask_status(void *argument);
/* Does the server answer one? */
bool control_rig_serves(struct control_rig *rig);
