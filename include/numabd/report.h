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
    /* where pages lie: addresses asked for, those with a node for an answer, PAGEMAP_SCAN calls */
    uint64_t residency_asked, residency_found, residency_scans;
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

/* Threads of a node. */
struct node_threads {
    int node;
    unsigned n;
};

struct node_threads_list {
    struct node_threads *items; /* ascending ids, owned */
    unsigned n_items;
};

#define THREAD_NAMES_MAX 3

struct thread_name {
    pid_t tid;
    char comm[64]; /* "" where it could not be read */
};

struct thread_names {
    struct thread_name items[THREAD_NAMES_MAX];
    unsigned n_items;
};

struct vma_report {
    uint64_t start, end; /* [start, end) */
    char name[256];      /* as maps has it: a newline is \012; a long one is cut at its front */
    char policy[32];     /* "default", or a reason's name: "bind", ..., "policy_unknown" */
    uint64_t page_bytes; /* kernelpagesize_kB: of huge pages only hugetlb's; 0 = not known */
    bool nodes_known;
    struct node_list nodes; /* as numa_maps told, and as numabd moved since */
    unsigned n_threads;     /* that used it in the last two mask windows, as far as sampled */
    struct node_threads_list thread_nodes; /* where they ran last */
    struct thread_names threads;           /* those of them with most CPU time, most first */
    unsigned n_scans;                      /* times that all of it was scanned */
    int scanned_ago_sec;                   /* since the last of them began, -1 = never */
    char scan[32];                         /* the scan filter's last verdict */
    struct reason_counts ranges;           /* by the last decision about each; NONE: to be moved */
    uint64_t moved_bytes;
    char reason[32];   /* why it is as it is: a reason's name, of most of its ranges */
    char verdict[192]; /* the same in a few words, with counts */
};

struct vma_reports {
    struct vma_report *items;
    size_t n_items, cap;
};

/* A part of the VMAs of one process: 65,530 are too many for one answer of the loop. */
#define VMAS_PAGE_ROWS 128

struct vmas_query {
    pid_t pid;
    uint64_t from; /* VMAs that start there or above; 0 at first, then `next` */
};

struct vmas_page {
    struct process_report process;
    struct vma_reports vmas;
    uint64_t next; /* 0: these were the last */
    /* Of the program in the process: pages with different ones are of different programs. */
    uint64_t generation;
};

/* Why there is no page. */
enum {
    VMAS_UNKNOWN = 1, /* no such process is known */
    VMAS_FOREIGN,     /* it is another user's */
    VMAS_LEFT_ALONE,  /* it is no target: process.state says why */
};

struct doctor_report; /* report/doctor.h */

void process_reports_deinit(struct process_reports *reports);
void vma_reports_deinit(struct vma_reports *reports);
void vmas_page_deinit(struct vmas_page *page);

/*
 * What control asks of the daemon; called in the loop thread. `uid` is the caller's: uid 0 sees all
 * processes, others their own. Return: 0 or a negative errno.
 */
struct report_ops {
    int (*status)(void *userdata, struct status_report *report);
    int (*processes)(void *userdata, uid_t uid, struct process_reports *reports);
    /* Return: also VMAS_UNKNOWN, VMAS_FOREIGN or VMAS_LEFT_ALONE. */
    int (*vmas)(void *userdata, uid_t uid, const struct vmas_query *query, struct vmas_page *page);
    /* What the doctor finds now; *reportp stays the daemon's, valid until the next call. */
    int (*doctor)(void *userdata, const struct doctor_report **reportp);
    /* Loads the configuration again. Return: 0, or -EINVAL with one line in message. */
    int (*reload)(void *userdata, char *message, size_t message_size);
    /* Nothing is moved from now on, or things are again. */
    void (*hold)(void *userdata, bool held);
    /*
     * Holds, and puts back what was changed outside numabd. Return: 0, or -EIO with one line in
     * message when something could not be put back.
     */
    int (*undo)(void *userdata, char *message, size_t message_size);
};
