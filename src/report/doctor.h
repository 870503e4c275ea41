#pragma once
/*
 * Doctor: what numabd needs of this machine, one line each: is it there, what is refused and by
 * which call, what to change, what stays unseen. A line is a struct, so that a daemon can send it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "numabd/host.h"
#include "numabd/topology.h"
#include "sample/probe.h"
#include "util/cleanup.h"

struct doctor_check {
    char group[16];    /* "source", "call", "permission", "limit", "kernel", "machine", "verdict" */
    char name[32];     /* unique */
    const char *state; /* "ok", "limited" (works with restrictions), "missing" */
    char call[48];     /* what was tried, "" where nothing was called */
    char error[24];    /* its errno, "EPERM"; "" when it did not fail */
    char detail[512];  /* what it is for, or what is there */
    char fix[384];     /* exactly what to change; "" where nothing is to be */
    char blind[256];   /* of a source: what it cannot see, and what of it is untested */
    char use[64];      /* of a source: how it runs in the daemon now */
};

struct doctor_report {
    struct doctor_check *items; /* in the order of printing, the verdict last */
    size_t n_items, cap;
};

struct doctor_options {
    const struct source_kind *kinds;
    size_t n_kinds;
    struct probe probe;
    const struct topology *topology;
    const struct host *host; /* /proc/self and sysctls are read through it */
    unsigned rate_hz;        /* at which sources are tried */
    const char *obstacle;    /* why nothing is balanced whatever is found here; NULL: nothing */
    /* How a source runs now, in a few words; "" if it does not. NULL: no source runs. */
    void (*describe)(void *userdata, const char *source, char *text, size_t size);
    void *userdata;
};

/* Tries everything; takes a few milliseconds. Return: 0 or a negative errno. */
int doctor_run(struct doctor_report *report, const struct doctor_options *options);
void doctor_report_deinit(struct doctor_report *report);

/* The last line's word: two memory nodes, a source that sees who accesses, and moving works. */
bool doctor_says_possible(const struct doctor_report *report);

/* Lines under a heading a group, the verdict last. */
void doctor_print(FILE *file, const struct doctor_report *report);
