/*
 * The rule, in the order in which it is cheapest to say no; then the best gain per cost first until
 * room and rate of each target node are spent.
 */
#include "numabd/decide.h"

#include <errno.h>
#include <string.h>

#include "attribute/objects.h"
#include "attribute/ranges.h"
#include "attribute/tally.h"
#include "attribute/thread_mask.h"
#include "decide/budget.h"
#include "decide/gain.h"
#include "util/array.h"

void plan_deinit(struct plan *plan)
{
    free(plan->moves);
    free(plan->verdicts);
    *plan = (struct plan){0};
}

/* The process that its pages are moved in. */
static const struct space *acting_space(const struct candidate *candidate)
{
    return candidate->through ? candidate->through->space : candidate->space;
}

static const bool *allowed_nodes(const struct candidate *candidate)
{
    return candidate->object ? candidate->object->mems_allowed : candidate->target->mems_allowed;
}

static bool policy_is_fresh(const struct decide_env *env, const struct space *space)
{
    uint64_t most = DECIDE_POLICY_ROUNDS * env->config->interval_nsec +
                    DECIDE_POLICY_COST_FACTOR * space->policy_cost_nsec;

    return space->policy_read_nsec && env->now - space->policy_read_nsec <= most;
}

/* A policy that is known, and not the default one. */
static bool is_wish(enum reason policy)
{
    return policy != REASON_NONE && policy != REASON_POLICY_UNKNOWN;
}

/* Its owner's wishes come before any evidence. */
static enum reason judge_policy(const struct candidate *candidate, const struct range *range)
{
    const struct space *space = candidate->space;

    if (!candidate->vma)
        return REASON_GONE;
    if (candidate->vma->kind != REASON_NONE)
        return candidate->vma->kind;
    if (is_wish(candidate->vma->policy))
        return candidate->vma->policy;
    if (is_wish(candidate->owned))
        return candidate->owned;
    if (range->bound_thread || thread_mask_overlaps(&range->threads, &space->own_policy))
        return REASON_THREAD_POLICY;
    return REASON_NONE;
}

/* What would move must wait for what its owner may have wished; it holds up nothing else. */
static enum reason judge_unknown(const struct decide_env *env, const struct candidate *candidate,
                                 const struct range *range)
{
    const struct space *space = candidate->space;

    if (candidate->vma->policy != REASON_NONE || candidate->owned != REASON_NONE)
        return REASON_POLICY_UNKNOWN;
    if (thread_mask_overlaps(&range->threads, &space->overdue_policy))
        return REASON_POLICY_UNKNOWN;
    /*
     * A thread that came in this round cannot be what two windows of this range's own samples rest
     * on, so it holds nothing up; but what follows a group may be that thread's alone.
     */
    if (candidate->evidence && candidate->evidence != candidate->range &&
        thread_mask_overlaps(&candidate->range->threads, &space->unknown_policy))
        return REASON_POLICY_UNKNOWN;
    return policy_is_fresh(env, acting_space(candidate)) ? REASON_NONE : REASON_POLICY_UNKNOWN;
}

static enum reason judge_state(const struct candidate *candidate, const struct range *range,
                               uint64_t now)
{
    enum reason reason = range_evidence(range);

    if (acting_space(candidate)->stuck)
        return REASON_STUCK;
    if (benefit_is_paused(&candidate->space->benefit, now))
        return REASON_NO_BENEFIT;
    if (reason != REASON_NONE)
        return reason;
    if (!range->residency_nsec || tally_total_n(&range->residency) <= 0)
        return REASON_RESIDENCY_UNKNOWN;
    if (range->moving || range->cool_down_nsec > now)
        return range->n_refusals ? REASON_REFUSED : REASON_COOL_DOWN;
    return REASON_NONE;
}

/* The lower bound of the target's share, relative to the share itself: how much of A is certain. */
static double certainty(const struct range *range)
{
    double total = tally_total_n(&range->rate), hits = tally_n(&range->rate, range->claim.node);

    if (hits <= 0)
        return 0;
    return wilson_lower(hits, total, CLAIM_Z) / (hits / total);
}

static double memory_bound(const struct space *space)
{
    return space->memory_bound_known ? space->memory_bound : DECIDE_MEMORY_BOUND;
}

/*
 * The claim rests on fresh samples, the rate on those of a minute: after a change of phase it still
 * is about the time before, and tenfold so if the process was sampled at a tenth then.
 */
static bool rate_contradicts(const struct range *range, int node)
{
    return node != range->claim.node &&
           range_rate(range, node) > range_rate(range, range->claim.node);
}

static enum reason judge_gain(const struct decide_env *env, const struct candidate *candidate,
                              const struct range *range, struct move *move)
{
    double elsewhere, gain;
    int node = gain_best_node(env->topology, range, allowed_nodes(candidate));

    if (node < 0)
        return REASON_NOT_ALLOWED;
    if (rate_contradicts(range, node))
        return REASON_UNCONFIRMED;
    elsewhere = 1 - range_resident_share(range, node);
    if (elsewhere <= 0)
        return REASON_LOCAL;
    gain = gain_cost_now(env->topology, range) - gain_cost_on(env->topology, range, node);
    if (gain <= 0)
        return REASON_LOCAL;
    gain *= memory_bound(acting_space(candidate));
    move->node = node;
    move->bytes = (uint64_t)(elsewhere * (double)move->size);
    move->gain_sec = gain * certainty(range);
    move->cost_sec = (double)move->bytes * env->sec_per_byte;
    if (move->gain_sec * gain_horizon(&range->claim, env->now) <=
        DECIDE_GAIN_FACTOR * move->cost_sec)
        return REASON_NO_GAIN;
    return REASON_NONE;
}

/* Said last, since it is only found out where memory is to be moved. */
static enum reason judge_mappers(const struct candidate *candidate)
{
    if (!candidate->object)
        return REASON_NONE;
    if (candidate->object->barred != REASON_NONE)
        return candidate->object->barred;
    return candidate->through ? REASON_NONE : REASON_RESIDENCY_UNKNOWN;
}

/* Where the move happens, and whether it does. */
static void move_place(struct move *move, const struct decide_env *env,
                       const struct candidate *candidate)
{
    const struct space *space = acting_space(candidate);

    *move = (struct move){
        .pid = space->pid,
        .start = candidate->range->start,
        .end = candidate->range->end,
        .rank = candidate->range->rank,
        .size =
            candidate->bytes ? candidate->bytes : candidate->range->end - candidate->range->start,
        .observe = env->config->observe || env->observe || space->denied,
    };
    if (!candidate->object)
        return;
    move->object = candidate->object->id;
    move->offset = candidate->range->start;
    move->observe |= candidate->object->denied;
    if (candidate->through) {
        window_clip(candidate->through, candidate->range, &move->start, &move->end);
        move->size = move->end - move->start;
    }
}

enum reason decide_range(const struct decide_env *env, const struct candidate *candidate,
                         struct move *move)
{
    const struct range *evidence = candidate->evidence ? candidate->evidence : candidate->range;
    const struct range range = range_view(candidate->range, evidence);
    enum reason reason = judge_policy(candidate, &range);

    move_place(move, env, candidate);
    if (reason == REASON_NONE)
        reason = judge_state(candidate, &range, env->now);
    if (reason == REASON_NONE)
        reason = judge_gain(env, candidate, &range, move);
    if (reason == REASON_NONE)
        reason = judge_mappers(candidate);
    if (reason == REASON_NONE)
        reason = judge_unknown(env, candidate, &range);
    return reason;
}

static int by_worth(const void *left, const void *right)
{
    const struct move *a = left, *b = right;
    double worth_a = a->gain_sec * b->cost_sec, worth_b = b->gain_sec * a->cost_sec;

    if (worth_a != worth_b)
        return worth_a > worth_b ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

static int by_place(const void *left, const void *right)
{
    const struct move *a = left, *b = right;

    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (!a->object != !b->object) /* which travel apart */
        return a->object ? 1 : -1;
    return a->start < b->start ? -1 : a->start > b->start;
}

struct allowance {
    uint64_t room, rate;
};

static void plan_note(struct plan *plan, size_t candidate, enum reason reason)
{
    plan->reasons.n[reason]++;
    plan->verdicts[candidate] = reason;
}

static enum reason allowance_take(struct allowance *allowance, const struct move *move)
{
    if (move->observe)
        return REASON_NONE;
    if (allowance->rate < move->bytes)
        return REASON_RATE_LIMIT;
    if (allowance->room < move->bytes)
        return REASON_NO_ROOM;
    allowance->rate -= move->bytes;
    allowance->room -= move->bytes;
    return REASON_NONE;
}

/* Keeps the moves that fit, best first. */
static int plan_spend(struct plan *plan, const struct decide_env *env)
{
    CLEANUP(freep) struct allowance *nodes = NULL;
    size_t n_kept = 0;

    nodes = calloc((size_t)env->topology->n_node_ids, sizeof *nodes);
    if (!nodes)
        return -ENOMEM;
    for (int node = 0; node < env->topology->n_node_ids; node++)
        nodes[node] = (struct allowance){
            .room = budget_room(env->config, &env->topology->nodes[node], env->pressed),
            .rate = env->rate_bytes[node],
        };
    for (size_t i = 0; i < plan->n_moves; i++) {
        struct move move = plan->moves[i];
        enum reason reason = allowance_take(&nodes[move.node], &move);

        plan_note(plan, move.candidate, reason);
        if (reason == REASON_NONE)
            plan->moves[n_kept++] = move;
    }
    plan->n_moves = n_kept;
    return 0;
}

int decide_plan(struct plan *plan, const struct decide_env *env, const struct candidate *candidates,
                size_t n_candidates)
{
    int r;

    plan->n_moves = 0;
    plan->reasons = (struct reason_counts){0};
    if (ARRAY_RESERVE(plan->verdicts, plan->verdicts_cap, n_candidates) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < n_candidates; i++) {
        struct move move;
        enum reason reason = decide_range(env, &candidates[i], &move);

        if (reason != REASON_NONE) {
            plan_note(plan, i, reason);
            continue;
        }
        if (ARRAY_RESERVE(plan->moves, plan->cap, plan->n_moves + 1) < 0)
            return -ENOMEM;
        move.candidate = i;
        plan->moves[plan->n_moves++] = move;
    }
    if (!plan->n_moves)
        return 0;
    qsort(plan->moves, plan->n_moves, sizeof *plan->moves, by_worth);
    r = plan_spend(plan, env);
    if (plan->n_moves)
        qsort(plan->moves, plan->n_moves, sizeof *plan->moves, by_place);
    return r;
}
