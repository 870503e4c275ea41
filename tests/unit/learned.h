#pragma once
/*
 * What the store must know of an address space after what happened to it: for each cell and level
 * (a range, or a group of 8 MiB ... the whole VMA) the sum of its accesses. A piece is its cells;
 * nothing in it says where pieces are, that is worked out anew from the mappings each time.
 */
#include "numabd/attribute.h"
#include "vm_model.h"

#define LEARNED_NODES 2
/* Threads with this number modulo 8 have a memory policy of their own. */
#define LEARNED_BOUND 7

struct range;
struct space;

/* Which node (an index) a piece belongs to, as the store judged in the last round. */
struct learned_claim {
    unsigned node, n_passes; /* 0 passes: there is none */
    bool shared, looks_shared;
};

/* One cell on one level. Those of the upper part are about the piece that begins here. */
struct learned_cell {
    bool known;                 /* there is one */
    bool gone;                  /* the round that ends now dropped it */
    bool bound;                 /* a thread with its own policy used it: never dropped */
    bool empty;                 /* a query found no page in it */
    bool all_on[LEARNED_NODES]; /* it found all of them there */
    struct learned_claim claim;

    double n[LEARNED_NODES]; /* accesses, decayed */
    uint64_t threads;        /* a bit for each thread that ever used the piece through this cell */
    unsigned answers;        /* a bit for each node that a query named for it */
};

struct learned {
    struct vm seen; /* as of the last read of maps */
    struct learned_cell cells[VM_LEVELS][VM_CELLS];
    uint64_t users[VM_CELLS]; /* threads in the mask of the VMA that holds it */
    uint64_t sharers;         /* threads that ever had their slot with others */
};

struct learned_counts {
    uint64_t n_kept, n_dropped; /* pieces, by re-reads */
    uint64_t n_fooled;          /* cells kept that are another mapping: it looks the same */
    uint64_t n_compared;        /* pieces of the store with pieces of the model */
    uint64_t n_bits;            /* of threads' masks that were looked at */
    uint64_t n_bound;           /* pieces that a thread with its own policy used */
    uint64_t n_gaps;            /* ranges and slabs without samples */
    uint64_t n_slabs;           /* slabs made for memory that no sample fell into */
    uint64_t n_told;            /* accesses that made no range: a group had said so */
    uint64_t n_left_to_larger;  /* ranges and groups of 8 MiB dropped with their samples */
};

/* Forgets everything, the mappings too. */
void learned_reset(struct learned *learned);
/*
 * An access of the thread (a number from 0 on) from a node (an index): all that holds it counts it
 * and what is missing is made, but nothing below a group that is confirmed for this node.
 */
void learned_add(struct learned *learned, size_t cell, unsigned thread, unsigned node,
                 struct learned_counts *counts);
/* A touch, from nobody knows which node: in groups that have passed it makes a range. */
void learned_touch(struct learned *learned, size_t cell);
/* Of shared memory, whose evidence is not the space's: only who used the mapping. */
void learned_note_user(struct learned *learned, size_t cell, unsigned thread);
/* A query named the node (an index) for a page of the cell. */
void learned_answer(struct learned *learned, size_t cell, unsigned node);
/* maps were read. */
void learned_follow(struct learned *learned, const struct vm *vm, struct learned_counts *counts);

/* The claim of a piece of the store. nodes: ids by index. */
struct learned_claim learned_claim_of(const struct range *range, const int nodes[LEARNED_NODES]);

/* A round begins: where pages lie is taken over, as the store was told. */
void learned_look(struct learned *learned, const struct space *space,
                  const int nodes[LEARNED_NODES]);
/*
 * A round ended. How fast evidence decays and what it is judged to be has tests of its own: the
 * model takes over each piece's factor, which must be one for all nodes and no smaller than a
 * half-life of two rounds allows, and its claim. Which pieces then go, stay or come is compared.
 */
void learned_round(struct learned *learned, const struct space *space,
                   const int nodes[LEARNED_NODES], struct learned_counts *counts);

/*
 * Compares. nodes: ids by index; first_tid: the tid of thread 0.
 */
void learned_check(struct learned *learned, const struct space *space,
                   const int nodes[LEARNED_NODES], pid_t first_tid, struct learned_counts *counts);
