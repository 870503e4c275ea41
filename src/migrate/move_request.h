#pragma once
/*
 * The request that moves up to MIGRATE_BATCH_PAGES pages of one process to one node: private pages
 * with MPOL_MF_MOVE, which leaves those that others map too, or pages of objects with
 * MPOL_MF_MOVE_ALL, which needs CAP_SYS_NICE.
 */
#include "numabd/migrate.h"

struct move_request {
    struct work work;
    struct host host;   /* own copies, for it may run on when everything else has been freed */
    int pidfd, maps_fd; /* identity is checked right before each act; -1 = not checked */
    bool look;          /* at the page table first, for which pages are there and huge */
    uint64_t planned_bytes;
    struct outcome outcome;
    size_t cap;
};

/* Return: 0 or a negative errno. */
int move_request_new(struct move_request **requestp, const struct host *host,
                     const struct target *target, const struct space *space, int node, bool shared);
/* Return: 0 or -ENOMEM. */
int move_request_add(struct move_request *request, const struct move *move);
void move_request_run(struct work *work);
void move_request_free(struct work *work);
