#pragma once

/*
 * How far the memory is from those who use it.
 *
 * Each thread's accesses since the last measurement, by the node that it ran on, are weighted with
 * the distance to the nodes of its pages, of which a random sample is looked up. With the threads
 * of two nodes at distance 21 and all pages on one of them: half of the accesses cost 1.0 and
 * half 2.1, mean 1.55, remote 50 %.
 */

#include "team.h"

struct measurement {
    double distance;       /* access-weighted mean, 1.0 is all local; NaN: no page is present */
    double remote_percent; /* share of accesses to another node's memory; NaN as above */
    unsigned long passes;  /* sweeps of all memory since the start, of the average thread */
    double mib;            /* that were accessed since the start */
    unsigned long errors;
};

struct measure {
    unsigned long *last_chunks; /* n_members x MACHINE_MAX_NODES, at the last measurement */
    unsigned long random;
};

void measure_new(struct measure *measure, const struct team *team);
void measure_free(struct measure *measure);

/* Passes, MiB and errors only. */
void measure_count(const struct team *team, struct measurement *result);

/* Where no thread has done anything since the last measurement, all threads weigh the same. */
void measure_take(struct measure *measure, const struct team *team, struct measurement *result);
