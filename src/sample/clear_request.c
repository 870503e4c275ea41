#include "sample/clear_request.h"

#include <stdlib.h>

#include "util/nsec.h"

/* A clear that the guard allows takes 20 ms at most; a hundred times that is late. */
#define REQUEST_TIMEOUT_NSEC (2 * NSEC_PER_SEC)

struct clear_link *clear_link_new(void *owner)
{
    struct clear_link *link = calloc(1, sizeof *link);

    if (link)
        *link = (struct clear_link){.n_refs = 1, .owner = owner};
    return link;
}

struct clear_link *clear_link_unref(struct clear_link *link)
{
    if (link && __atomic_sub_fetch(&link->n_refs, 1, __ATOMIC_ACQ_REL) == 0)
        free(link);
    return NULL;
}

static void request_work_run(struct work *work)
{
    struct clear_request *request = (struct clear_request *)work;

    request->r = clear_run(&request->host, &request->clock, &request->task, &request->result);
}

static void request_work_done(struct work *work)
{
    ((struct clear_request *)work)->on_done(work);
}

static void request_work_free(struct work *work)
{
    clear_request_free((struct clear_request *)work);
}

struct clear_request *clear_request_new(struct clear_link *link, const struct host *host,
                                        const struct clear_clock *clock,
                                        const struct clear_task *task,
                                        void (*on_done)(struct work *work))
{
    static const struct work_ops ops = {
        .name = "write_fault",
        .run = request_work_run,
        .done = request_work_done,
        .free = request_work_free,
    };
    struct clear_request *request = calloc(1, sizeof *request);

    if (!request)
        return NULL;
    *request = (struct clear_request){
        .work = {.ops = &ops, .pid = task->pid, .timeout_nsec = REQUEST_TIMEOUT_NSEC},
        .link = link,
        .host = *host,
        .clock = *clock,
        .task = *task,
        .on_done = on_done,
    };
    __atomic_add_fetch(&link->n_refs, 1, __ATOMIC_RELAXED);
    return request;
}

struct clear_request *clear_request_free(struct clear_request *request)
{
    if (!request)
        return NULL;
    clear_link_unref(request->link);
    free(request);
    return NULL;
}
