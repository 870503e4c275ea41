#pragma once
/*
 * Machines: nodes, CPUs with the threads that take turns on them, and processes. numabd's own work
 * on the machine takes CPU time that is modelled too.
 */
#include "sim/process.h"
#include "sim/random.h"
#include "sim/shape.h"

/* Threads of one CPU; each gets an equal share of its time. */
struct sim_cpu {
    int node;
    struct sim_thread **threads;
    size_t n_threads, cap;
};

/* Calls of numabd, and what they broke. */
struct sim_tally {
    uint64_t n_maps, n_numa_maps, n_heads, n_queries, n_moves;
    uint64_t n_forbidden; /* pages asked to move that their owner bound, or that others map too */
    uint64_t n_queried;   /* pages, in n_queries */
    uint64_t query_nsec;  /* of them */
    uint64_t cpu_nsec;    /* of all requests, moves included */
};

struct sim_machine {
    struct sim_shape shape;
    struct sim_node nodes[SIM_NODES_MAX];
    struct sim_cpu *cpus;
    int n_cpus;
    struct sim_process **processes;
    size_t n_processes, processes_cap;
    struct sim_object **objects; /* all of them */
    size_t n_objects, objects_cap;
    struct sim_random random;
    uint64_t now; /* nsec */
    struct sim_tally tally;
};

void sim_machine_init(struct sim_machine *machine, const struct sim_shape *shape, uint64_t seed);
void sim_machine_deinit(struct sim_machine *machine);

struct sim_process *sim_machine_add_process(struct sim_machine *machine, const char *comm);
/* NULL: none, or it has ended. */
struct sim_process *sim_machine_find(const struct sim_machine *machine, pid_t pid);
/* Its memory becomes free where nobody else maps it; its threads sleep for ever. */
void sim_machine_end_process(struct sim_machine *machine, struct sim_process *process);

/* Memory without pages. */
struct sim_object *sim_machine_add_object(struct sim_machine *machine, uint64_t n_pages,
                                          bool shared);
/* A private mapping with all its pages on one node. Return: the place of the mapping. */
size_t sim_machine_map(struct sim_machine *machine, struct sim_process *process, uint64_t n_pages,
                       int node);

/* The thread runs on this CPU from now on, or sleeps (-1). */
void sim_machine_run_on(struct sim_machine *machine, struct sim_thread *thread, int cpu);
/* The node that a thread runs on; -1: it sleeps. */
int sim_machine_thread_node(const struct sim_machine *machine, const struct sim_thread *thread);
/* Share of a CPU's time that the thread has. */
double sim_machine_thread_share(const struct sim_machine *machine, const struct sim_thread *thread);

/* distance(from, to) / distance(from, from) */
double sim_machine_relative(const struct sim_machine *machine, int from, int to);
/* What came to a node by migration, in pages; node -1: to all of them. */
uint64_t sim_machine_arrived(const struct sim_machine *machine, int node);
