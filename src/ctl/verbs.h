#pragma once
/*
 * Verbs of numabctl.
 */
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

/* Exit codes, as in numabctl(1). */
enum {
    EXIT_USAGE = 2,
    EXIT_ABSENT = 3,  /* no daemon */
    EXIT_REFUSED = 4, /* the daemon refuses */
};

struct ctl_options {
    const char *bus; /* path of the socket */
    bool json;
    bool all;            /* vmas: also those that were never sampled */
    pid_t pid;           /* vmas */
    bool local;          /* doctor: not through the daemon */
    uint64_t watch_nsec; /* 0: once */
};

/* Each prints its answer, or one line on stderr, and returns the exit code. */
int verb_status(const struct ctl_options *options);
int verb_ps(const struct ctl_options *options);
int verb_vmas(const struct ctl_options *options);
int verb_reload(const struct ctl_options *options);
int verb_pause(const struct ctl_options *options);
int verb_resume(const struct ctl_options *options);
int verb_undo(const struct ctl_options *options);
/* Exit code 0: balancing is possible, 1: it is not. */
int verb_doctor(const struct ctl_options *options);

/* One line on stderr for a condition of client.h. Return: the exit code. */
int verb_fail(int condition, const char *message);
/* An answer that cannot be used, or is in the way of one. Return: the exit code. */
int verb_fail_answer(int error);

/*
 * Calls `method` and hands the reply to handle(), which reads and prints it and returns 0 or a
 * negative errno. Return: the exit code, with one line on stderr for a failure.
 */
int verb_ask(const struct ctl_options *options, const char *method,
             int (*handle)(sd_bus_message *reply, void *userdata), void *userdata);
