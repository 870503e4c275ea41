#pragma once
/*
 * Decide: which ranges move where. Pure: everything it needs is an argument, nothing is read,
 * asked, logged or changed. Unit of gain and cost: seconds of CPU time.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/attribute.h"
#include "numabd/config.h"
#include "numabd/discover.h"
#include "numabd/reason.h"
#include "numabd/topology.h"
#include "util/cleanup.h"

/*
 * Share of a thread's CPU time that waits for memory, where no PMU can measure it. Published
 * profiles of memory-bound server loads lie between 0.2 and 0.6.
 */
#define DECIDE_MEMORY_BOUND 0.3
/*
 * How long a pattern is believed to last: as long as it has held, within these bounds. With a lower
 * bound of 10 s an emulated machine, where copying costs 50 s per GiB, refused moves that paid back
 * in 5 to 10 s.
 */
#define DECIDE_HORIZON_MIN_SEC 60.0
#define DECIDE_HORIZON_MAX_SEC 600.0
/* The gain over the horizon must exceed this many times the cost. */
#define DECIDE_GAIN_FACTOR 2.0
/*
 * A policy counts for a move only if it was read within so many rounds, or 20 times what reading it
 * costs: its owner may have bound the memory meanwhile, which maps does not show.
 */
#define DECIDE_POLICY_ROUNDS 3
#define DECIDE_POLICY_COST_FACTOR 20
/* First guess for copying, until this machine's own moves tell: 1 s of CPU time per GiB. */
#define DECIDE_SEC_PER_BYTE (1.0 / (1 << 30))

/* One range with what it belongs to. */
struct candidate {
    const struct target *target; /* NULL for shared memory */
    const struct space *space;   /* of shared memory: its offsets */
    const struct vma *vma;       /* NULL: no longer mapped */
    const struct range *range;
    /* The range or group whose claim and rate count for it; NULL: its own. */
    const struct range *evidence;
    uint64_t bytes; /* what of it may move: of a slab, the memory without ranges; 0: all */
    /* Shared memory, else NULL, NULL and NONE; the window that it moves through, NULL: none yet; */
    const struct object *object;
    const struct window *through;
    enum reason owned; /* NONE, or what the policies of its mappers say */
};

struct decide_env {
    const struct topology *topology;
    const struct config *config;
    bool observe; /* whatever the configuration says */
    bool pressed; /* tasks have to reclaim memory: page cache is no room */
    const uint64_t
        *rate_bytes;     /* [n_node_ids] what may still be moved to each node in this round */
    double sec_per_byte; /* learned cost of a move */
    uint64_t now;
};

/*
 * One range, or what of a slab has no ranges of its own, to one node; of shared memory the part
 * that one of its mappers maps.
 */
struct move {
    pid_t pid;
    uint64_t start, end; /* addresses */
    unsigned rank;       /* of the range */
    uint64_t size;       /* what of it may move, in bytes */
    int node;
    double gain_sec; /* per second */
    double cost_sec; /* once */
    uint64_t bytes;  /* estimate of what lies elsewhere */
    bool observe;    /* decided, to be counted only */
    uint64_t object; /* of shared memory: its id, and where its range begins there; 0 = private */
    uint64_t offset;
    size_t candidate; /* index */
};

struct plan {
    struct move *moves; /* by node, pid and address */
    size_t n_moves, cap;
    struct reason_counts reasons; /* one per candidate; NONE = planned */
    enum reason *verdicts;        /* the same, by candidate */
    size_t verdicts_cap;
};

/* Return: 0 or -ENOMEM. *plan must be empty or used before; it is overwritten. */
int decide_plan(struct plan *plan, const struct decide_env *env, const struct candidate *candidates,
                size_t n_candidates);
void plan_deinit(struct plan *plan);

/* One candidate alone, without budgets: fills *move and returns NONE, or says why not. */
enum reason decide_range(const struct decide_env *env, const struct candidate *candidate,
                         struct move *move);
