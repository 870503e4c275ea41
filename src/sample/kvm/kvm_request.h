#pragma once
/*
 * A request of the kvm source: to look at a process, or to read its vCPUs' times. It shares only
 * the link with the source, which it can outlive.
 */
#include <stdbool.h>
#include <stdint.h>

#include "numabd/host.h"
#include "sample/kvm/kvm_processes.h"
#include "sample/kvm/vmm.h"
#include "sample/source_link.h"
#include "util/cleanup.h"
#include "util/worker.h"

struct kvm_request {
    struct work work;
    struct source_link *link;
    struct host host;
    uint64_t start_ticks, serial; /* of the process */
    uint64_t now;                 /* of the round */
    bool looks;                   /* else it reads the times of the vCPUs in vmm */
    struct vmm vmm;               /* those of the process; the result */
    int r;                        /* of vmm_look or vmm_read_times */
};

/* Return: 0 or -ENOMEM. */
int kvm_request_new(struct kvm_request **requestp, struct source_link *link,
                    const struct host *host, const struct kvm_process *process, bool looks,
                    const struct work_ops *ops);
struct kvm_request *kvm_request_free(struct kvm_request *request);
CLEANUP_DEFINE(struct kvm_request *, kvm_request_free)

/* For work_ops. */
void kvm_request_run(struct work *work);
void kvm_request_free_work(struct work *work);
