#pragma once
/*
 * The processes that the kvm source follows: all targets, most of which are no machines.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/sample.h"
#include "sample/kvm/kvm_spread.h"
#include "sample/kvm/vmm.h"

struct kvm_process {
    pid_t pid;
    uint64_t start_ticks, serial; /* serial: unique, not 0 */
    uint64_t look_nsec;           /* when it is looked at again */
    bool in_flight;               /* a request is out */
    bool denied;
    struct vmm vmm; /* as last read; no vCPUs: no machine */
    struct kvm_spread spread;
};

struct kvm_processes {
    struct kvm_process **items; /* ascending pids */
    size_t n;
    uint64_t n_serials;
};

/*
 * From here on the targets are known, and nobody else. Return: 0, or -ENOMEM with some of them.
 */
int kvm_processes_follow(struct kvm_processes *processes, const struct sample_round *round);
void kvm_processes_deinit(struct kvm_processes *processes);

struct kvm_process *kvm_processes_find(const struct kvm_processes *processes, pid_t pid);
size_t kvm_processes_machines(const struct kvm_processes *processes);
uint64_t kvm_processes_guest_bytes(const struct kvm_processes *processes);

bool kvm_process_is_machine(const struct kvm_process *process);
