#pragma once
/*
 * Coverage: what the passes of the scan filter have seen of the memory that threads really touch,
 * which the simulator knows and numabd does not.
 */
#include "sim/run.h"

/* Passes that count for bytes, from 0: the 3rd to the 100th. The two before are free. */
#define SIM_COVERAGE_FIRST 2
#define SIM_COVERAGE_END 100

/*
 * Bytes are those of whole VMAs. A VMA is touched in a pass when a thread that runs in the round
 * before it uses any of it. The pass scans it when the filter lets it through; there may be too
 * much of it for one pass. From the pass in which it begins to be touched it waits for one that
 * completes it.
 */
struct sim_coverage_sums {
    uint64_t all_bytes;     /* that could have been scanned, in the passes that count */
    uint64_t scanned_bytes; /* in those */
    uint64_t touched_bytes; /* in those */
    uint64_t missed_bytes;  /* of the touched ones: not scanned in the same pass */
    unsigned longest_wait;  /* in passes, in any; 1: the first one completed all */
    unsigned n_touched;     /* VMAs, in passes that count */
    unsigned n_never;       /* of those: completed in none of these passes */
    unsigned n_missed;      /* times that touching ended before a pass had completed the VMA */
    unsigned n_waiting;     /* VMAs that are touched and wait at the end */
};

struct sim_watched; /* a VMA */

/* One process. */
struct sim_coverage {
    const struct sim_run *run;
    const struct sim_process *process;
    struct sim_watched *items; /* [process->n_vmas], which may not change */
    int64_t n_passes;
    struct sim_coverage_sums sums;
};

void sim_coverage_init(struct sim_coverage *coverage, const struct sim_run *run,
                       const struct sim_process *process);
void sim_coverage_deinit(struct sim_coverage *coverage);

/* After each round. */
void sim_coverage_note(struct sim_coverage *coverage);
/* What is to be said when nothing more comes: added to *sums. */
void sim_coverage_add(const struct sim_coverage *coverage, struct sim_coverage_sums *sums);
