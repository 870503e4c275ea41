/*
 * The candidates of a round: every range that the scan filter lets through, with what it belongs
 * to.
 */
#include <errno.h>

#include "attribute/object_policy.h"
#include "attribute/ranges.h"
#include "attribute/slabs.h"
#include "pipeline_state.h"
#include "util/array.h"

static int pipeline_list_add(struct pipeline *pipeline, const struct candidate *candidate)
{
    if (ARRAY_RESERVE(pipeline->candidates, pipeline->candidates_cap, pipeline->n_candidates + 1))
        return -ENOMEM;
    pipeline->candidates[pipeline->n_candidates++] = *candidate;
    return 0;
}

static int pipeline_list_ranges(struct pipeline *pipeline, const struct target *target,
                                const struct space *space)
{
    struct range *range, *next;
    int r = 0;

    HASH_ITER (hh, space->ranges, range, next) {
        const struct vma *vma = space_find_vma(space, range->start);

        if (r || !space_lets_vma(space, vma))
            continue;
        r = pipeline_list_add(pipeline,
                              &(struct candidate){
                                  .target = target,
                                  .space = space,
                                  .vma = vma,
                                  .range = range,
                                  .evidence = space_find_evidence(space, range, space->min_share),
                              });
    }
    return r;
}

/* Slabs that lie well, or that no claim is about, are left out: they are most of a large machine.
 */
static int pipeline_list_slabs(struct pipeline *pipeline, const struct target *target,
                               const struct space *space)
{
    struct range *slab, *next;
    int r = 0;

    HASH_ITER (hh, space->groups[SLAB_LEVEL], slab, next) {
        struct candidate candidate = {.target = target, .space = space, .range = slab};
        int node;

        candidate.vma = space_find_vma(space, slab->start);
        if (r || !slab->residency_nsec || !space_lets_vma(space, candidate.vma))
            continue;
        candidate.evidence = space_find_evidence(space, slab, space->min_share);
        node = candidate.evidence->claim.node;
        if (node < 0 || range_resident_share(slab, node) == 1)
            continue;
        candidate.bytes = slab_bytes(space, slab, node);
        if (candidate.bytes)
            r = pipeline_list_add(pipeline, &candidate);
    }
    return r;
}

static int pipeline_list_space(struct pipeline *pipeline, struct space *space)
{
    const struct target *target = pipeline_target(pipeline, space->pid);
    int r;

    if (!target)
        return 0;
    space->n_planned = 0;
    r = pipeline_list_ranges(pipeline, target, space);
    return r ? r : pipeline_list_slabs(pipeline, target, space);
}

/* Shared memory, once for all who map it. */
static int pipeline_list_object(struct pipeline *pipeline, const struct object *object)
{
    double min_share = pipeline->config->min_share_permyriad / 10000.0;
    const struct space *memory = object->memory;
    const struct vma *vma = &memory->vmas.items[0];
    size_t need = pipeline->n_candidates + HASH_COUNT(memory->ranges);
    struct range *range, *next;

    if (ARRAY_RESERVE(pipeline->candidates, pipeline->candidates_cap, need) < 0)
        return -ENOMEM;
    if (!space_lets_vma(memory, vma))
        return 0;
    HASH_ITER (hh, memory->ranges, range, next)
        pipeline->candidates[pipeline->n_candidates++] = (struct candidate){
            .space = memory,
            .vma = vma,
            .range = range,
            .evidence = space_find_evidence(memory, range, min_share),
            .object = object,
            .through = object_find_window(object, range->through_pid, range->start, range->end),
            .owned = object_policy(object, range->start, range->end),
        };
    return 0;
}

int pipeline_list(struct pipeline *pipeline)
{
    struct space *space, *next;
    struct object *object, *next_object;
    int r = 0;

    pipeline->n_candidates = 0;
    HASH_ITER (hh, attribute_spaces(pipeline->attribute), space, next)
        if (!r)
            r = pipeline_list_space(pipeline, space);
    HASH_ITER (learned, attribute_objects(pipeline->attribute), object, next_object)
        if (!r)
            r = pipeline_list_object(pipeline, object);
    return r;
}
