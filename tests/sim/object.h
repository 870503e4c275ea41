#pragma once
/*
 * Objects: memory that mappings show, and its page table. The node is kept for each 2 MiB; only
 * where pages of one chunk lie apart it is kept for each 4 KiB. 1 TiB in whole chunks takes 8 MiB.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/node.h"
#include "sim/shape.h"

#define SIM_CHUNK_PAGES 512
#define SIM_ABSENT (-1) /* instead of a node */

struct sim_chunk {
    int16_t node;   /* of all pages, or SIM_ABSENT */
    int16_t *pages; /* [SIM_CHUNK_PAGES] where they differ; else NULL */
};

struct sim_object {
    uint64_t id;    /* from 1 */
    uint64_t inode; /* of shared ones; the id unless it is set: one may be used again */
    uint64_t n_pages;
    struct sim_chunk *chunks;
    uint64_t n_on[SIM_NODES_MAX]; /* pages by node */
    unsigned n_mappers;
    bool shared; /* MAP_SHARED */
    bool huge;   /* whole chunks are huge pages: one of its pages moves all */
};

struct sim_object *sim_object_new(uint64_t id, uint64_t n_pages);
struct sim_object *sim_object_free(struct sim_object *object);

int sim_object_node(const struct sim_object *object, uint64_t page);
uint64_t sim_object_n_present(const struct sim_object *object);

/*
 * Puts pages [first, first + n) on a node, absent ones too. `nodes` are the machine's, by id.
 * False: the node is full; what had been placed before stays there.
 */
bool sim_object_place(struct sim_object *object, struct sim_node *nodes, uint64_t first, uint64_t n,
                      int node);
/* The same for pages of one chunk, leaving absent ones absent: what move_pages does. */
bool sim_object_move(struct sim_object *object, struct sim_node *nodes, uint64_t first, uint64_t n,
                     int node);
/* `stride` pages on one node, then `stride` on the next of n_nodes, from node `from` on. */
void sim_object_spread(struct sim_object *object, struct sim_node *nodes, uint64_t stride, int from,
                       int n_nodes);
/* All its pages become free. */
void sim_object_empty(struct sim_object *object, struct sim_node *nodes);

/* Adds the pages of [first, first + n) by node to n_on[SIM_NODES_MAX]. */
void sim_object_count(const struct sim_object *object, uint64_t first, uint64_t n, uint64_t *n_on);
