#pragma once
/*
 * Loads: processes with threads and misplaced memory, as the autonuma benchmark has them.
 */
#include "sim/machine.h"

enum sim_load_kind {
    SIM_LOAD_NUMA01,      /* the threads of a process use all its memory */
    SIM_LOAD_THREADLOCAL, /* each thread has a mapping of its own */
    SIM_LOAD_NUMA02,      /* one process, each thread its part of one mapping */
    SIM_LOAD_NUMA02_SMT,  /* the same on every second CPU */
    SIM_LOAD_COUNT
};

extern const char *const sim_load_names[SIM_LOAD_COUNT];

/*
 * One of the four, with `pages` for each node that has CPUs. Threads are pinned, one to a CPU. The
 * first two have a process on each node, whose memory lies on the node half way round; the others
 * have one process, whose memory is spread over all nodes without regard to its threads.
 */
void sim_load_add(struct sim_machine *machine, enum sim_load_kind kind, uint64_t pages);

/*
 * One process with a thread for each CPU below n_cpus, pinned; each uses its own part of one
 * mapping, whose pages lie in pieces of `stride` pages on one node after the other.
 */
struct sim_process *sim_load_add_parts(struct sim_machine *machine, int n_cpus, uint64_t pages_each,
                                       uint64_t stride);
/* The same, and all use the whole of it. */
struct sim_process *sim_load_add_shared(struct sim_machine *machine, int n_cpus, uint64_t pages,
                                        uint64_t stride);

/* Each thread takes over what the one `by` places further on used: the next phase. */
void sim_load_rotate(struct sim_process *process, size_t by);

/* n threads, pinned to CPUs of the node in turn, that use the whole of a mapping evenly. */
void sim_load_add_threads(struct sim_machine *machine, struct sim_process *process, size_t vma,
                          int node, unsigned n);
