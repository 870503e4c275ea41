/*
 * What later stages ask about all address spaces.
 */
#include "attribute/attribute_state.h"
#include "attribute/heat.h"
#include "attribute/space.h"

struct space *attribute_find(const struct attribute *attribute, pid_t pid)
{
    struct space *space;

    HASH_FIND(hh, attribute->spaces, &pid, sizeof pid, space);
    return space;
}

struct space *attribute_spaces(const struct attribute *attribute)
{
    return attribute->spaces;
}

size_t attribute_n_ranges(const struct attribute *attribute)
{
    return attribute->n_ranges;
}

size_t attribute_n_groups(const struct attribute *attribute)
{
    return attribute->n_groups;
}

uint64_t attribute_n_capped(const struct attribute *attribute)
{
    return attribute->n_capped;
}

size_t attribute_list_unsampled(struct attribute *attribute, uint64_t now,
                                struct sample_range *ranges, size_t limit)
{
    struct space *space = attribute_find(attribute, attribute->listed_pid);
    unsigned n_looked = 0;
    size_t n = 0;

    for (unsigned i = HASH_COUNT(attribute->spaces);
         i > 0 && n < limit && n_looked < HEAT_LOOKED_AT_MAX; i--) {
        space = space && space->hh.next ? space->hh.next : attribute->spaces;
        attribute->listed_pid = space->pid;
        if (space->sampled_nsec + SPACE_IDLE_NSEC >= now && !space->stuck)
            n += heat_list(space, &ranges[n], limit - n, &n_looked);
    }
    heat_sort(ranges, n);
    return n;
}

void attribute_count_scans(const struct attribute *attribute, struct scan_counts *counts)
{
    struct space *space, *next;

    *counts = attribute->gone_counts;
    HASH_ITER (hh, attribute->spaces, space, next)
        scan_counts_add(counts, &space->scans->counts);
}
