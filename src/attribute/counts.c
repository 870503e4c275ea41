#include "attribute/counts.h"

#include "attribute/objects.h"

void attribute_counts_add(struct attribute_counts *counts, const struct space *space)
{
    scan_counts_add(&counts->scans, &space->scans->counts);
    autonuma_add(&counts->autonuma, &space->autonuma);
}

static struct attribute_counts attribute_sum(struct attribute *attribute)
{
    struct attribute_counts sum = *attribute_gone(attribute);
    struct space *space, *next;
    struct object *object, *next_object;

    HASH_ITER (hh, attribute_spaces(attribute), space, next)
        attribute_counts_add(&sum, space);
    HASH_ITER (learned, attribute_objects(attribute), object, next_object)
        attribute_counts_add(&sum, object->memory);
    return sum;
}

void attribute_count_scans(struct attribute *attribute, struct scan_counts *counts)
{
    *counts = attribute_sum(attribute).scans;
}

struct autonuma *attribute_autonuma(struct attribute *attribute, struct space *space)
{
    return space ? &space->autonuma : &attribute_gone(attribute)->autonuma;
}

void attribute_count_autonuma(struct attribute *attribute, struct autonuma *sum)
{
    *sum = attribute_sum(attribute).autonuma;
}
