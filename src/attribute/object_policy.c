#include "attribute/object_policy.h"

#include "util/array.h"

/* One for all of them: too much is left alone rather than too little. */
static void merge_all(struct object *object, uint64_t start, uint64_t end)
{
    struct object_policy *first = &object->policies[0];

    for (size_t i = 1; i < object->n_policies; i++) {
        const struct object_policy *policy = &object->policies[i];

        first->start = policy->start < first->start ? policy->start : first->start;
        first->end = policy->end > first->end ? policy->end : first->end;
    }
    first->start = start < first->start ? start : first->start;
    first->end = end > first->end ? end : first->end;
    first->reason = REASON_OTHER_POLICY;
    object->n_policies = 1;
}

int object_note_policy(struct object *object, uint64_t start, uint64_t end, enum reason reason)
{
    const struct object_policy noted = {.start = start, .end = end, .reason = reason};

    for (size_t i = 0; i < object->n_policies; i++) {
        struct object_policy *policy = &object->policies[i];

        if (policy->start == start && policy->end == end) {
            policy->reason = reason;
            return 0;
        }
    }
    if (object->n_policies == OBJECT_POLICIES_MAX) {
        merge_all(object, start, end);
        return 0;
    }
    if (ARRAY_RESERVE(object->policies, object->policies_cap, object->n_policies + 1) < 0)
        return -ENOMEM;
    object->policies[object->n_policies++] = noted;
    return 0;
}

static void forget_policies_at(struct object *object, uint64_t start)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < object->n_policies; i++)
        if (object->policies[i].start != start)
            object->policies[n_kept++] = object->policies[i];
    object->n_policies = n_kept;
}

/*
 * The policy of shared memory belongs to the memory, by offset, and numa_maps shows the one at the
 * start of a VMA: whoever maps it from the same offset on shows the same one.
 */
bool object_knows_policy_at(const struct object *object, uint64_t offset)
{
    for (size_t i = 0; i < object->n_windows; i++) {
        const struct vma *vma = object->windows[i].vma;

        if (vma->offset == offset && vma->policy != REASON_POLICY_UNKNOWN)
            return true;
    }
    return false;
}

int object_follow_policies(struct object *object)
{
    int r = 0;

    object->policy_unknown = false;
    for (size_t i = 0; i < object->n_windows; i++) {
        const struct vma *vma = object->windows[i].vma;

        object->policy_unknown |=
            vma->policy == REASON_POLICY_UNKNOWN && !object_knows_policy_at(object, vma->offset);
        if (vma->policy == REASON_NONE)
            forget_policies_at(object, vma->offset);
    }
    for (size_t i = 0; i < object->n_windows && !r; i++) {
        const struct vma *vma = object->windows[i].vma;

        if (vma->policy != REASON_NONE && vma->policy != REASON_POLICY_UNKNOWN)
            r = object_note_policy(object, vma->offset, vma->offset + (vma->end - vma->start),
                                   vma->policy);
    }
    return r;
}

enum reason object_policy(const struct object *object, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < object->n_policies; i++) {
        const struct object_policy *policy = &object->policies[i];

        if (policy->start < end && start < policy->end)
            return policy->reason;
    }
    return object->policy_unknown ? REASON_POLICY_UNKNOWN : REASON_NONE;
}
