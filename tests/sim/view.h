#pragma once
/*
 * What numabd sees of a simulated machine, and how it acts on it.
 */
#include "numabd/discover.h"
#include "numabd/host.h"
#include "numabd/sample.h"
#include "sim/machine.h"

/* Files of /proc and move_pages. */
struct host sim_host(struct sim_machine *machine);
struct procs sim_procs(struct sim_machine *machine);

/* move_pages(2) */
long sim_move_pages(void *self, pid_t pid, size_t n, void *const *pages, const int *nodes,
                    int *status, int flags);
