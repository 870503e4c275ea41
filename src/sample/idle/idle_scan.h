#pragma once
/*
 * Idle scan: which of a process's armed pages were touched, and arming the next ones. Runs in a
 * worker (pagemap blocks on the process's mmap_lock); plain data in, plain data out.
 */
#include <stdint.h>
#include <sys/types.h>

#include "numabd/host.h"
#include "sample/idle/page_frames.h"

/* What one arming leaves for the check a round later. */
struct idle_armed {
    struct page_files files;   /* of the address space that was armed */
    struct page_frames frames; /* read back as set: trusted */
};

#define IDLE_ARMED_NULL ((struct idle_armed){.files = PAGE_FILES_NULL})

void idle_armed_deinit(struct idle_armed *armed);

struct idle_scan {
    struct page_frames next;    /* in: addr of the pages to arm */
    struct idle_armed armed;    /* in: to be checked; out: what was armed now */
    struct page_frames touched; /* out */
    size_t n_checked;           /* out: trusted pages whose bit was read */
    size_t n_unresolved;        /* out: pages that could not be armed, or changed since */
    const char *path;           /* out: file that failed, where the result is negative */
};

#define IDLE_SCAN_NULL ((struct idle_scan){.armed = IDLE_ARMED_NULL})

void idle_scan_deinit(struct idle_scan *scan);

enum {
    IDLE_SCAN_GONE = 1, /* the process has gone, or is not for us: nothing is armed */
    IDLE_SCAN_HIDDEN,   /* the kernel hides frames: no CAP_SYS_ADMIN; nothing is armed */
};

/*
 * Finds the touched ones among the armed pages, which are not armed any more then. An address space
 * that has gone only makes them unresolved.
 * Return: 0, IDLE_SCAN_HIDDEN, or a negative errno.
 */
int idle_scan_check(const struct host *host, pid_t pid, struct idle_scan *scan);

/* Arms `next`, which is empty then. Return: 0, a condition above, or a negative errno. */
int idle_scan_arm(const struct host *host, pid_t pid, struct idle_scan *scan);

/* Both. Return: 0, a condition above, or a negative errno; nothing is armed unless 0. */
int idle_scan_run(const struct host *host, pid_t pid, struct idle_scan *scan);
