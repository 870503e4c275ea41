#pragma once
/*
 * vCPU time to accesses: as if a timer had sampled the guest, whose vCPUs use the memory of their
 * node evenly. Pure.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/sample.h"
#include "sample/kvm/vmm.h"

/* One huge page, and the smallest range of evidence. */
#define KVM_STEP_MIN ((uint64_t)2 << 20)
/*
 * A record stands for 1 ms or more: four of them say as much as a timer sample at 250 Hz, since
 * vCPU time is measured and not sampled.
 */
#define KVM_RECORD_SEC 0.001

/* Of one guest, from round to round. */
struct kvm_spread {
    uint64_t random;                    /* not 0 */
    uint64_t turns[QEMU_NODES_MAX + 1]; /* records made so far, by guest node + 1 */
};

struct kvm_spread_round {
    pid_t pid;
    uint64_t now;        /* of the second reading; records are a nanosecond apart, up to it */
    double tick_sec;     /* 1 / USER_HZ */
    uint64_t step_bytes; /* from one address to the next, at least KVM_STEP_MIN */
    size_t n_max;        /* records, at least 1 */
};

struct kvm_accesses {
    struct access *items; /* owned */
    size_t n, cap;
    double unplaced_sec; /* time of vCPUs without memory */
    size_t n_ran;        /* vCPUs that ran */
};

/*
 * Appends what the vCPUs did between two readings of one machine. Each record has the same weight
 * within a guest node; together they have all the vCPUs' time. Which vCPU a record is of is drawn
 * with the vCPUs' times as odds; addresses take turns, far apart from one to the next, until each
 * had one.
 * Return: 0 or -ENOMEM.
 */
int kvm_spread(struct kvm_spread *spread, const struct kvm_spread_round *round,
               const struct vmm *before, const struct vmm *after, struct kvm_accesses *accesses);

/*
 * The distance of addresses, a power of two times KVM_STEP_MIN, at which `bytes` of guest memory
 * have at most n_max of them.
 */
uint64_t kvm_step_bytes(uint64_t bytes, uint64_t n_max);
