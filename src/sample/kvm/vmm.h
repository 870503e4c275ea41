#pragma once
/*
 * A virtual machine as its monitor shows it from outside: vCPU threads, and the guest's memory in
 * the monitor's address space.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/host.h"
#include "sample/kvm/vmm_memory.h"
#include "sample/kvm/vmm_thread.h"

struct vmm_vcpu {
    struct vmm_thread thread;
    int node; /* of the guest whose memory it uses; -1: all of it */
};

struct vmm {
    struct vmm_vcpu *vcpus; /* ascending tids */
    size_t n_vcpus, vcpus_cap;
    size_t n_fds; /* vCPUs that KVM has for it: threads may not be recognised yet */
    struct vmm_memory memory;
};

enum {
    VMM_NONE = 1,   /* the process has no vCPUs */
    VMM_GONE = 2,   /* the process has ended, or the pid is another's by now */
    VMM_DENIED = 3, /* the kernel refuses to tell */
};

/*
 * Looks whether the process is a monitor, and what of, into an empty struct. Calls that can block
 * on the process: for workers. Return: 0, VMM_NONE, VMM_GONE, VMM_DENIED, or a negative errno.
 */
int vmm_look(struct vmm *vmm, const struct host *host, pid_t pid, uint64_t start_ticks);

/*
 * Reads the times of the known vCPU threads anew, and drops those that have ended.
 * Return: 0, VMM_GONE when none is left, or a negative errno.
 */
int vmm_read_times(struct vmm *vmm, const struct host *host, pid_t pid);

/* Into an empty struct. Return: 0 or -ENOMEM. */
int vmm_copy(struct vmm *vmm, const struct vmm *from);
void vmm_deinit(struct vmm *vmm);

/*
 * "anon_inode:kvm-vcpu:3", or without the number on older kernels. "/dev/kvm" alone is none:
 * libvirt and others open it to ask what KVM can do.
 */
bool vmm_link_is_vcpu(const char *target);
