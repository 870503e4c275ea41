/*
 * move_pages(2), and what it leaves out.
 *
 * The kernel collects pages until it meets one that cannot be collected or the end, and migrates
 * the collected ones together. If any of them refuses (a page held by vmsplice, say), the call
 * returns how many were not moved, leaves the statuses of that group and of all later pages
 * unwritten, and does not even look at the later ones, although the others of the group did move.
 * So statuses start with a value that the kernel never writes; pages that still have it are asked
 * for again; the first one still misplaced is the one that refused, and the call is repeated with
 * those after it. A call that moves nothing is repeated with half as many, so that a run of
 * refusing pages costs little.
 *
 * A huge page is handed over once where it is known as one, and counts as its base pages; should it
 * have been split meanwhile, the next query of its range tells what moved. Where it is not known,
 * one that refuses does so under each of its 512 addresses, each of which ends a call:
 * after a few in a row the rest of those in the same 2 MiB is given up, so that what lies behind is
 * tried.
 */
#include "migrate/pages.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "util/cleanup.h"

#define UNWRITTEN INT_MIN
/* Small pages that refuse lie apart more often than not: the others of their group move at once. */
#define REFUSED_IN_ROW_MAX 8

struct mover {
    const struct pages_owner *owner;
    const struct page_to_move *all; /* by index */
    int node;
    int *at;
    struct ledger *ledger;
    /* pages still to move: addresses, their index in at[], and scratch for the calls */
    void **pages;
    size_t *index;
    int *nodes, *status, *asked;
    size_t n_left;
    size_t n_refused;
    size_t n_in_row; /* refusals since a call last made progress */
};

static void mover_deinit(struct mover *mover)
{
    free(mover->pages);
    free(mover->index);
    free(mover->nodes);
    free(mover->status);
    free(mover->asked);
}

static int mover_init(struct mover *mover, size_t n)
{
    mover->pages = calloc(n, sizeof *mover->pages);
    mover->index = calloc(n, sizeof *mover->index);
    mover->nodes = calloc(n, sizeof *mover->nodes);
    mover->status = calloc(n, sizeof *mover->status);
    mover->asked = calloc(n, sizeof *mover->asked);
    if (!mover->pages || !mover->index || !mover->nodes || !mover->status || !mover->asked)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        mover->nodes[i] = mover->node;
    return 0;
}

/* Base pages of page i of those left. */
static size_t mover_weight(const struct mover *mover, size_t i)
{
    return mover->all[mover->index[i]].n_pages;
}

static bool is_absent(int status)
{
    return status == -ENOENT || status == -EFAULT;
}

/* Page i of those left is done with. */
static void mover_settle(struct mover *mover, size_t i, int status)
{
    struct ledger *ledger = mover->ledger;
    size_t n_pages = mover_weight(mover, i);

    if (status == mover->node)
        ledger->n_moved += n_pages;
    else if (is_absent(status))
        ledger->n_absent += n_pages;
    else
        ledger_fail(ledger, status < 0 ? -status : EAGAIN, n_pages);
    if (status >= 0 || is_absent(status))
        mover->at[mover->index[i]] = status;
}

static long mover_ask(const struct mover *mover, size_t n, const int *nodes, int *status)
{
    const struct host *host = mover->owner->host;

    return host->ops->move_pages(host->self, mover->owner->pid, n, mover->pages, nodes, status,
                                 nodes ? mover->owner->flags : 0);
}

/* Asks where the first n pages left are; those without an answer count as absent. */
static int mover_query(struct mover *mover, size_t n, int *status)
{
    long r;

    for (size_t i = 0; i < n; i++)
        status[i] = -ENOENT;
    r = mover_ask(mover, n, NULL, status);
    mover->ledger->n_asked += n;
    return r < 0 ? (int)-r : 0;
}

/* EBUSY too says nothing certain: a second address in a large folio that is moving gives it. */
static bool is_uncertain(int status)
{
    return status == UNWRITTEN || status == -EBUSY;
}

/* Asks where pages really are whose status says nothing certain. */
static int mover_requery(struct mover *mover, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_uncertain(mover->status[i]))
            return mover_query(mover, n, mover->asked);
    return 0;
}

/*
 * Settles what is certain about the first n pages and brings those that are still misplaced to the
 * front, before the pages that were not part of the call. *errorp: why the first of them stayed.
 * Return: how many are still misplaced.
 */
static size_t mover_sort_out(struct mover *mover, size_t n, int *errorp)
{
    size_t n_still = 0, n_behind = mover->n_left - n;

    for (size_t i = 0; i < n; i++) {
        int said = mover->status[i], status = is_uncertain(said) ? mover->asked[i] : said;

        if (status < 0 || status == mover->node) {
            mover_settle(mover, i, status);
            continue;
        }
        if (!n_still)
            *errorp = said == -EBUSY ? EBUSY : EAGAIN;
        mover->at[mover->index[i]] = status;
        mover->pages[n_still] = mover->pages[i];
        mover->index[n_still] = mover->index[i];
        n_still++;
    }
    memmove(&mover->pages[n_still], &mover->pages[n], n_behind * sizeof *mover->pages);
    memmove(&mover->index[n_still], &mover->index[n], n_behind * sizeof *mover->index);
    mover->n_left = n_still + n_behind;
    return n_still;
}

static void mover_drop_front(struct mover *mover, int error, size_t n)
{
    size_t n_pages = 0;

    for (size_t i = 0; i < n; i++)
        n_pages += mover_weight(mover, i);
    ledger_fail(mover->ledger, error, n_pages);
    mover->n_left -= n;
    memmove(mover->pages, &mover->pages[n], mover->n_left * sizeof *mover->pages);
    memmove(mover->index, &mover->index[n], mover->n_left * sizeof *mover->index);
}

/* The pages in front that lie in the same 2 MiB as the first one. */
static size_t mover_count_block(const struct mover *mover)
{
    uint64_t block = (uint64_t)(uintptr_t)mover->pages[0] / RANGE_BYTES;
    size_t n = 1;

    while (n < mover->n_left && (uint64_t)(uintptr_t)mover->pages[n] / RANGE_BYTES == block)
        n++;
    return n;
}

/* The first n pages are not tried again; some may have moved all the same, with a huge page. */
static void mover_give_up(struct mover *mover, int error, size_t n)
{
    int why;

    for (size_t i = 0; i < n; i++)
        mover->status[i] = UNWRITTEN;
    if (!mover_requery(mover, n))
        n = mover_sort_out(mover, n, &why);
    mover_drop_front(mover, error, n);
}

/* The first page left refused, after a call that made progress or did not. */
static void mover_refuse(struct mover *mover, int error, bool progress)
{
    mover->n_refused++;
    mover->n_in_row = progress ? 1 : mover->n_in_row + 1;
    if (mover->n_in_row < REFUSED_IN_ROW_MAX) {
        mover_drop_front(mover, error, 1);
        return;
    }
    mover->n_in_row = 0;
    mover_give_up(mover, error, mover_count_block(mover));
}

/* A call may take long, and the process may have become another one meanwhile. */
static bool mover_is_same(const struct mover *mover)
{
    return !mover->owner->is_same || mover->owner->is_same(mover->owner->userdata);
}

/* One call for the first n pages left. *progressp: did any page arrive or turn out absent? */
static int mover_call(struct mover *mover, size_t n, bool *progressp)
{
    size_t n_still;
    long r;
    int error, refusal = EAGAIN;

    for (size_t i = 0; i < n; i++)
        mover->status[i] = UNWRITTEN;
    r = mover_ask(mover, n, mover->nodes, mover->status);
    error = mover_requery(mover, n);
    if (error)
        return r < 0 ? (int)-r : error;
    n_still = mover_sort_out(mover, n, &refusal);
    *progressp = n_still < n;
    if (r < 0)
        return (int)-r;
    if (n_still)
        mover_refuse(mover, refusal, *progressp);
    return 0;
}

static int mover_run(struct mover *mover)
{
    size_t size = mover->n_left;
    int error = 0;

    while (mover->n_left && !error && mover->n_refused < PAGES_REFUSED_MAX) {
        bool progress = false;

        if (!mover_is_same(mover)) {
            mover_drop_front(mover, ESRCH, mover->n_left);
            return ESRCH;
        }
        if (size > mover->n_left)
            size = mover->n_left;
        error = mover_call(mover, size, &progress);
        size = progress ? 2 * size : (size + 1) / 2;
    }
    if (mover->n_left)
        mover_give_up(mover, error ? error : EAGAIN, mover->n_left);
    return error;
}

static void mover_take_misplaced(struct mover *mover, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (mover->at[i] < 0 || mover->at[i] == mover->node)
            continue;
        mover->pages[mover->n_left] = mover->all[i].addr;
        mover->index[mover->n_left] = i;
        mover->n_left++;
        mover->ledger->n_tried += mover->all[i].n_pages;
    }
}

int pages_move(const struct pages_owner *owner, const struct page_to_move *pages, size_t n,
               int node, int *before, int *at, struct ledger *ledger)
{
    CLEANUP(mover_deinit)
    struct mover mover = {.owner = owner, .all = pages, .node = node, .at = at, .ledger = ledger};
    int error;

    for (size_t i = 0; i < n; i++)
        at[i] = before[i] = -ENOENT;
    if (mover_init(&mover, n) < 0)
        return ENOMEM;
    for (size_t i = 0; i < n; i++)
        mover.pages[i] = pages[i].addr;
    error = mover_query(&mover, n, at);
    memcpy(before, at, n * sizeof *at);
    if (error)
        return error;
    mover_take_misplaced(&mover, n);
    return mover_run(&mover);
}
