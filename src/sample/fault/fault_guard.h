#pragma once
/*
 * Fault guard: may the soft-dirty bits of a process be cleared now? Facts in, verdict out.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum fault_verdict {
    FAULT_CLEAR,      /* nothing speaks against it */
    FAULT_GONE,       /* it has ended, or the pid is another process's */
    FAULT_UNREADABLE, /* what must be known cannot be read */
    FAULT_TRACKER,    /* it has a pagemap or clear_refs open: it may use the bits itself */
    FAULT_KVM,        /* a virtual machine: its guest's memory would be write-protected */
    FAULT_TRACED,     /* a debugger or CRIU is at it */
    FAULT_TOO_LARGE,  /* the clear would hold its mmap_lock for longer than FAULT_CLEAR_LIMIT_SEC */
    FAULT_LATE,       /* the last attempt did not come back in time */
    FAULT_REFUSED,    /* the kernel refused the write */
    FAULT_VERDICT_COUNT
};

/* clear_refs holds the target's mmap_lock for writing, in one piece: as long as a slow disk read.
 */
#define FAULT_CLEAR_LIMIT_SEC 0.020

/* An open file of the process, by the target of its link in /proc/PID/fd. */
enum fault_link {
    FAULT_LINK_OTHER,
    FAULT_LINK_TRACKER, /* /proc/N/pagemap or clear_refs, of any process and thread */
    FAULT_LINK_KVM,     /* /dev/kvm, or a virtual machine or vCPU made from it */
};

enum fault_link fault_guard_link(const char *target);

struct fault_facts {
    bool gone;
    uint64_t start_ticks, wanted_ticks; /* now, and of the process that is meant */
    bool links_known;                   /* all open files were looked at */
    bool has_tracker, has_kvm;
    bool tracer_known;
    pid_t tracer; /* 0: none */
    uint64_t rss_pages;
    double sec_per_page; /* what a clear costs, as known now */
};

/* The first that applies, in the order above. */
enum fault_verdict fault_guard_judge(const struct fault_facts *facts);

/* A few words, for describe(). */
const char *fault_verdict_text(enum fault_verdict verdict);
