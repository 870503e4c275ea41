#pragma once
/*
 * Processes that live in a model: what they map, and what the store was told of it. The store reads
 * them through a host.
 */
#include "learned.h"
#include "mutate.h"
#include "vm_model.h"

#define N_LIVES 4

/* A process, and what the store was told of it. */
struct life {
    pid_t pid; /* and the tid of thread 0 */
    bool alive;
    uint64_t start_ticks;
    unsigned program;                 /* the address space: another one after exec, fork and exit */
    struct vm vm, vm_before;          /* now, and before the last change */
    struct vm vm_read;                /* what the last read of maps said */
    unsigned first_thread, n_threads; /* living ones are [first_thread, n_threads) */
    bool tracked;                     /* the store has a space */
    uint64_t tracked_ticks;           /* for the process that started then */
    unsigned tracked_program;         /* whose maps file is open, 0 = none */
    bool asked;                       /* an answer is out */
    struct learned learned;
};

/* From which node memory is used. Claims pass unless it is even, and gaps are filled. */
enum use {
    USE_EVEN,
    USE_ONE_NODE,
    USE_HALVES,
    USE_PARTLY,
    N_USES,
};

struct world {
    struct mutate *mutate;
    struct life lives[N_LIVES];
    unsigned n_programs;
    uint64_t now;
    int cpu_node[LEARNED_NODES];
    struct topology topology;
    struct host host;
    struct worker_pool *pool;
    struct config *config;
    struct attribute *attribute;
    enum use use;
    bool fleeting; /* many threads that do not live long */
    struct learned_counts counts;
};

/* A number below n, which is not 0. */
size_t world_below(struct world *world, size_t n);

/* All processes live, with a few mappings each; the store knows of none. */
void world_init(struct world *world, struct mutate *mutate);
void world_deinit(struct world *world);

/* A new process with this pid and the memory that `life` has now. */
void life_begin(struct world *world, struct life *life);
struct target life_target(const struct life *life);
/* The store learns of an access of it, and so of the process if that is a new one. */
void life_track(struct life *life);
/* The store knows nothing of it any more. */
void life_forget(struct life *life);
