#pragma once
/*
 * Migrate: carries out a plan with move_pages(2) in workers, one lane for each target node.
 */
#include <stdint.h>
#include <sys/types.h>

#include "numabd/decide.h"
#include "numabd/discover.h"
#include "numabd/host.h"
#include "numabd/topology.h"
#include "util/cleanup.h"
#include "util/worker.h"

/* Pages handed over by one request: a call drains per-CPU lists on every CPU, so calls are large.
 */
#define MIGRATE_BATCH_PAGES 4096
/* Requests queued for a node: more would act on evidence that has grown old. */
#define MIGRATE_QUEUE_MAX 8

#define LEDGER_ERRNOS 16

/*
 * What became of pages. tried = moved + failed + absent, always. "Tried" pages lay elsewhere when
 * the move began; those found on the target at that time are not tried.
 */
struct ledger {
    uint64_t n_tried, n_moved, n_failed;
    uint64_t n_asked;  /* times that a page's place was asked for */
    uint64_t n_absent; /* gone before they could move (unmapped, swapped out) */
    struct {
        int error;  /* positive errno; EAGAIN where the kernel gave up without a status */
        uint64_t n; /* pages */
    } failed[LEDGER_ERRNOS];
    unsigned n_errnos;
};

void ledger_fail(struct ledger *ledger, int error, uint64_t n);
void ledger_merge(struct ledger *to, const struct ledger *from);

/* One range of an outcome, or a part of a slab. */
struct moved_range {
    uint64_t start, end; /* addresses */
    unsigned rank;       /* of the range that it is or belongs to */
    uint64_t object;     /* shared memory, and its range there, as in struct move; else 0 */
    uint64_t offset;
    uint64_t n_failed;
    struct tally before, after; /* pages by node, absent pages left out */
};

struct outcome {
    pid_t pid;
    uint64_t start_ticks;
    uint64_t generation; /* of the space that the plan was made for */
    int node;
    bool shared;    /* of objects: moved for all their mappers */
    bool recalled;  /* before it began: nothing was done */
    bool gone;      /* the process ended or executed another program: nothing (more) was done */
    int call_error; /* positive errno of a refused call, 0 = none */
    struct ledger ledger;
    struct moved_range *ranges;
    size_t n_ranges;
    uint64_t cpu_nsec, wall_nsec;
};

struct migrate;

struct migrate_options {
    const struct host *host;
    const struct topology *topology;
    struct worker_pool *pool; /* lane 0 is for reads; then one lane for each node with memory */
    /* Called in the loop for each request that is done. */
    void (*on_outcome)(void *userdata, const struct outcome *outcome);
    void *userdata;
};

int migrate_new(struct migrate **migratep, const struct migrate_options *options);
/* Requests that are still out must be freed with their pool before. */
struct migrate *migrate_free(struct migrate *migrate);
CLEANUP_DEFINE(struct migrate *, migrate_free)

/*
 * Hands the plan's moves to workers and marks their ranges as moving; `observe` moves are counted
 * only, once for each range and node. Return: 0 or a negative errno.
 */
int migrate_submit(struct migrate *migrate, const struct plan *plan,
                   const struct discover *discover, struct attribute *attribute);

/*
 * What was decided no longer holds (another configuration, a pause): requests that wait are taken
 * back, with an outcome each; those that run may end.
 */
void migrate_recall(struct migrate *migrate);

/* Bytes that may be moved to each node now: rate * interval less what is still queued. */
void migrate_allowance(const struct migrate *migrate, const struct config *config,
                       uint64_t *rate_bytes);

struct migrate_counts {
    struct ledger ledger;
    uint64_t n_observed; /* pages that would have been moved */
    uint64_t moved_bytes;
    uint64_t cpu_nsec;
    double sec_per_byte; /* CPU time, learned; DECIDE_SEC_PER_BYTE before the first move */
};

const struct migrate_counts *migrate_counts(const struct migrate *migrate);
