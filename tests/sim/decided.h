#pragma once
/*
 * How much of the memory that threads use is decided: evidence that may be acted on says that it
 * belongs to the node of its thread, wherever it lies.
 */
#include "sim/run.h"

/* Share of all used memory, 0 to 1; *wrongp: decided for another node. */
double sim_decided_share(const struct sim_run *run, double *wrongp);
