#include "sample/fault/clear_request.h"

#include <stdlib.h>

#include "util/nsec.h"

/* A clear that the guard allows takes 20 ms at most; a hundred times that is late. */
#define REQUEST_TIMEOUT_NSEC (2 * NSEC_PER_SEC)

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

struct clear_request *clear_request_new(struct source_link *link, const struct host *host,
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
        .link = source_link_ref(link),
        .host = *host,
        .clock = *clock,
        .task = *task,
        .on_done = on_done,
    };
    return request;
}

struct clear_request *clear_request_free(struct clear_request *request)
{
    if (!request)
        return NULL;
    source_link_unref(request->link);
    free(request);
    return NULL;
}
