#pragma once
/*
 * The state of the stage, shared by what changes it (attribute.c, attribute_ask.c for requests, and
 * attribute_objects.c for shared memory) and what others ask about it (attribute_query.c).
 */
#include "attribute/counts.h"
#include "attribute/objects.h"
#include "attribute/policy_turns.h"
#include "numabd/attribute.h"

struct attribute {
    struct attribute_options options;
    struct space *spaces;
    struct objects *objects;
    size_t n_ranges, n_small; /* those of 2 and of 8 MiB: together at most FINE_MAX */
    size_t n_coarse;          /* at most COARSE_MAX */
    uint64_t n_capped;
    struct policy_turns policy_turns;
    uint64_t round_nsec; /* the last round, 0 = none yet */
    uint64_t n_generations;
    pid_t listed_pid; /* the last that attribute_list_unsampled looked at; the next is first */
    struct residency_counts residency;
    struct attribute_counts gone; /* of spaces that were dropped */
};

/* attribute.c, for spaces and the memory of objects alike: */

/* Groups come and go with what is done to a space: counts those of this one anew. */
void attribute_count_groups(struct attribute *attribute, struct space *space);
/* What may still be made of a space's ranges and groups (groups.h). */
unsigned attribute_grain(const struct attribute *attribute, const struct space *space);
/* Return: 0 or -ENOMEM. */
int attribute_set_filter(struct space *space, const struct config *config);
/* Judges its evidence and makes slabs and ranges for its gaps. */
void attribute_close_space(struct attribute *attribute, struct space *space, double min_share,
                           double elapsed_sec, uint64_t now);

/* attribute_ask.c: */

/* The maps, where they are wanted and it is time. */
void attribute_ask_maps(struct attribute *attribute, struct space *space, uint64_t now);
/*
 * Puts a process whose numa_maps is to be read among those that take turns; policies of threads
 * alone cost next to nothing and are asked for at once. Return: 0 or -ENOMEM.
 */
int attribute_want_policy(struct attribute *attribute, const struct config *config,
                          struct space *space, uint64_t now);
/* Those whose turn it is; of the others that wait, threads whose policies are not known. */
void attribute_ask_policies(struct attribute *attribute, uint64_t now);
/* False for a process that nobody runs in, or whose answers are still out: nothing is refreshed. */
bool space_may_scan(const struct space *space, uint64_t now);
/* The pass that has begun is worked on as far as one request reaches. */
void attribute_ask_residency(struct attribute *attribute, struct space *space, uint64_t now);

/* attribute_objects.c: */

/* An access to memory that is not the space's alone. Return: as space_add_access. */
int attribute_push_shared(struct attribute *attribute, struct space *space,
                          const struct access *access, int node);
/* Return: 0 or -ENOMEM. */
int attribute_round_objects(struct attribute *attribute, const struct config *config,
                            double elapsed_sec, uint64_t now);
