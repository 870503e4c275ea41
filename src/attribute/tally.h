#pragma once
/*
 * Sums by node (struct tally): evidence and residency.
 */
#include "numabd/attribute.h"

void tally_deinit(struct tally *tally);
/* Return: 0 or -ENOMEM with the tally unchanged. */
int tally_add(struct tally *tally, int node, double n, double sec);
void tally_clear(struct tally *tally);
void tally_scale(struct tally *tally, double factor);
double tally_n(const struct tally *tally, int node);
double tally_sec(const struct tally *tally, int node);
double tally_total_n(const struct tally *tally);
/* The node with most samples, the lowest id among equals; -1 when empty. */
int tally_best(const struct tally *tally);
/* Return: 0 or -ENOMEM with *to unchanged. */
int tally_copy(struct tally *to, const struct tally *from);

/*
 * Bounds of the Wilson score interval for a share of `hits` in `n` samples (Wilson 1927):
 *   (p + z2/2n -+ z sqrt(p(1-p)/n + z2/4n2)) / (1 + z2/n)    with p = hits/n, z2 = z * z.
 * With z = 3 and all hits the lower bound is n / (n + 9): 14 samples pass 0.6.
 * n = 0 gives 0 and 1.
 */
double wilson_lower(double hits, double n, double z);
double wilson_upper(double hits, double n, double z);
