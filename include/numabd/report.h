#pragma once
/*
 * Report: what users see, as plain structs. The pipeline fills them, control and ctl carry and
 * print them; nobody else knows the wire or the text format.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attribute/scan_filter.h"
#include "numabd/reason.h"
#include "util/cleanup.h"

/* What was done to processes since each was seen first, as numabd/autonuma.h counts it. */
struct autonuma_report {
    uint64_t numa_pte_updates, numa_hint_faults, numa_hint_faults_local, numa_pages_migrated;
    double autonuma_cost; /* of these */
};

struct scan_verdicts {
    uint64_t n[SCAN_VERDICT_COUNT]; /* one for each VMA and pass */
};

/* Remote shares are permyriad of sampled accesses, -1 = not known yet. */
struct status_report {
    char version[32];
    const char *state; /* "balancing", "observing" or "idle" */
    char why[256];     /* one line: why it is idle or observing; "" when balancing */
    uint64_t uptime_sec;
    unsigned n_memory_nodes;
    char sources[64];             /* that work: "timer, idle_page", "none" */
    char sampling[512];           /* what they do: "timer: 2 cgroups, 8 events" */
    unsigned rate_hz;             /* samples per second and CPU, the usual */
    const char *kernel_balancing; /* "on" (and why it is left on), "paused" by numabd, "off",
                                     "tiering", "absent" */
    int remote_first_permyriad, remote_permyriad;
    uint64_t moved_bytes, moved_last_hour_bytes;
    unsigned cost_permyriad;   /* of one CPU, everything but page copying, since the last report */
    unsigned moving_permyriad; /* of one CPU */
    unsigned n_balanced, n_observed, n_too_small, n_excluded, n_other;
    /* counters since the start */
    uint64_t n_rounds, n_samples, n_foreign, n_lost, n_unresolved, n_accesses;
    uint64_t n_interrupts; /* of CPUs, by sampling */
    uint64_t n_capped;     /* accesses not kept because all RANGES_MAX ranges are in use */
    uint64_t pages_tried, pages_moved, pages_failed, pages_observed;
    uint64_t sampled_round;   /* round of the first access, 0 = none yet */
    uint64_t converged_round; /* first round from which the remote share stayed at 5 % or less,
                                 0 = not yet */
    struct reason_counts process_reasons; /* now */
    struct reason_counts vma_reasons;     /* now, VMAs of balanced processes */
    struct reason_counts range_reasons;   /* the last round's verdicts */
    struct autonuma_report autonuma;      /* of all processes */
    /* the scan filter since the start: passes, bytes of VMAs scanned in full, VMAs by verdict */
    uint64_t scan_passes, scanned_bytes;
    struct scan_verdicts scan_verdicts;
    /* pages that failed, by errno: parallel arrays of n_errnos */
    int errnos[32];
    uint64_t errno_pages[32];
    unsigned n_errnos;
};

struct node_bytes {
    int node;
    uint64_t bytes;
};

struct node_list {
    struct node_bytes *items; /* ascending ids, owned */
    unsigned n_items;
};

struct process_report {
    pid_t pid;
    uid_t uid;
    char comm[64];
    uint64_t rss_bytes;
    unsigned n_threads;
    int remote_permyriad; /* -1 = not known yet */
    struct node_list nodes;
    bool nodes_known;
    uint64_t moved_bytes;
    struct autonuma_report autonuma;
    const char *state; /* "learning", "balancing", "stable", "observed", or a reason's name */
};

struct process_reports {
    struct process_report *items;
    size_t n_items, cap;
};

struct doctor_report; /* report/doctor.h */

void process_reports_deinit(struct process_reports *reports);

/*
 * What control asks of the daemon; called in the loop thread. `uid` is the caller's: uid 0 sees all
 * processes, others their own. Return: 0 or a negative errno.
 */
struct report_ops {
    int (*status)(void *userdata, struct status_report *report);
    int (*processes)(void *userdata, uid_t uid, struct process_reports *reports);
    /* What the doctor finds now; *reportp stays the daemon's, valid until the next call. */
    int (*doctor)(void *userdata, const struct doctor_report **reportp);
    /* Loads the configuration again. Return: 0, or -EINVAL with one line in message. */
    int (*reload)(void *userdata, char *message, size_t message_size);
};
