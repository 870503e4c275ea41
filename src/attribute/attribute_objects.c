/*
 * The memory of objects in the stage's own flow: it takes accesses and ends rounds as spaces do,
 * and its ranges count against the same limits.
 */
#include <errno.h>

#include "attribute/attribute_state.h"
#include "attribute/objects_round.h"
#include "attribute/space.h"
#include "attribute/space_scan.h"

int attribute_push_shared(struct attribute *attribute, struct space *space,
                          const struct access *access, int node)
{
    const struct vma *vma = space_find_vma(space, access->addr);
    struct object *object = objects_find(attribute->objects, vma);
    bool made = false;
    int r = object ? objects_prepare(attribute->objects, object) : SPACE_UNMOVABLE;

    if (r)
        return r;
    r = object_add_access(object, space, vma, access, node,
                          attribute_grain(attribute, object->memory), &made);
    attribute->n_ranges += made;
    attribute_count_groups(attribute, object->memory);
    return r;
}

int attribute_round_objects(struct attribute *attribute, const struct config *config,
                            double elapsed_sec, uint64_t now)
{
    double min_share = config->min_share_permyriad / 10000.0;
    struct object *object, *next;

    HASH_ITER (learned, attribute->objects->learned, object, next) {
        struct space *memory = object->memory;
        bool scans = space_may_scan(memory, now);

        if (attribute_set_filter(memory, config) < 0 || object_follow_mappers(object) < 0)
            return -ENOMEM;
        if (scans)
            space_begin_pass(memory, now);
        attribute_close_space(attribute, memory, min_share, elapsed_sec, now);
        if (scans)
            object_ask_residency(attribute->objects, object, now);
    }
    return objects_close_round(attribute->objects, attribute->spaces, min_share, now);
}
