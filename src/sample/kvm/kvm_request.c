#include "sample/kvm/kvm_request.h"

#include <errno.h>
#include <stdlib.h>

#include "util/nsec.h"

#define REQUEST_TIMEOUT_NSEC (2 * NSEC_PER_SEC)

int kvm_request_new(struct kvm_request **requestp, struct source_link *link,
                    const struct host *host, const struct kvm_process *process, bool looks,
                    const struct work_ops *ops)
{
    CLEANUP(kvm_request_freep) struct kvm_request *request = calloc(1, sizeof *request);
    int r;

    if (!request)
        return -ENOMEM;
    request->work = (struct work){
        .ops = ops,
        .pid = process->pid,
        .timeout_nsec = REQUEST_TIMEOUT_NSEC,
    };
    request->host = *host;
    request->start_ticks = process->start_ticks;
    request->serial = process->serial;
    request->looks = looks;
    r = looks ? 0 : vmm_copy(&request->vmm, &process->vmm);
    if (r)
        return r;
    request->link = source_link_ref(link);
    *requestp = TAKE(request);
    return 0;
}

struct kvm_request *kvm_request_free(struct kvm_request *request)
{
    if (!request)
        return NULL;
    source_link_unref(request->link);
    vmm_deinit(&request->vmm);
    free(request);
    return NULL;
}

void kvm_request_run(struct work *work)
{
    struct kvm_request *request = (struct kvm_request *)work;

    request->r = request->looks
                     ? vmm_look(&request->vmm, &request->host, work->pid, request->start_ticks)
                     : vmm_read_times(&request->vmm, &request->host, work->pid);
}

void kvm_request_free_work(struct work *work)
{
    kvm_request_free((struct kvm_request *)work);
}
