#pragma once
/*
 * Where an object's pages lie. move_pages answers from the page table of one process: a page that
 * this one has not touched yet is -ENOENT, though it lies somewhere (mm/migrate.c:
 * do_pages_stat_array, add_page_for_migration). So each range is asked for through several mappers,
 * in this order, each for what the ones before did not see:
 *   1. the one that has most of the object in its page table, by its numa_maps,
 *   2. the one that the range was to be moved through last,
 *   3. the one whose thread used the range last, or the memory around it,
 *   4. the one that has most of the object but for the first.
 * The one that has most of the pages that lie elsewhere than their users run is the one that they
 * are moved through; what it does not have is seen again, and moved through another one then.
 */
#include "attribute/objects.h"
#include "attribute/requests.h"

#define OBJECT_RANGES_MAX 512 /* a request */
#define OBJECT_ASKED_MAX 4    /* mappers for each range */

struct object_asked {
    pid_t pid;           /* 0: nobody */
    uint64_t start, end; /* addresses of the part of the range that it maps */
    uint64_t shift;      /* address less offset */
};

struct object_range {
    uint64_t start; /* offset: the range's key */
    struct object_asked asked[OBJECT_ASKED_MAX];
    uint64_t offsets[RESIDENCY_PAGES_PER_RANGE];
    int status[RESIDENCY_PAGES_PER_RANGE];
    uint8_t seen_by[RESIDENCY_PAGES_PER_RANGE]; /* index into asked[], where status >= 0 */
};

struct object_residency {
    struct request request; /* generation: the object's id; pid 0: it asks several */
    uint64_t asked_nsec;
    struct object_range ranges[OBJECT_RANGES_MAX];
    size_t n_ranges;
    size_t n_asked, n_found; /* out: addresses handed to the kernel, and answered with a node */
};

/* Return: 0, RESIDENCY_NOTHING_DUE, or -ENOMEM. What did not fit is left over for the next pass. */
int object_residency_new(struct object_residency **requestp, struct object *object,
                         const struct host *host, uint64_t now, const struct work_ops *ops,
                         void *owner);
void object_residency_run(struct work *work);
void object_residency_free(struct work *work);

/* Results into the object. Return: 0 or -ENOMEM. */
int object_residency_apply(const struct object_residency *residency, struct object *object,
                           double min_share);
