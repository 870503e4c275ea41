/*
 * Evidence about one range. `window` answers "which node dominates" and is emptied by each pass, so
 * that the second pass rests on fresh samples only: with overlapping windows, "two rounds agree"
 * filters nothing. `history` is the window with a longer memory: used evenly, a range with few
 * samples never has enough in its window to show it. `rate` answers "how much", is never emptied,
 * only decays.
 */
#include "attribute/ranges.h"

#include <math.h>

#include "attribute/thread_mask.h"

#define HALF_LIFE_ROUNDS 2.0
#define HALF_LIFE_SAMPLES 32.0
#define HALF_LIFE_MAX_SEC 60.0
/* Of the window's: 370 samples are kept, which show an even use 49 times of 50; 46 never do. */
#define HISTORY_HALF_LIVES 8.0

struct range *range_free(struct range *range)
{
    if (!range)
        return NULL;
    tally_deinit(&range->window);
    tally_deinit(&range->history);
    tally_deinit(&range->rate);
    tally_deinit(&range->residency);
    free(range);
    return NULL;
}

static void cut_bounds(const struct vma *vma, uint64_t addr, uint64_t bytes, uint64_t *startp,
                       uint64_t *endp)
{
    uint64_t start = addr & ~(bytes - 1), end = start + bytes;

    *startp = start > vma->start ? start : vma->start;
    *endp = end < vma->end && end > start ? end : vma->end;
}

void range_bounds(const struct vma *vma, uint64_t addr, uint64_t *startp, uint64_t *endp)
{
    cut_bounds(vma, addr, RANGE_BYTES, startp, endp);
}

void group_bounds(const struct vma *vma, uint64_t addr, unsigned level, uint64_t *startp,
                  uint64_t *endp)
{
    if (level + 1 < GROUP_LEVELS) {
        cut_bounds(vma, addr, RANGE_BYTES << (2 * (level + 1)), startp, endp);
        return;
    }
    *startp = vma->start;
    *endp = vma->end;
}

/*
 * One sample is one observation of where its thread runs, however many operands its code has:
 * counted 8 times it would make 28 % of evenly shared ranges look used by one node within 120
 * rounds.
 */
static bool range_has_counted(const struct range *range, const struct access *access)
{
    return range->sampled_nsec == access->when_nsec && range->sampled_tid == access->tid;
}

int range_add(struct range *range, const struct access *access, int node, unsigned slot)
{
    double n = range_has_counted(range, access) ? 0 : 1;
    int r = tally_add(&range->window, node, n, access->weight_sec);

    if (r < 0)
        return r;
    range->n_exact += n > 0 && access->source == ACCESS_SOURCE_WRITE_FAULT;
    range->sampled_nsec = access->when_nsec;
    range->sampled_tid = access->tid;
    range->user_pid = access->pid;
    thread_mask_set(&range->threads, slot);
    thread_mask_set(&range->threads_now, slot);
    r = tally_add(&range->history, node, n, access->weight_sec);
    return r < 0 ? r : tally_add(&range->rate, node, n, access->weight_sec);
}

/* Factor that halves once per half-life. */
static double decay(const struct range *range, double elapsed_sec)
{
    double samples_per_sec =
        range->rate_sec > 0 ? tally_total_n(&range->rate) / range->rate_sec : 0;
    double half_life = HALF_LIFE_ROUNDS * elapsed_sec;

    if (samples_per_sec <= HALF_LIFE_SAMPLES / HALF_LIFE_MAX_SEC)
        half_life = fmax(half_life, HALF_LIFE_MAX_SEC);
    else
        half_life = fmax(half_life, HALF_LIFE_SAMPLES / samples_per_sec);
    return exp2(-elapsed_sec / half_life);
}

static void claim_pass(struct claim *claim, int node, uint64_t now)
{
    if (claim->node != node)
        *claim = (struct claim){.node = node, .since_nsec = now};
    claim->n_passes++;
    claim->shared = false;
}

/* Does a certain source say that a single thread uses it, and does no memory say otherwise? */
static bool range_has_one_user(const struct range *range, int node)
{
    double others = tally_total_n(&range->history) - tally_n(&range->history, node);

    return range->n_exact >= CLAIM_EXACT && thread_mask_count(&range->threads) == 1 && others < 0.5;
}

static void claim_judge(struct range *range, double min_share, uint64_t now)
{
    double total = tally_total_n(&range->window);
    int best = tally_best(&range->window);
    double hits = tally_n(&range->window, best);

    if (wilson_lower(hits, total, CLAIM_Z) > min_share || range_has_one_user(range, best)) {
        claim_pass(&range->claim, best, now);
        range->n_exact = 0;
        tally_clear(&range->window);
        tally_clear(&range->history);
        return;
    }
    if (wilson_upper(hits, total, CLAIM_Z) < min_share)
        range->claim = (struct claim){.node = -1, .shared = true};
    else if (range->claim.node >= 0 &&
             wilson_upper(tally_n(&range->window, range->claim.node), total, CLAIM_Z) < min_share)
        range->claim = (struct claim){.node = -1};
}

static bool range_looks_shared(const struct range *range, double min_share)
{
    double total = tally_total_n(&range->history);
    double hits = tally_n(&range->history, tally_best(&range->history));

    return range->claim.node < 0 && wilson_upper(hits, total, LOOKS_SHARED_Z) < min_share;
}

void range_close_round(struct range *range, double min_share, double elapsed_sec, uint64_t now)
{
    double factor;

    range->rate_sec += elapsed_sec;
    claim_judge(range, min_share, now);
    range->claim.looks_shared = range_looks_shared(range, min_share);
    factor = decay(range, elapsed_sec);
    tally_scale(&range->window, factor);
    tally_scale(&range->history, pow(factor, 1 / HISTORY_HALF_LIVES));
    tally_scale(&range->rate, factor);
    range->rate_sec *= factor;
}

enum reason range_evidence(const struct range *range)
{
    if (range->claim.shared || range->claim.looks_shared)
        return REASON_SHARED;
    if (range->claim.node < 0)
        return REASON_FEW_SAMPLES;
    return range->claim.n_passes < CLAIM_PASSES ? REASON_UNCONFIRMED : REASON_NONE;
}

void range_rotate_mask(struct range *range)
{
    range->threads = range->threads_now;
    range->threads_now = (struct thread_mask){0};
}

bool range_has_samples(const struct range *range)
{
    /* Less than half a sample: decayed, or none at all. */
    return tally_total_n(&range->rate) >= 0.5;
}

bool range_agrees(const struct range *range, int node, double min_share)
{
    double total = tally_total_n(&range->rate);

    return !range_has_samples(range) || tally_n(&range->rate, node) / total > min_share;
}

struct range range_view(const struct range *range, const struct range *evidence)
{
    struct range view = *range;

    if (evidence == range)
        return view;
    view.claim = evidence->claim;
    if (!range_has_samples(range)) {
        view.threads = evidence->threads;
        view.bound_thread |= evidence->bound_thread;
    }
    view.rate = evidence->rate;
    view.rate_sec = evidence->rate_sec * (double)(evidence->end - evidence->start) /
                    (double)(range->end - range->start);
    return view;
}

bool range_moved_lately(const struct range *range, uint64_t now)
{
    return range->moved_nsec && now - range->moved_nsec < RETURN_NSEC;
}

void range_note_move(struct range *range, int from, int to, uint64_t now)
{
    if (!range_moved_lately(range, now))
        range->n_returns = 0;
    else if (to == range->moved_from || range->n_returns)
        range->n_returns++; /* once it bounced, a third node is no better */
    range->moved_from = (int16_t)from;
    range->moved_nsec = now;
}

void range_hand_over(const struct range *from, struct range *to)
{
    if (from->moved_nsec <= to->moved_nsec)
        return;
    to->moved_nsec = from->moved_nsec;
    to->moved_from = from->moved_from;
    to->n_returns = from->n_returns;
    if (from->cool_down_nsec > to->cool_down_nsec)
        to->cool_down_nsec = from->cool_down_nsec;
}

double range_rate(const struct range *range, int node)
{
    return range->rate_sec > 0 ? tally_sec(&range->rate, node) / range->rate_sec : 0;
}

double range_resident_share(const struct range *range, int node)
{
    double pages = tally_total_n(&range->residency);

    if (!range->residency_nsec || pages <= 0)
        return -1;
    return tally_n(&range->residency, node) / pages;
}
