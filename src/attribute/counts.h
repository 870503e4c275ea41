#pragma once
/*
 * Counts: what all spaces together come to, also those that have gone.
 */
#include "attribute/scans.h"
#include "numabd/attribute.h"

struct attribute_counts {
    struct scan_counts scans;
    struct autonuma autonuma;
};

/* Adds those of one space. */
void attribute_counts_add(struct attribute_counts *counts, const struct space *space);

/* Those of spaces that were dropped. */
struct attribute_counts *attribute_gone(struct attribute *attribute);
