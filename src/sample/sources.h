#pragma once
/*
 * Sources: the table of all there are. The sampler makes its sources from it, and the doctor probes
 * each row.
 */
#include "numabd/sample.h"

struct source_kind {
    const char *name; /* as in source_ops */
    int (*make)(struct source *source, const struct source_options *options,
                struct source_reason *reason);
    bool sees_who;     /* which thread accessed, not only that a page was touched */
    unsigned n_events; /* perf events that it opens at most for one CPU of one cgroup */
    const char *sees;  /* one clause each, for people */
    const char *blind;
};

/* The best source first. */
const struct source_kind *source_kinds(size_t *n);
