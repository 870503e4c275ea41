#pragma once
/*
 * Cost of distance, in seconds of CPU time per second, of which the memory-bound share f counts.
 *
 *   now       C    = sum_n A[n] * sum_m R[m] * d(n,m)/d(n,n)
 *   on t      C(t) = sum_n A[n] * d(n,t)/d(n,n)
 *
 * A[n]: access-seconds per second by threads on node n; R[m]: share of the pages on node m.
 * Example: one thread on node 0 spends all its time (A[0] = 1) on pages of node 1 (R[1] = 1) at
 * distance 21: C = 2.1, C(0) = 1; with f = 0.3 a gain of 0.33 s/s.
 */
#include "numabd/decide.h"

double gain_cost_now(const struct topology *topology, const struct range *range);
double gain_cost_on(const struct topology *topology, const struct range *range, int node);

/*
 * The node with memory, allowed (NULL allows all) and reachable from all that use the range, whose
 * cost is least; the lowest id among equals. -1 when there is none.
 */
int gain_best_node(const struct topology *topology, const struct range *range, const bool *allowed);

/* Seconds for which the pattern is believed to last. */
double gain_horizon(const struct claim *claim, uint64_t now);
