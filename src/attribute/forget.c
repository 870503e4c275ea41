/*
 * Which ranges are worth their memory. Those whose pages lie where they belong are left to their
 * slab; those without samples go, unless a claim speaks for their memory.
 */
#include "attribute/forget.h"

#include "attribute/groups.h"
#include "attribute/ranges.h"
#include "attribute/slabs.h"
#include "attribute/space.h"
#include "attribute/tally.h"

/* What is used has more of them within SPACE_IDLE_NSEC; less is not judged within a minute. */
#define CHANCE_SAMPLES 2.0

/* Its memory lies where its slab says that it belongs, and its own samples do not speak for more.
 */
static bool space_is_settled(const struct space *space, const struct range *range, double min_share)
{
    const struct range *above = groups_find_above(space->groups, &space->vmas, range, CLAIM_PASSES);

    if (!above || range->claim.shared || range->claim.looks_shared)
        return false;
    if (range->claim.n_passes && range->claim.node != above->claim.node)
        return false;
    return slab_speaks(space, range->start, above->claim.node) &&
           range_agrees(range, above->claim.node, min_share) &&
           range_resident_share(range, above->claim.node) == 1;
}

/*
 * Where places get rare, a range that was met by chance gives way to those that are used: 260 s
 * would pass until one sample has decayed.
 */
static bool space_wants_place(const struct space *space, const struct range *range,
                              double min_share, uint64_t now)
{
    return space->crowded && range->sampled_nsec + SPACE_IDLE_NSEC < now &&
           tally_total_n(&range->rate) < CHANCE_SAMPLES && !range_moved_lately(range, now) &&
           !range->claim.n_passes && space_find_claim(space, range, min_share, 1) == range;
}

bool space_may_forget(const struct space *space, const struct range *range, double min_share,
                      uint64_t now)
{
    if (range->moving || range->bound_thread)
        return false;
    if (!space->ranges_only && space_is_settled(space, range, min_share))
        return true;
    if (space_wants_place(space, range, min_share, now))
        return true;
    if (tally_total_n(&range->rate) > RANGE_FORGET_SAMPLES)
        return false;
    if (range->residency_nsec && tally_total_n(&range->residency) <= 0)
        return true;
    return space_find_claim(space, range, min_share, 1) == range;
}
