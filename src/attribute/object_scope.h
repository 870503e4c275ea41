#pragma once
/*
 * Who maps an object, and may its pages be moved? Moving takes them from every mapper
 * (MPOL_MF_MOVE_ALL), so all must be in scope: targets, and processes that are only too small. One
 * that the configuration leaves out, that its cpuset keeps on one node, or that is never managed
 * bars the whole object. Spaces show their own VMAs; all other processes (strangers) are found by a
 * search (mapper_search.h), which counts for max(30 s, 200 times its CPU time); discover then looks
 * closer at the small ones.
 */
#include "attribute/objects.h"

#define SEARCH_AGE_NSEC (30 * NSEC_PER_SEC)
#define SEARCH_COST_FACTOR 200 /* searches take 1/200 = 0.5 % of one CPU at most */

/*
 * The process maps the object, as far as is known. start_ticks 0: not known to discover. Without
 * memory the object counts as not searched.
 */
void object_note_stranger(struct object *object, pid_t pid, uint64_t start_ticks);
/* All but those that `keeps` says yes to. */
void object_drop_strangers(struct object *object, bool (*keeps)(const void *userdata, pid_t pid),
                           const void *userdata);

/* How long a search counts that took so much CPU time. */
uint64_t search_age_nsec(uint64_t cost_nsec);

/* Sets `barred` and `mems_allowed` from what discover says of all mappers now. Return: 0 or
 * -ENOMEM. */
int object_judge_scope(struct object *object, const struct objects *objects, uint64_t now);
