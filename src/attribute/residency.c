/*
 * Where pages lie: move_pages without nodes, on a few pages of each range that matters. 16 pages of
 * 512 miss a range that is a tenth misplaced with probability 0.18, so each turn looks at others.
 */
#include <errno.h>

#include "attribute/pagemap.h"
#include "attribute/ranges.h"
#include "attribute/requests.h"
#include "attribute/slabs.h"
#include "attribute/space_scan.h"
#include "util/array.h"
#include "util/nsec.h"

#define RESIDENCY_TIMEOUT (5 * NSEC_PER_SEC)
/* A claim that may be acted on wants fresh numbers; others only feed the remote share. */
#define RESIDENCY_CLAIM_NSEC (1 * NSEC_PER_SEC)
#define RESIDENCY_NSEC (5 * NSEC_PER_SEC)
/* A slab that lies well: most of a large machine, 0.05 s of CPU time for 1 TiB. */
#define RESIDENCY_SETTLED_NSEC (30 * NSEC_PER_SEC)

/* n_ranges: of the space. node: that a slab's memory belongs to. */
bool residency_is_due(const struct range *range, size_t n_ranges, int node, uint64_t now)
{
    /* Beyond 512 ranges a second each waits longer, so that all get their turn. */
    uint64_t period = RESIDENCY_NSEC + n_ranges * (NSEC_PER_SEC / 512);

    if (range->moving)
        return false;
    if (!range->residency_nsec)
        return true;
    if (range->rank && range_resident_share(range, node) == 1)
        period += RESIDENCY_SETTLED_NSEC;
    else if (!range->rank && range->claim.n_passes && range->cool_down_nsec <= now)
        period = RESIDENCY_CLAIM_NSEC;
    return range->residency_nsec + period <= now;
}

/* Unknown ones first, then the oldest. */
static int by_age(const void *left, const void *right)
{
    const struct range *a = *(struct range *const *)left, *b = *(struct range *const *)right;

    if (a->residency_nsec != b->residency_nsec)
        return a->residency_nsec < b->residency_nsec ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

struct due {
    struct range **items; /* the space's */
    size_t n, cap;
};

static void due_deinit(struct due *due)
{
    free(due->items);
}

static int due_add(struct due *due, const struct space *space, struct range *ranges,
                   size_t n_ranges, uint64_t now)
{
    struct range *range, *next;

    HASH_ITER (hh, ranges, range, next) {
        int node = range->rank ? slab_node(space, range) : 0;

        if (node < 0 || !residency_is_due(range, n_ranges, node, now) ||
            !space_lets(space, range->start))
            continue;
        if (ARRAY_RESERVE(due->items, due->cap, due->n + 1) < 0)
            return -ENOMEM;
        due->items[due->n++] = range;
    }
    return 0;
}

static struct residency_range residency_range_of(const struct residency_request *residency,
                                                 const struct space *space,
                                                 const struct range *range)
{
    const struct vma *vma = space_find_vma(space, range->start);
    uint64_t base = residency->request.host.page_bytes;
    bool hugetlb = vma && vma->page_bytes > base;

    return (struct residency_range){
        .start = range->start,
        .end = range->end,
        .rank = range->rank,
        .page_bytes = hugetlb ? vma->page_bytes : base,
        .look = !range->rank && !hugetlb && !space->no_pagemap && !range->n_blind,
    };
}

/* What a slab stands for is known here only, so its pages are chosen now. */
static bool residency_choose_slab(struct residency_request *residency, const struct space *space,
                                  const struct range *slab, struct residency_range *asked)
{
    asked->chosen = (uint32_t)residency->n_chosen;
    asked->n = (uint32_t)slab_choose_pages(space, slab, residency->request.host.page_bytes,
                                           residency->turn, &residency->chosen[asked->chosen],
                                           RESIDENCY_PAGES_PER_RANGE);
    residency->n_chosen += asked->n;
    return asked->n > 0;
}

static void residency_request_add(struct residency_request *residency, const struct space *space,
                                  const struct range *range)
{
    struct residency_range asked = residency_range_of(residency, space, range);

    if (!range->rank || residency_choose_slab(residency, space, range, &asked))
        residency->ranges[residency->n_ranges++] = asked;
}

/* Many processes may have one out at a time, and most of them little to ask for. */
static int residency_request_reserve(struct residency_request *residency, size_t n_ranges)
{
    size_t n_pages = n_ranges * RESIDENCY_PAGES_PER_RANGE;

    residency->ranges = calloc(n_ranges, sizeof *residency->ranges);
    residency->chosen = calloc(n_pages, sizeof *residency->chosen);
    residency->pages = calloc(n_pages, sizeof *residency->pages);
    residency->status = calloc(n_pages, sizeof *residency->status);
    return residency->ranges && residency->chosen && residency->pages && residency->status
               ? 0
               : -ENOMEM;
}

static int residency_request_fill(struct residency_request *residency, struct space *space,
                                  uint64_t now)
{
    size_t n_ranges = HASH_COUNT(space->ranges) + HASH_COUNT(space->groups[SLAB_LEVEL]);
    CLEANUP(due_deinit) struct due due = {0};

    if (due_add(&due, space, space->ranges, n_ranges, now) < 0 ||
        due_add(&due, space, space->groups[SLAB_LEVEL], n_ranges, now) < 0)
        return -ENOMEM;
    if (!due.n)
        return 0;
    if (due.n > RESIDENCY_RANGES_MAX)
        qsort(due.items, due.n, sizeof *due.items, by_age);
    if (residency_request_reserve(residency,
                                  due.n < RESIDENCY_RANGES_MAX ? due.n : RESIDENCY_RANGES_MAX) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < due.n; i++) {
        if (i < RESIDENCY_RANGES_MAX)
            residency_request_add(residency, space, due.items[i]);
        else
            space_leave_over(space, due.items[i]->start);
    }
    return 0;
}

int residency_request_new(struct residency_request **requestp, struct space *space,
                          const struct host *host, uint64_t now, const struct work_ops *ops,
                          void *owner)
{
    struct residency_request *residency = calloc(1, sizeof *residency);
    int r;

    if (!residency)
        return -ENOMEM;
    residency->request = (struct request){
        .work = {.ops = ops, .pid = space->pid, .owner = owner, .timeout_nsec = RESIDENCY_TIMEOUT},
        .host = *host,
        .pid = space->pid,
        .generation = space->generation,
    };
    residency->asked_nsec = now;
    /* A hash of the second: at steady rounds a plain count would soon come back to the same pages.
     */
    residency->turn = (unsigned)(now / NSEC_PER_SEC) * 2654435761U >> 16;
    r = residency_request_fill(residency, space, now);
    if (r < 0 || !residency->n_ranges) {
        residency_request_free(&residency->request.work);
        return r < 0 ? r : RESIDENCY_NOTHING_DUE;
    }
    *requestp = residency;
    return 0;
}

void residency_request_run(struct work *work)
{
    struct residency_request *residency = (struct residency_request *)work;
    const struct host *host = &residency->request.host;

    residency_request_choose(residency);
    for (size_t i = 0; i < residency->n_pages; i++)
        residency->status[i] = -ENOENT;
    for (size_t i = 0; i < residency->n_pages && residency->request.r >= 0;
         i += RESIDENCY_CALL_PAGES) {
        size_t left = residency->n_pages - i;
        size_t n = left < RESIDENCY_CALL_PAGES ? left : RESIDENCY_CALL_PAGES;
        long r = host->ops->move_pages(host->self, residency->request.pid, n, &residency->pages[i],
                                       NULL, &residency->status[i], 0);

        residency->request.r = r < 0 ? (int)r : 0;
    }
}

void residency_request_note(const struct residency_request *residency, struct space *space,
                            struct residency_counts *counts)
{
    int look_r = residency->look_r;

    counts->n_asked += residency->n_pages;
    counts->n_scans += residency->n_looks;
    for (size_t i = 0; i < residency->n_pages; i++)
        counts->n_found += residency->status[i] >= 0;
    counts->no_pagemap |= look_r == PAGEMAP_ABSENT;
    if (space)
        space->no_pagemap |= look_r == PAGEMAP_ABSENT || look_r == PAGEMAP_DENIED;
}

void residency_request_free(struct work *work)
{
    struct residency_request *residency = (struct residency_request *)work;

    free(residency->ranges);
    free(residency->chosen);
    free(residency->pages);
    free(residency->status);
    free(residency);
}

/* After a look that found it dense some queries are made without; not where pages are missing. */
static unsigned blind_after(const struct range *range, const struct residency_range *asked,
                            bool all_there)
{
    if (asked->look)
        return asked->dense ? RESIDENCY_BLIND : 0;
    return all_there && range->n_blind ? range->n_blind - 1u : 0;
}

/*
 * Only pages that are still the range's: since they were asked for, it may have been made anew in a
 * mapping that begins at the same address and ends earlier.
 */
static int residency_apply_range(struct range *range, const struct residency_range *asked,
                                 void *const *pages, const int *status, uint64_t now)
{
    size_t n_there = 0;

    tally_clear(&range->residency);
    range->residency_nsec = now;
    for (size_t i = 0; i < asked->n; i++) {
        if (status[i] < 0) /* absent, or the zero page: it lies nowhere */
            continue;
        if ((uintptr_t)pages[i] >= range->end)
            continue;
        if (tally_add(&range->residency, status[i], 1, 0) < 0)
            return -ENOMEM;
        n_there++;
    }
    range->n_blind = (uint8_t)blind_after(range, asked, n_there == asked->n);
    return 0;
}

int residency_request_apply(const struct residency_request *residency, struct space *space)
{
    uint64_t now = residency->asked_nsec;

    for (size_t i = 0; i < residency->n_ranges; i++) {
        const struct residency_range *asked = &residency->ranges[i];
        struct range *range = space_find_ranked(space, asked->start, asked->rank);

        /* A move that ended since the query was asked knows better. */
        if (!range || range->start != asked->start || range->moving || range->residency_nsec >= now)
            continue;
        if (residency_apply_range(range, asked, &residency->pages[asked->first],
                                  &residency->status[asked->first], now) < 0)
            return -ENOMEM;
    }
    return 0;
}
