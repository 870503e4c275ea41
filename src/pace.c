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

bool pace_judge(struct pace *pace, const struct pace_facts *facts)
{
    bool busy = facts->acted || (facts->moved_nsec && facts->moved_nsec >= pace->quiet_nsec);

    if (!pace->quiet_nsec || busy || facts->remote_permyriad < 0 ||
        (pace->stable && looks_different(pace, facts))) {
        *pace = (struct pace){.quiet_nsec = facts->now};
        return false;
    }
    if (!pace->stable && facts->now - pace->quiet_nsec >= PACE_QUIET_NSEC) {
        pace->stable = true;
        remember(pace, facts);
    }
    if (pace->stable && facts->remote_permyriad < pace->remote_permyriad)
        pace->remote_permyriad = facts->remote_permyriad;
    pace->n_outside = facts->n_outside;
    return pace->stable;
}
