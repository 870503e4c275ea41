#pragma once
/*
 * A model of the processes of a machine, for whatever works on procs_ops.
 */
#include "numabd/discover.h"

struct fake_process {
    pid_t pid;
    uint64_t start_ticks;
    uint64_t rss_bytes;
    const char *comm, *exe, *mems;
    const char *exact_comm; /* that the detail gives */
    bool kernel_thread;
    bool gone; /* ends between list and detail */
    bool no_pidfd;
    int one_error, detail_error, mems_error; /* negative errnos to fail with */
};

struct fake_procs {
    struct fake_process *items;
    size_t n_items;
    int list_error, detail_error;                /* negative errnos to fail with */
    unsigned n_lists, n_ones, n_details, n_refs; /* calls so far */
};

struct procs fake_procs_of(struct fake_procs *fake);
