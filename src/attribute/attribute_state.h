#pragma once
/*
 * The state of the stage, shared by what changes it (attribute.c, and attribute_objects.c for
 * shared memory) and what others ask about it (attribute_query.c).
 */
#include "attribute/counts.h"
#include "attribute/objects.h"
#include "numabd/attribute.h"

struct attribute {
    struct attribute_options options;
    struct space *spaces;
    struct objects *objects;
    size_t n_ranges, n_groups; /* together at most RANGES_MAX */
    uint64_t n_capped;
    uint64_t round_nsec; /* the last round, 0 = none yet */
    uint64_t n_generations;
    pid_t listed_pid; /* the last that attribute_list_unsampled looked at; the next is first */
    struct residency_counts residency;
    struct attribute_counts gone; /* of spaces that were dropped */
};

/* attribute.c, for spaces and the memory of objects alike: */

/* Groups come and go with what is done to a space. */
void attribute_count_groups(struct attribute *attribute, struct space *space);
/* What may still be made of a space's ranges and groups (groups.h). */
unsigned attribute_grain(const struct attribute *attribute, const struct space *space);
/* Return: 0 or -ENOMEM. */
int attribute_set_filter(struct space *space, const struct config *config);
bool space_may_scan(const struct space *space, uint64_t now);
/* Judges its evidence and makes ranges for its gaps. */
void attribute_close_space(struct attribute *attribute, struct space *space, double min_share,
                           double elapsed_sec, uint64_t now);

/* attribute_objects.c: */

/* An access to memory that is not the space's alone. Return: as space_add_access. */
int attribute_push_shared(struct attribute *attribute, struct space *space,
                          const struct access *access, int node);
/* Return: 0 or -ENOMEM. */
int attribute_round_objects(struct attribute *attribute, const struct config *config,
                            double elapsed_sec, uint64_t now);
