/*
 * What later stages ask about all address spaces.
 */
#include "attribute/attribute_state.h"
#include "attribute/heat.h"
#include "attribute/object_policy.h"
#include "attribute/space.h"

struct space *attribute_find(const struct attribute *attribute, pid_t pid)
{
    struct space *space;

    HASH_FIND(hh, attribute->spaces, &pid, sizeof pid, space);
    return space;
}

struct space *attribute_spaces(const struct attribute *attribute)
{
    return attribute->spaces;
}

struct object *attribute_objects(const struct attribute *attribute)
{
    return attribute->objects->learned;
}

struct object *attribute_find_object(const struct attribute *attribute, uint64_t id)
{
    return objects_find_id(attribute->objects, id);
}

struct range *attribute_find_range(const struct attribute *attribute, pid_t pid, uint64_t object,
                                   uint64_t start, unsigned rank)
{
    const struct object *shared = object ? objects_find_id(attribute->objects, object) : NULL;
    const struct space *space = object ? NULL : attribute_find(attribute, pid);

    if (shared)
        space = shared->memory;
    return space ? space_find_ranked(space, start, rank) : NULL;
}

/* A page of an object that nobody writes to is of the page cache. */
static enum reason object_vma_reason(const struct object *object, const struct vma *vma)
{
    enum reason policy;

    if (!object->n_writable)
        return REASON_SHARED_RO;
    policy = object_policy(object, vma->offset, vma->offset + (vma->end - vma->start));
    if (policy != REASON_NONE)
        return policy;
    return object->wanted ? object->barred : REASON_NONE;
}

enum reason attribute_vma_reason(const struct attribute *attribute, const struct vma *vma)
{
    const struct object *object = objects_find(attribute->objects, vma);

    if (object)
        return object_vma_reason(object, vma);
    return vma->kind != REASON_NONE ? vma->kind : vma->policy;
}

size_t attribute_n_ranges(const struct attribute *attribute)
{
    return attribute->n_ranges;
}

size_t attribute_n_groups(const struct attribute *attribute)
{
    return attribute->n_small + attribute->n_coarse;
}

uint64_t attribute_n_capped(const struct attribute *attribute)
{
    return attribute->n_capped;
}

size_t attribute_list_unsampled(struct attribute *attribute, uint64_t now,
                                struct sample_range *ranges, size_t limit)
{
    struct space *space = attribute_find(attribute, attribute->listed_pid);
    unsigned n_looked = 0;
    size_t n = 0;

    for (unsigned i = HASH_COUNT(attribute->spaces);
         i > 0 && n < limit && n_looked < HEAT_LOOKED_AT_MAX; i--) {
        space = space && space->hh.next ? space->hh.next : attribute->spaces;
        attribute->listed_pid = space->pid;
        if (space->sampled_nsec + SPACE_IDLE_NSEC >= now && !space->stuck)
            n += heat_list(space, &ranges[n], limit - n, &n_looked);
    }
    heat_sort(ranges, n);
    return n;
}

struct attribute_counts *attribute_gone(struct attribute *attribute)
{
    return &attribute->gone;
}

const struct residency_counts *attribute_residency(const struct attribute *attribute)
{
    return &attribute->residency;
}
