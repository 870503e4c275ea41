/*
 * Each limit is a bucket that fills with time, up to 10 s worth. One reading cannot be cut
 * into pieces, so a bucket may be overdrawn by one; the next turn comes when that is paid.
 *
 *     64 processes of 16 GiB, cpu_budget 7.1 % of a CPU: 0.29 s each; the first 2 at once, then one
 *     each 8 s.
 */
#include "attribute/policy_turns.h"

#include <math.h>
#include <stdlib.h>

#include "attribute/space.h"
#include "attribute/unknown.h"
#include "util/array.h"
#include "util/nsec.h"

#define POLICY_PERIOD_NSEC (5 * NSEC_PER_SEC)
#define POLICY_COST_FACTOR 500
/* A claim waits for the policy. */
#define POLICY_WANTED_PERIOD_NSEC NSEC_PER_SEC
#define POLICY_WANTED_COST_FACTOR 20

static const double parts[POLICY_WANT_COUNT] = {
    [POLICY_WANTED_OTHER] = POLICY_OTHER_PART,
    [POLICY_WANTED_WAITING] = POLICY_WAITING_PART,
};

void policy_turns_deinit(struct policy_turns *turns)
{
    free(turns->items);
}

void policy_turns_begin(struct policy_turns *turns, double budget, uint64_t now)
{
    double elapsed = turns->filled_nsec ? nsec_to_sec(now - turns->filled_nsec) : POLICY_SAVED_SEC;

    for (unsigned want = 0; want < POLICY_WANT_COUNT; want++) {
        double rate = budget * parts[want];

        turns->saved_sec[want] =
            fmin(turns->saved_sec[want] + rate * elapsed, rate * POLICY_SAVED_SEC);
    }
    turns->filled_nsec = now;
    turns->n_items = turns->n_taken = 0;
}

static bool is_due(uint64_t since, uint64_t period, uint64_t cost, uint64_t factor)
{
    return since >= period && since >= cost * factor;
}

enum policy_want policy_want(const struct space *space, const struct config *config, uint64_t now)
{
    uint64_t cost = space->policy_cost_nsec, since = now - space->policy_nsec;
    bool unknown = false, claims = false;

    if (is_due(since, POLICY_WANTED_PERIOD_NSEC, cost, POLICY_WANTED_COST_FACTOR)) {
        if (space->shared_policy_wanted || space_awaits_move(space, space->min_share, now))
            return POLICY_WANTED_WAITING;
        unknown_find(space, &unknown, &claims);
        if (unknown)
            return POLICY_WANTED_OTHER;
    }
    if (space->rss_bytes <= config->numa_maps_limit_bytes &&
        is_due(since, POLICY_PERIOD_NSEC, cost, POLICY_COST_FACTOR))
        return POLICY_WANTED_OTHER;
    return POLICY_NOT_WANTED;
}

int policy_turns_add(struct policy_turns *turns, struct space *space, enum policy_want want)
{
    if (ARRAY_RESERVE(turns->items, turns->cap, turns->n_items + 1) < 0)
        return -ENOMEM;
    turns->items[turns->n_items++] = (struct policy_turn){.space = space, .want = want};
    return 0;
}

static int by_turn(const void *left, const void *right)
{
    const struct policy_turn *a = left, *b = right;

    if (a->want != b->want)
        return a->want > b->want ? -1 : 1;
    if (a->space->policy_nsec != b->space->policy_nsec)
        return a->space->policy_nsec < b->space->policy_nsec ? -1 : 1;
    return a->space->pid < b->space->pid ? -1 : a->space->pid > b->space->pid;
}

bool policy_turns_next(struct policy_turns *turns, struct policy_turn *turn)
{
    if (!turns->n_taken && turns->n_items)
        qsort(turns->items, turns->n_items, sizeof *turns->items, by_turn);
    while (turns->n_taken < turns->n_items) {
        *turn = turns->items[turns->n_taken++];
        if (turns->saved_sec[turn->want] > 0)
            return true;
    }
    return false;
}

void policy_turns_spend(struct policy_turns *turns, enum policy_want want, double sec)
{
    turns->saved_sec[want] -= sec;
}

uint64_t policy_cost(const struct space *space, uint64_t page_bytes)
{
    if (space->policy_cost_nsec)
        return space->policy_cost_nsec;
    return space->rss_bytes / page_bytes * POLICY_NSEC_PER_PAGE +
           space->vmas.n_items * POLICY_NSEC_PER_VMA;
}
