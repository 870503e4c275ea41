#pragma once
/*
 * Slabs: the groups of 32 MiB as holders of all their memory that has no range of its own: where it
 * lies, whether it moves. Memory without finer evidence is then moved without an entry for each 2
 * MiB of it: 1 TiB takes 32,768 slabs, 14 MiB.
 */
#include "attribute/space.h"

#define SLAB_RANK (1 + SLAB_LEVEL)

/* The slab around addr, NULL: there is none. */
struct range *slab_find(const struct space *space, uint64_t addr);

/*
 * The next memory at or after *startp that `slab` stands for where it goes to `node`: pieces that
 * have a range of their own, or lie in a group of 8 MiB that says otherwise, are left out. At most
 * `limit` bytes (a multiple of RANGE_BYTES) in one piece. Return: false when there is no more.
 */
bool slab_next(const struct space *space, const struct range *slab, int node, uint64_t limit,
               uint64_t *startp, uint64_t *endp);

/* Does the slab stand for the 2 MiB around addr, if they have no range, and say that they go there?
 */
bool slab_speaks(const struct space *space, uint64_t addr, int node);

/* All that slab_next gives, in bytes. */
uint64_t slab_bytes(const struct space *space, const struct range *slab, int node);

/* Where a claim, its own or a larger group's, says that its memory belongs; -1: there is none. */
int slab_node(const struct space *space, const struct range *slab);

/*
 * n pages of what it stands for, spread evenly over it and shifted by `turn` in each 2 MiB, so that
 * repeats see others; by their numbers inside of the slab. Return: n, or 0 when it stands for
 * nothing.
 */
size_t slab_choose_pages(const struct space *space, const struct range *slab, uint64_t page_bytes,
                         unsigned turn, uint16_t *pages, size_t n);
