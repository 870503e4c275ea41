#pragma once
/*
 * Kernel balancing: kernel.numa_balancing is paused while numabd balances the whole machine, since
 * two movers undo each other's work and the kernel's hint faults cost the processes time.
 */
#include "migrate/undo.h"

/* Bits of the sysctl (include/linux/sched/sysctl.h): 2 only promotes between memory tiers. */
#define KERNEL_BALANCING_NORMAL 1u
#define KERNEL_BALANCING_TIERING 2u
/*
 * Rounds in a row in which numabd could do the work before it takes over: to switch patches kernel
 * code on all CPUs, and a source that comes and goes must not do that each time.
 */
#define KERNEL_BALANCING_ROUNDS 3

struct kernel_balancing_facts {
    bool wanted;    /* kernel_balancing = pause */
    bool observing; /* nothing is moved */
    bool blind;     /* no source sees who accesses memory, or not for all processes */
    bool partial;   /* an include list leaves other processes to the kernel */
};

/* Why the kernel is left to balance as it does; NULL: it may be paused. Pure. */
const char *kernel_balancing_obstacle(const struct kernel_balancing_facts *facts);

struct kernel_balancing {
    struct undo *undo; /* not owned; NULL: nothing is ever changed */
    bool paused;       /* by us */
    unsigned n_ready;  /* rounds in a row without an obstacle */
    char left[288];    /* why it was left for good; "": it was not */
    char state[320];   /* for status, "" without undo: "paused", "on: left, because ...", "off",
                          "tiering", "absent" */
};

/* Where lines for the log go. */
typedef void kernel_balancing_say(void *userdata, const char *line);

/*
 * Once a round: pauses, or puts back what was paused. Somebody who turns it on again meanwhile, and
 * a kernel that refuses, are left alone until kernel_balancing_reset. Return: 0 or -ENOMEM.
 */
int kernel_balancing_round(struct kernel_balancing *kernel,
                           const struct kernel_balancing_facts *facts, kernel_balancing_say *say,
                           void *userdata);

/* Puts back what was paused, and all else in the journal. Return: as undo_restore. */
size_t kernel_balancing_undo(struct kernel_balancing *kernel, kernel_balancing_say *say,
                             void *userdata);

/* The configuration is another: what it was left for no longer counts. */
void kernel_balancing_reset(struct kernel_balancing *kernel);
