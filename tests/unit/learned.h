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

/* One cell on one level. */
struct learned_cell {
    bool known;              /* the piece that begins here is known */
    double n[LEARNED_NODES]; /* accesses, decayed */
    uint64_t threads;        /* a bit for each thread that ever used the piece through this cell */
    unsigned answers;        /* a bit for each node that a query named for it */
};

struct learned {
    struct vm seen; /* as of the last read of maps */
    struct learned_cell cells[VM_LEVELS][VM_CELLS];
    uint64_t users[VM_CELLS]; /* threads in the mask of the VMA that holds it */
};

struct learned_counts {
    uint64_t n_kept, n_dropped; /* pieces, by re-reads */
    uint64_t n_fooled;          /* cells kept that are another mapping: it looks the same */
    uint64_t n_compared;        /* pieces of the store with pieces of the model */
    uint64_t n_bits;            /* of threads' masks that were looked at */
    uint64_t n_bound;           /* pieces that a thread with its own policy used */
    uint64_t n_gaps;            /* ranges without samples */
};

/* Forgets everything, the mappings too. */
void learned_reset(struct learned *learned);
/* An access of the thread (a number from 0 on) from a node (an index). */
void learned_add(struct learned *learned, size_t cell, unsigned thread, unsigned node);
/* The same of shared memory, whose evidence is not the space's: only who used the mapping. */
void learned_note_user(struct learned *learned, size_t cell, unsigned thread);
/* A query named the node (an index) for a page of the cell. */
void learned_answer(struct learned *learned, size_t cell, unsigned node);
/* maps were read. */
void learned_follow(struct learned *learned, const struct vm *vm, struct learned_counts *counts);

/*
 * A round ended, or a touch came. How fast evidence decays has tests of its own: the model takes
 * over each piece's factor, which must be one for all nodes and no smaller than a half-life of two
 * rounds allows; what is forgotten must have had next to nothing. Ranges without samples may come,
 * in groups that have passed.
 */
void learned_decay(struct learned *learned, const struct space *space);

/*
 * Compares. nodes: ids by index; first_tid: the tid of thread 0.
 */
void learned_check(const struct learned *learned, const struct space *space,
                   const int nodes[LEARNED_NODES], pid_t first_tid, struct learned_counts *counts);
