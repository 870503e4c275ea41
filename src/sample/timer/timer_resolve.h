#pragma once
/*
 * Timer samples of one process to accesses: reads the code around each sampled IP from the process
 * and computes addresses. Runs in a worker; plain data in, plain data out.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/host.h"
#include "numabd/sample.h"
#include "sample/perf/perf_sample.h"
#include "sample/timer/code_cache.h"

struct timer_result {
    struct access *accesses; /* owned */
    size_t n_accesses, cap;
    uint64_t n_unresolved; /* samples without an address */
    uint64_t n_decoded;    /* samples whose code was not in the cache */
};

/*
 * Appends the accesses of n samples, all of `pid`, in their order. `backward`: as x86_line_decode.
 * A process that has gone or refuses leaves its samples unresolved. The shelf may be shared with
 * other threads. Return: 0 or -ENOMEM.
 */
int timer_resolve(const struct host *host, pid_t pid, const struct timer_sample *samples, size_t n,
                  bool backward, struct code_shelf *shelf, struct timer_result *result);
void timer_result_deinit(struct timer_result *result);
