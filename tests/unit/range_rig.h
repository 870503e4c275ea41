#pragma once
/*
 * One range and rounds of one second, for the tests of evidence.
 */
#include "attribute/ranges.h"

struct range_rig {
    struct range *range;
    uint64_t now;
    uint64_t n_samples; /* each at its own nanosecond */
    double min_share;
};

void range_rig_init(struct range_rig *rig);
void range_rig_deinit(struct range_rig *rig);

/* n samples of 4 ms from the node. */
void range_rig_add(struct range_rig *rig, int node, unsigned n);
void range_rig_close(struct range_rig *rig, double elapsed_sec);

/* Adds n samples, ends the round and gives what range_evidence says. */
enum reason range_rig_round(struct range_rig *rig, int node, unsigned n);
