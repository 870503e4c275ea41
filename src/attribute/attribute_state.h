#pragma once
/*
 * The state of the stage, shared by what changes it (attribute.c) and what others ask about it
 * (attribute_query.c).
 */
#include "attribute/scans.h"
#include "numabd/attribute.h"

struct attribute {
    struct attribute_options options;
    struct space *spaces;
    size_t n_ranges, n_groups; /* together at most RANGES_MAX */
    uint64_t n_capped;
    uint64_t round_nsec; /* the last round, 0 = none yet */
    uint64_t n_generations;
    pid_t listed_pid; /* the last that attribute_list_unsampled looked at; the next is first */
    struct scan_counts gone_counts; /* of spaces that were dropped */
};
