#pragma once
/*
 * The scheduler: moves threads that are not pinned from CPU to CPU, as a kernel does that evens out
 * load and knows nothing of memory.
 */
#include "sim/machine.h"

struct sim_scheduler {
    double moves_per_sec; /* of each thread, on average */
    bool across_nodes;
};

/* What it does in elapsed_sec. */
void sim_scheduler_run(const struct sim_scheduler *scheduler, struct sim_machine *machine,
                       double elapsed_sec);
