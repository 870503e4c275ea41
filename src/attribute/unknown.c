#include "attribute/unknown.h"

#include <string.h>

/* Does a claim wait for a policy: of its VMA, or of a thread that used the range? */
static void claims_find_unknown(const struct space *space, struct range *ranges, bool *vmap,
                                bool *threadp)
{
    struct range *range, *next;

    HASH_ITER (hh, ranges, range, next) {
        const struct vma *vma = space_find_vma(space, range->start);

        if (!range->claim.n_passes || !vma)
            continue;
        if (vma->policy == REASON_POLICY_UNKNOWN)
            *vmap = true;
        *threadp = true;
    }
}

void unknown_find(const struct space *space, bool *vmap, bool *threadp)
{
    claims_find_unknown(space, space->ranges, vmap, threadp);
    for (unsigned level = 0; level < GROUP_LEVELS; level++)
        claims_find_unknown(space, space->groups[level], vmap, threadp);
}

bool unknown_has_threads(const struct space *space)
{
    static const struct thread_mask none;

    return memcmp(&space->unknown_policy, &none, sizeof none) != 0;
}
