#pragma once
/*
 * Sources: the table of all there are. The sampler makes its sources from it, and the doctor probes
 * each row.
 */
#include "numabd/sampler.h"

/* The best source first; the names of numabd.conf's `sources` are in the same order
 * (config_names.c). */
const struct source_kind *source_kinds(size_t *n);
