#pragma once
/*
 * A request of the kvm source: to look at a process, or to read its vCPUs' times. It can outlive
 * the source: a lost worker may give it back at any time. What both share is only the link, which
 * is counted, and which no longer leads to the source once that is freed.
 */
#include <stdbool.h>
#include <stdint.h>

#include "numabd/host.h"
#include "sample/kvm_processes.h"
#include "sample/vmm.h"
#include "util/cleanup.h"
#include "util/worker.h"

struct kvm;

struct kvm_link {
    unsigned n_refs; /* atomic: workers give up theirs too */
    struct kvm *kvm; /* loop thread only; NULL once it is freed */
};

struct kvm_request {
    struct work work;
    struct kvm_link *link;
    struct host host;
    uint64_t start_ticks, serial; /* of the process */
    uint64_t now;                 /* of the round */
    bool looks;                   /* else it reads the times of the vCPUs in vmm */
    struct vmm vmm;               /* those of the process; the result */
    int r;                        /* of vmm_look or vmm_read_times */
};

/* NULL without memory. */
struct kvm_link *kvm_link_new(struct kvm *kvm);
struct kvm_link *kvm_link_unref(struct kvm_link *link);

/* Return: 0 or -ENOMEM. */
int kvm_request_new(struct kvm_request **requestp, struct kvm_link *link, const struct host *host,
                    const struct kvm_process *process, bool looks, const struct work_ops *ops);
struct kvm_request *kvm_request_free(struct kvm_request *request);
CLEANUP_DEFINE(struct kvm_request *, kvm_request_free)

/* For work_ops. */
void kvm_request_run(struct work *work);
void kvm_request_free_work(struct work *work);
