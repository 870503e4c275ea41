/*
 * Where pages lie: move_pages without nodes, on a few pages of each range that matters. 16 pages of
 * 512 miss a range that is a tenth misplaced with probability 0.18, so each turn looks at others.
 */
#include <errno.h>

#include "attribute/ranges.h"
#include "attribute/requests.h"
#include "attribute/space_scan.h"
#include "util/nsec.h"

#define RESIDENCY_TIMEOUT (5 * NSEC_PER_SEC)
/* A claim that may be acted on wants fresh numbers; others only feed the remote share. */
#define RESIDENCY_CLAIM_NSEC (1 * NSEC_PER_SEC)
#define RESIDENCY_NSEC (5 * NSEC_PER_SEC)

void residency_choose_pages(const struct range *range, uint64_t page_bytes, unsigned turn,
                            void *pages[RESIDENCY_PAGES_PER_RANGE])
{
    uint64_t n_pages = (range->end - range->start) / page_bytes;

    if (!n_pages)
        n_pages = 1;
    for (uint64_t i = 0; i < RESIDENCY_PAGES_PER_RANGE; i++) {
        uint64_t page = (n_pages * i / RESIDENCY_PAGES_PER_RANGE + turn) % n_pages;

        pages[i] = (void *)(uintptr_t)(range->start + page * page_bytes);
    }
}

bool residency_is_due(const struct range *range, size_t n_ranges, uint64_t now)
{
    /* Beyond 512 ranges a second each waits longer, so that all get their turn. */
    uint64_t period = RESIDENCY_NSEC + n_ranges * (NSEC_PER_SEC / 512);

    if (range->moving)
        return false;
    if (!range->residency_nsec)
        return true;
    if (range->claim.n_passes && range->cool_down_nsec <= now)
        period = RESIDENCY_CLAIM_NSEC;
    return range->residency_nsec + period <= now;
}

/* Unknown ones first, then the oldest. */
static int by_age(const struct range *a, const struct range *b)
{
    return a->residency_nsec < b->residency_nsec ? -1 : a->residency_nsec > b->residency_nsec;
}

static void residency_request_fill(struct residency_request *residency, struct space *space,
                                   uint64_t now)
{
    size_t n_ranges = HASH_COUNT(space->ranges);
    /* A hash of the second: at steady rounds a plain count would soon come back to the same pages.
     */
    unsigned turn = (unsigned)(now / NSEC_PER_SEC) * 2654435761U >> 16;
    struct range *range, *next;

    if (n_ranges > RESIDENCY_RANGES_MAX)
        HASH_SORT(space->ranges, by_age);
    HASH_ITER (hh, space->ranges, range, next) {
        size_t n = residency->n_ranges;

        if (!residency_is_due(range, n_ranges, now) || !space_lets(space, range->start))
            continue;
        if (n == RESIDENCY_RANGES_MAX) {
            space_leave_over(space, range->start);
            continue;
        }
        residency->starts[n] = range->start;
        residency_choose_pages(range, residency->request.host.page_bytes, turn,
                               &residency->pages[n * RESIDENCY_PAGES_PER_RANGE]);
        residency->n_ranges++;
    }
}

int residency_request_new(struct residency_request **requestp, struct space *space,
                          const struct host *host, uint64_t now, const struct work_ops *ops,
                          void *owner)
{
    struct residency_request *residency = malloc(sizeof *residency);

    if (!residency)
        return -ENOMEM;
    residency->request = (struct request){
        .work = {.ops = ops, .pid = space->pid, .owner = owner, .timeout_nsec = RESIDENCY_TIMEOUT},
        .host = *host,
        .pid = space->pid,
        .generation = space->generation,
    };
    residency->n_ranges = 0;
    residency->asked_nsec = now;
    residency_request_fill(residency, space, now);
    if (!residency->n_ranges) {
        free(residency);
        return RESIDENCY_NOTHING_DUE;
    }
    *requestp = residency;
    return 0;
}

void residency_request_run(struct work *work)
{
    struct residency_request *residency = (struct residency_request *)work;
    const struct host *host = &residency->request.host;
    size_t n_pages = residency->n_ranges * RESIDENCY_PAGES_PER_RANGE;

    for (size_t i = 0; i < n_pages; i++)
        residency->status[i] = -ENOENT;
    for (size_t i = 0; i < n_pages && residency->request.r >= 0; i += RESIDENCY_CALL_PAGES) {
        size_t n = n_pages - i < RESIDENCY_CALL_PAGES ? n_pages - i : RESIDENCY_CALL_PAGES;
        long r = host->ops->move_pages(host->self, residency->request.pid, n, &residency->pages[i],
                                       NULL, &residency->status[i], 0);

        residency->request.r = r < 0 ? (int)r : 0;
    }
}

void residency_request_free(struct work *work)
{
    free(work);
}

static int residency_apply_range(struct range *range, const int *status, uint64_t now)
{
    tally_clear(&range->residency);
    range->residency_nsec = now;
    for (size_t i = 0; i < RESIDENCY_PAGES_PER_RANGE; i++) {
        if (status[i] < 0) /* absent, or the zero page: it lies nowhere */
            continue;
        if (tally_add(&range->residency, status[i], 1, 0) < 0)
            return -ENOMEM;
    }
    return 0;
}

int residency_request_apply(const struct residency_request *residency, struct space *space)
{
    uint64_t asked = residency->asked_nsec;

    for (size_t i = 0; i < residency->n_ranges; i++) {
        struct range *range = space_find_range(space, residency->starts[i]);

        /* A move that ended since the query was asked knows better. */
        if (!range || range->moving || range->residency_nsec >= asked)
            continue;
        if (residency_apply_range(range, &residency->status[i * RESIDENCY_PAGES_PER_RANGE], asked))
            return -ENOMEM;
    }
    return 0;
}
