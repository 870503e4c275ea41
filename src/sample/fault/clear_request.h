#pragma once
/*
 * Clear request: a clear or look on its way to a worker and back. It shares only the link with the
 * source, which it can outlive.
 */
#include "numabd/host.h"
#include "sample/fault/clear_run.h"
#include "sample/source_link.h"
#include "util/cleanup.h"
#include "util/worker.h"

struct clear_request {
    struct work work;
    struct source_link *link;
    struct host host;
    struct clear_clock clock;
    struct clear_task task;
    unsigned serial; /* the owner's */
    struct clear_result result;
    int r; /* of clear_run */
    void (*on_done)(struct work *work);
};

/* on_done(work) is called in the loop and takes ownership. Return: NULL without memory. */
struct clear_request *clear_request_new(struct source_link *link, const struct host *host,
                                        const struct clear_clock *clock,
                                        const struct clear_task *task,
                                        void (*on_done)(struct work *work));
struct clear_request *clear_request_free(struct clear_request *request);
CLEANUP_DEFINE(struct clear_request *, clear_request_free)
