#pragma once
/*
 * Fault pace: how often a process may be cleared, and what clears and faults cost. Pure.
 */
#include <stdint.h>

#include "util/nsec.h"

/* Faults are collected for one second behind a clear; a clear ends what an earlier one began. */
#define FAULT_WINDOW_NSEC NSEC_PER_SEC
#define FAULT_INTERVAL_MIN_NSEC FAULT_WINDOW_NSEC
#define FAULT_INTERVAL_MAX_NSEC (60 * NSEC_PER_SEC)

/* Measured natively: 27 ms for each GiB of 4 KiB pages. */
#define FAULT_PAGE_SEC (0.027 / 262144)

/* What one window cost, and what the target used meanwhile. */
struct fault_bill {
    double clear_sec;  /* its mmap_lock was held for */
    uint64_t n_faults; /* minor faults of it until the next clear, whatever their cause */
    double fault_sec;  /* each */
    double cpu_sec;    /* CPU time of the target in the window */
    double window_sec; /* > 0 */
    double budget;     /* share of cpu_sec that the cost may be: sampling_budget */
};

double fault_bill_cost(const struct fault_bill *bill);

/*
 * The next interval: twice the last one when the cost exceeds the budget of an interval, half of it
 * when it is at most a quarter, within the bounds above.
 */
uint64_t fault_pace_interval(uint64_t interval_nsec, const struct fault_bill *bill);

/* An estimate of seconds a page with one more clear in it; `sec_per_page` 0: there is none yet. */
double fault_pace_learn(double sec_per_page, double clear_sec, uint64_t n_pages);

/*
 * A process that is refused for its size is not measured any more, so one bad measurement would
 * refuse it for ever: each refusal brings the estimate a little nearer to where it began.
 */
double fault_pace_forget(double sec_per_page);
