/*
 * Worked example: a process runs at 2.0 cycles per instruction. 4 of its 8 GiB move within 6
 * rounds; three rounds later its next five are averaged: 1.6. It gained. Had they been 1.99, it
 * would be left alone for 30 s, and for 60 s after the next episode that gains nothing.
 */
#include "numabd/benefit.h"

static void mean_add(struct benefit_mean *mean, double value)
{
    if (value <= 0)
        return;
    if (mean->n == BENEFIT_ROUNDS) { /* the oldest part makes room */
        mean->sum -= mean->sum / BENEFIT_ROUNDS;
        mean->n--;
    }
    mean->sum += value;
    mean->n++;
}

static double mean_of(const struct benefit_mean *mean)
{
    return mean->n ? mean->sum / mean->n : 0;
}

static void episode_begin(struct benefit *benefit)
{
    benefit->remote_start_permyriad = benefit->remote_seen_permyriad;
    benefit->next_cpi = (struct benefit_mean){0};
}

static void pause_longer(struct benefit *benefit, uint64_t now)
{
    benefit->pause_nsec = benefit->pause_nsec ? 2 * benefit->pause_nsec : BENEFIT_PAUSE_NSEC;
    if (benefit->pause_nsec > BENEFIT_PAUSE_MAX_NSEC)
        benefit->pause_nsec = BENEFIT_PAUSE_MAX_NSEC;
    benefit->until_nsec = now + benefit->pause_nsec;
}

static void episode_judge(struct benefit *benefit, uint64_t now)
{
    double before = mean_of(&benefit->cpi), after = mean_of(&benefit->next_cpi);

    benefit->remote_before_permyriad = benefit->remote_start_permyriad;
    benefit->remote_after_permyriad = benefit->remote_seen_permyriad;
    benefit->cpi_before = before;
    benefit->cpi_after = after;
    if (before <= 0 || after <= 0) {
        benefit->verdict = BENEFIT_UNMEASURABLE;
    } else if (after <= before * (1 - BENEFIT_LEAST_GAIN)) {
        benefit->verdict = BENEFIT_GAINED;
        benefit->pause_nsec = 0;
    } else {
        benefit->verdict = BENEFIT_NOTHING;
        pause_longer(benefit, now);
    }
}

/* What followed an episode is what the next one is compared with. */
static void episode_end(struct benefit *benefit, const struct benefit_facts *facts)
{
    if (benefit->episode_bytes >= facts->rss_bytes / BENEFIT_LEAST_DIVISOR)
        episode_judge(benefit, facts->now);
    if (benefit->next_cpi.n)
        benefit->cpi = benefit->next_cpi;
    benefit->episode_bytes = 0;
}

static void note_move(struct benefit *benefit, uint64_t bytes)
{
    if (!benefit->episode_bytes)
        episode_begin(benefit);
    benefit->episode_bytes += bytes;
    benefit->n_still = 0;
    benefit->next_cpi = (struct benefit_mean){0};
}

static void note_still(struct benefit *benefit, const struct benefit_facts *facts)
{
    benefit->n_still++;
    if (!benefit->episode_bytes)
        mean_add(&benefit->cpi, facts->cpi);
    else if (benefit->n_still > BENEFIT_SETTLE_ROUNDS)
        mean_add(&benefit->next_cpi, facts->cpi);
    if (benefit->episode_bytes && benefit->n_still >= BENEFIT_SETTLE_ROUNDS + BENEFIT_ROUNDS)
        episode_end(benefit, facts);
}

void benefit_judge(struct benefit *benefit, const struct benefit_facts *facts)
{
    uint64_t moved = facts->moved_bytes - benefit->moved_bytes;

    if (facts->moved_bytes > benefit->moved_bytes)
        note_move(benefit, moved);
    else
        note_still(benefit, facts);
    benefit->moved_bytes = facts->moved_bytes;
    if (facts->remote_permyriad >= 0)
        benefit->remote_seen_permyriad = facts->remote_permyriad;
}

bool benefit_is_paused(const struct benefit *benefit, uint64_t now)
{
    return now < benefit->until_nsec;
}
