#pragma once
/*
 * Bills: what the accesses of all threads cost by distance, now and under the best placement there
 * could be: each page on the node that is cheapest for those who use it, as if every node had room
 * for everything. Unit: CPUs' worth of accesses; 1.0 is one CPU that accesses local memory all the
 * time.
 */
#include "sim/machine.h"

struct sim_bill {
    double now, best;
    uint64_t n_misplaced; /* pages that would cost less elsewhere */
};

struct sim_bill sim_bill_make(const struct sim_machine *machine);
/* now / best; 1 when nothing is used. */
double sim_bill_ratio(const struct sim_bill *bill);
