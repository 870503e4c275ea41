#pragma once
/*
 * Runs: the unchanged pipeline on a simulated machine, with a virtual clock. Requests run inline,
 * at the end of the 100 ms in which they were made: their CPU time is counted, their length is not
 * waited for.
 */
#include "numabd/pipeline.h"
#include "sim/bill.h"
#include "sim/root.h"
#include "sim/scheduler.h"
#include "sim/source.h"
#include "sim/view.h"

/* Decoding a sample, uncached (DESIGN: 3.9 us). */
#define SIM_SAMPLE_NSEC 3900

/* What no run may ever do, watched in every round. */
struct sim_breach {
    unsigned n_rate;      /* rounds with more bytes to one node than migration_rate allows */
    unsigned n_room;      /* rounds after which a node that got pages had less than its headroom */
    unsigned n_refused;   /* rounds in which a node had no page left to give */
    unsigned n_forbidden; /* rounds in which pages were asked to move that must not */
};

struct sim_run {
    struct sim_machine machine;
    struct sim_scheduler scheduler;
    struct sim_source source;
    struct sim_root root;
    struct topology *topology;
    struct procs procs;
    struct host host;
    struct worker_pool *pool;
    struct pipeline *pipeline;
    unsigned n_rounds;
    struct sim_breach breach;
    /*
     * The most CPU time that any time up to now took above cpu_budget, in seconds: savings and
     * debts of the budget at their worst.
     */
    double overdrawn_sec, overdrawn_most_sec;
    size_t base_bytes,
        peak_bytes; /* on the heap: at sim_run_mark, and the most in any round since */
    unsigned n_log;
    char log[512]; /* last line */
};

void sim_run_init(struct sim_run *run, const struct sim_shape *shape, uint64_t seed);
void sim_run_deinit(struct sim_run *run);
CLEANUP_DEFINE(struct sim_run *, sim_run_deinit)

/* Processes of this name are excluded from now on. */
void sim_run_exclude(struct sim_run *run, const char *comm);
/* Instead of numabd's own (enum scan_filter_kind). */
void sim_run_set_filter(struct sim_run *run, unsigned kind);

/* Rounds of one second. */
void sim_run_rounds(struct sim_run *run, unsigned n);
/*
 * Rounds until the bill is at most `ratio` times the best. Return: how many, or limit + 1 when it
 * did not get there.
 */
unsigned sim_run_until(struct sim_run *run, double ratio, unsigned limit);

double sim_run_ratio(const struct sim_run *run);
/* cpu_budget, in CPU time per second. */
double sim_run_budget(const struct sim_run *run);
/* The machine is complete: what is allocated from here on is numabd's. */
void sim_run_mark(struct sim_run *run);
/* Pages that were moved since the start. */
uint64_t sim_run_n_moved(const struct sim_run *run);
/* CPU time that numabd has used, as modelled, without moving: what cpu_budget is about. */
double sim_run_cost_sec(const struct sim_run *run);
/* Any of the four. */
bool sim_run_is_broken(const struct sim_run *run);
