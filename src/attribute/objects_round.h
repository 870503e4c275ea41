#pragma once
/*
 * What objects need in each round: what their mappers know of policies, who maps them, and where
 * their pages lie.
 */
#include "attribute/objects.h"

/* Before its evidence is judged: policies of the threads and VMAs that its mappers know. */
int object_follow_mappers(struct object *object);

/* The pass that has begun is worked on as far as one request reaches. */
void object_ask_residency(struct objects *objects, struct object *object, uint64_t now);

/*
 * After all evidence was judged: which objects wait for a move, who of their mappers is to be asked
 * for policies, and whether all may lose pages; searches for mappers where that is due. Return: 0
 * or -ENOMEM.
 */
int objects_close_round(struct objects *objects, struct space *spaces, double min_share,
                        uint64_t now);
