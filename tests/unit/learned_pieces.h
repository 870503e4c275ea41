#pragma once
/*
 * Pieces of the model: what a range or a group is there, by its level (0: a range, 1 ... : groups
 * of 8 MiB ... the whole VMA) and its first cell.
 */
#include "learned.h"

#define WHOLE (VM_LEVELS - 1)
#define SLAB 2 /* groups of 32 MiB */
/* Rounding of sums that are scaled round after round. */
#define CLOSE 1e-9

struct range;
struct space;

/* The store's; NULL: there is none. */
const struct range *piece_find(const struct space *space, unsigned level, size_t first);

/* The first cell of the piece around `cell`. */
struct learned_cell *piece_around(struct learned *learned, unsigned level, size_t cell);

/* It comes into being, and nothing is known of it yet. */
void piece_make(struct learned *learned, unsigned level, size_t cell);
void piece_forget(struct learned *learned, unsigned level, size_t first);

/* Sums over the cells of a piece, which must begin with `first`; the rest is its first cell's. */
struct learned_cell piece_sum(const struct learned *learned, unsigned level, size_t first);
double piece_total(const struct learned_cell *sum);

/*
 * The smallest larger piece around `cell` with a claim of so many passes; NULL: there is none, or a
 * smaller one is shared.
 */
const struct learned_cell *piece_above(struct learned *learned, unsigned level, size_t cell,
                                       unsigned n_passes);
/* Has any larger piece, from `level` on, passed? */
bool piece_in_passed(struct learned *learned, unsigned level, size_t cell);
