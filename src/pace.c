#include "numabd/pace.h"

static bool changed(uint64_t before, uint64_t now)
{
    uint64_t difference = before > now ? before - now : now - before;

    return difference > before / PACE_GROWTH_DIVISOR;
}

/* Another phase, or placed anew. */
static bool looks_different(const struct pace *pace, const struct pace_facts *facts)
{
    return facts->remote_permyriad > pace->remote_permyriad + PACE_REMOTE_RISE ||
           changed(pace->n_threads, facts->n_threads) ||
           changed(pace->rss_bytes, facts->rss_bytes) ||
           facts->n_outside > pace->n_outside + PACE_OUTSIDE_MOST;
}

static void remember(struct pace *pace, const struct pace_facts *facts)
{
    pace->remote_permyriad = facts->remote_permyriad;
    pace->n_threads = facts->n_threads;
    pace->rss_bytes = facts->rss_bytes;
    pace->n_outside = facts->n_outside;
}

/* Nothing happened since then. */
static void begin(struct pace *pace, uint64_t now, uint64_t since)
{
    *pace = (struct pace){.quiet_nsec = now, .since_nsec = since};
}

static bool is_busy(const struct pace *pace, const struct pace_facts *facts)
{
    return facts->acted || facts->remote_permyriad < 0 ||
           (facts->moved_nsec && facts->moved_nsec >= pace->quiet_nsec);
}

static void judge_quiet(struct pace *pace, const struct pace_facts *facts)
{
    if (!pace->stable && facts->now - pace->quiet_nsec >= PACE_QUIET_NSEC) {
        pace->stable = true;
        remember(pace, facts);
    }
    if (pace->stable && facts->remote_permyriad < pace->remote_permyriad)
        pace->remote_permyriad = facts->remote_permyriad;
    pace->n_outside = facts->n_outside;
}

enum pace_level pace_judge(struct pace *pace, const struct pace_facts *facts)
{
    bool is_first = !pace->quiet_nsec;

    if (is_first || (pace->stable && looks_different(pace, facts)))
        begin(pace, facts->now, facts->now);
    else if (is_busy(pace, facts))
        begin(pace, facts->now, pace->since_nsec);
    else
        judge_quiet(pace, facts);
    if (pace->stable)
        return PACE_STABLE;
    return facts->now - pace->since_nsec < PACE_NEW_NSEC ? PACE_NEW : PACE_USUAL;
}
