#pragma once
/*
 * Trials: one scan filter over one load, for 100 passes, and what came of it. What `make bench`
 * prints and what the scenarios demand are the same numbers.
 */
#include "attribute/scan_filter.h"
#include "sim/coverage.h"
#include "sim/load.h"

#define SIM_TRIAL_FILTERS 4
#define SIM_TRIAL_SERVER SIM_LOAD_COUNT /* beside the loads */
#define SIM_TRIAL_LOADS (SIM_LOAD_COUNT + 1)
/* Of the cost of the best placement: placed. */
#define SIM_TRIAL_PLACED 1.05

struct sim_trial {
    unsigned load; /* enum sim_load_kind or SIM_TRIAL_SERVER */
    enum scan_filter_kind filter;
    /*
     * Accesses are seen only where the last pass scanned, as hint faults, soft-dirty and idle bits
     * are; else all are, as a timer sees them.
     */
    bool armed;
    uint64_t seed;
};

struct sim_trial_result {
    struct sim_coverage_sums sums;
    unsigned n_passes;   /* of the first process */
    uint64_t n_queried;  /* pages */
    uint64_t query_nsec; /* as modelled */
    uint64_t judge_nsec; /* CPU time of this machine for judging a pass over one process */
    unsigned placed[2];  /* rounds; from the start and from the second phase on; 0: never */
    bool has_second;     /* phase */
    double ratio;        /* of the cost, at the end */
    uint64_t n_moved;    /* pages */
};

void sim_trial_run(const struct sim_trial *trial, struct sim_trial_result *result);

const char *sim_trial_load_name(unsigned load);
const char *sim_trial_filter_name(enum scan_filter_kind filter);
