#pragma once
/*
 * Fault targets: the processes that a rule allows to be cleared, and how far each has come.
 *
 *     waiting -> clearing (with a worker) -> open (faults are collected) -> looking (with a worker)
 *        ^------------------------------------------------------------------------|
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "numabd/sample.h"
#include "sample/fault/clear_run.h"
#include "sample/fault/fault_window.h"

enum fault_phase {
    FAULT_WAITING,
    FAULT_CLEARING,
    FAULT_OPEN,
    FAULT_LOOKING,
};

struct fault_target {
    pid_t pid; /* key */
    uint64_t start_ticks;
    uint64_t rss_pages; /* as the last round said */
    bool present;       /* in the last round */
    bool in_flight;     /* a request of it has not come back */
    unsigned serial;    /* of its present life: what comes back with another one is not for it */
    enum fault_phase phase;
    enum fault_verdict verdict; /* of the last attempt */
    uint64_t due_nsec;          /* not cleared before */
    uint64_t interval_nsec;
    double sec_per_page;        /* of its own clears; 0: none yet */
    struct clear_result opened; /* what the clear found; valid while open or looking */
    struct clear_result looked; /* at the end of the last window; begin_nsec 0: none yet */
    double tail_rate; /* minor faults a second between the last window and the next clear */
    struct fault_window window;
};

/* All zero is an empty one. */
struct fault_targets {
    struct fault_target *items; /* ascending pids */
    size_t n_items, cap;
};

void fault_targets_deinit(struct fault_targets *targets);

/*
 * Takes over the targets of a round that allow faults and forgets the others, except those with a
 * request under way or a late one to wait for. Pointers to targets are invalid after it.
 * Return: 0 or -ENOMEM.
 */
int fault_targets_sync(struct fault_targets *targets, const struct sample_round *round,
                       size_t page_bytes);

/* Return: the target, or NULL. */
struct fault_target *fault_targets_find(const struct fault_targets *targets, pid_t pid);

/* How many have their events open. */
size_t fault_targets_n_active(const struct fault_targets *targets);

/* How many may be cleared at `now`. */
size_t fault_targets_n_due(const struct fault_targets *targets, uint64_t now);

/* The one that waits longest and may be cleared at `now`, or NULL. */
struct fault_target *fault_targets_next_due(const struct fault_targets *targets, uint64_t now);

/* ", 2 refused: has /dev/kvm open (the last is 4711)" for each verdict of the last attempts. */
void fault_targets_print_refused(const struct fault_targets *targets, FILE *file);
