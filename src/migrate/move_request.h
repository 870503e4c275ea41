#pragma once
/*
 * The request that moves up to MIGRATE_BATCH_PAGES pages of one process to one node.
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
                     const struct target *target, const struct space *space, int node);
/* Return: 0 or -ENOMEM. */
int move_request_add(struct move_request *request, uint64_t start, uint64_t end, unsigned rank);
void move_request_run(struct work *work);
void move_request_free(struct work *work);
