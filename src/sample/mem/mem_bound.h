#pragma once
/*
 * Memory bound: which share of a process's CPU time waits for memory, from the counts of cycles and
 * instructions and from its latency samples.
 */
#include <stdint.h>

#include "numabd/sample.h"
#include "util/cleanup.h"

/* Cycles per instruction of a program that hardly misses its caches: IPC 2. */
#define MEM_BOUND_CPI_CORE 0.5

/* What is known since the last answer. */
struct mem_bound_counts {
    uint64_t cycles, instructions;  /* of user mode */
    uint64_t n_latencies;           /* samples with a latency */
    double latency, memory_latency; /* sums of latency x period: of all, of those that no cache
                                       answered */
};

enum {
    MEM_BOUND_UNKNOWN = 1, /* too little ran to tell */
};

/*
 * f = max(0, 1 - CPI_CORE / CPI) x s
 *
 * CPI = cycles / instructions. The first factor is the share of cycles beyond those that the
 * instructions need without stalls: CPU time = instructions x (CPI of execution + stall cycles per
 * instruction) (Hennessy and Patterson, Computer Architecture, appendix B.2). It takes all stalls,
 * branch misses included, for waiting on data; s, the share of the sampled latency that memory and
 * no cache answered, corrects that. s is 1 below 16 latency samples.
 *
 *     4e9 cycles, 2e9 instructions, 3/4 of the latency from memory: (1 - 0.5 / 2) x 0.75 = 0.56
 *
 * Return: 0, or MEM_BOUND_UNKNOWN below 1e6 cycles or without an instruction.
 */
int mem_bound_share(const struct mem_bound_counts *counts, double *sharep);

/* The counts of all processes that are sampled. */
struct mem_bound;

int mem_bound_new(struct mem_bound **boundp);
struct mem_bound *mem_bound_free(struct mem_bound *bound);
CLEANUP_DEFINE(struct mem_bound *, mem_bound_free)

/* A sample of a process: its latency x period. */
void mem_bound_add(struct mem_bound *bound, pid_t pid, double latency,
                   enum access_locality locality);

/*
 * The counters' sums; below an earlier call's, they began anew. Return: 0, or MEM_BOUND_UNKNOWN
 * (*use untouched).
 */
int mem_bound_take(struct mem_bound *bound, const struct sample_target *target, uint64_t cycles,
                   uint64_t instructions, struct cpu_use *use);

/* Forgets the processes that are no targets any more. */
void mem_bound_keep(struct mem_bound *bound, const struct sample_round *round);
