#pragma once
/*
 * Idle process: what the idle_page source keeps of each process between rounds.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sample/idle/idle_scan.h"

struct idle_process {
    pid_t pid;
    uint64_t start_ticks;    /* 0: was given up while in flight */
    struct idle_armed armed; /* to be checked by the next scan */
    struct page_frames next; /* to be armed by it */
    bool in_flight;          /* a worker has a scan of it: there is never more than one */
};

/* Ascending pids. All zero is an empty list. */
struct idle_processes {
    struct idle_process *items;
    size_t n, cap;
};

void idle_processes_deinit(struct idle_processes *processes);

/* NULL if it is not in the list. Valid until the next change of the list. */
struct idle_process *idle_processes_find(const struct idle_processes *processes, pid_t pid);

/*
 * The process of that pid, added if it is new. What was kept of an earlier one of this pid is
 * forgotten, but not that its scan is still under way. NULL: no memory.
 */
struct idle_process *idle_processes_get(struct idle_processes *processes, pid_t pid,
                                        uint64_t start_ticks);

/*
 * Removes those that `keep` refuses. Those in flight stay, but lose what they hold, and their
 * start_ticks are 0 from then on: what their scan brings is nobody's.
 */
void idle_processes_prune(struct idle_processes *processes,
                          bool (*keep)(void *userdata, const struct idle_process *process),
                          void *userdata);
