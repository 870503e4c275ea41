#pragma once
/*
 * Clear request: a clear or look on its way to a worker and back. It can outlive the source: a lost
 * worker may give it back at any time. What both share is only the link, which is counted, and
 * which no longer leads to the source once that is freed.
 */
#include "numabd/host.h"
#include "sample/clear_run.h"
#include "util/cleanup.h"
#include "util/worker.h"

struct clear_link {
    unsigned n_refs; /* atomic: workers give up theirs too */
    void *owner;     /* loop thread only; NULL once it is freed */
};

/* Return: with one reference, or NULL. */
struct clear_link *clear_link_new(void *owner);
struct clear_link *clear_link_unref(struct clear_link *link);

struct clear_request {
    struct work work;
    struct clear_link *link;
    struct host host;
    struct clear_clock clock;
    struct clear_task task;
    unsigned serial; /* the owner's */
    struct clear_result result;
    int r; /* of clear_run */
    void (*on_done)(struct work *work);
};

/* on_done(work) is called in the loop and takes ownership. Return: NULL without memory. */
struct clear_request *clear_request_new(struct clear_link *link, const struct host *host,
                                        const struct clear_clock *clock,
                                        const struct clear_task *task,
                                        void (*on_done)(struct work *work));
struct clear_request *clear_request_free(struct clear_request *request);
CLEANUP_DEFINE(struct clear_request *, clear_request_free)
