#include "attribute/object_scope.h"

#include <errno.h>
#include <string.h>

#include "numabd/discover.h"
#include "util/array.h"
#include "util/nsec.h"

static struct stranger *find_stranger(const struct object *object, pid_t pid)
{
    for (size_t i = 0; i < object->n_strangers; i++)
        if (object->strangers[i].pid == pid)
            return &object->strangers[i];
    return NULL;
}

static void stranger_remove(struct object *object, size_t i)
{
    object->strangers[i] = object->strangers[--object->n_strangers];
}

void object_note_stranger(struct object *object, pid_t pid, uint64_t start_ticks)
{
    struct stranger *stranger = find_stranger(object, pid);

    if (stranger) {
        stranger->start_ticks = start_ticks;
        return;
    }
    if (ARRAY_RESERVE(object->strangers, object->strangers_cap, object->n_strangers + 1) < 0) {
        object->searched_nsec = 0;
        return;
    }
    object->strangers[object->n_strangers++] =
        (struct stranger){.pid = pid, .start_ticks = start_ticks};
}

void object_drop_strangers(struct object *object, bool (*keeps)(const void *userdata, pid_t pid),
                           const void *userdata)
{
    for (size_t i = object->n_strangers; i-- > 0;)
        if (!keeps || !keeps(userdata, object->strangers[i].pid))
            stranger_remove(object, i);
}

uint64_t search_age_nsec(uint64_t cost_nsec)
{
    uint64_t age = cost_nsec * SEARCH_COST_FACTOR;

    return age > SEARCH_AGE_NSEC ? age : SEARCH_AGE_NSEC;
}

/* The nodes that all mappers allow. */
static int allow_only(struct object *object, const struct topology *topology, const bool *allowed)
{
    size_t n = (size_t)topology->n_node_ids;

    if (!allowed)
        return 0;
    if (!object->mems_allowed) {
        object->mems_allowed = malloc(n * sizeof *object->mems_allowed);
        if (!object->mems_allowed)
            return -ENOMEM;
        memcpy(object->mems_allowed, allowed, n * sizeof *allowed);
    }
    for (size_t node = 0; node < n; node++)
        object->mems_allowed[node] &= allowed[node];
    return 0;
}

/* The worse of two. */
static void bar(struct object *object, enum reason reason)
{
    if (object->barred != REASON_SHARED_OUT_OF_SCOPE && reason != REASON_NONE)
        object->barred = reason;
}

/* What one mapper stands for. Return: 0 or -ENOMEM. */
static int judge_target(struct object *object, const struct objects_options *options,
                        const struct target *target)
{
    if (target->reason == REASON_TOO_SMALL && !target_is_only_small(target)) {
        discover_look_closer(options->discover, target->pid);
        bar(object, REASON_MAPPERS_UNKNOWN);
        return 0;
    }
    /* One that bars the object anyway must not hide that behind a lack of nodes. */
    if (target->reason == REASON_NONE || target->reason == REASON_TOO_SMALL)
        return allow_only(object, options->topology, target->mems_allowed);
    bar(object, REASON_SHARED_OUT_OF_SCOPE);
    return 0;
}

static bool has_gone(const struct stranger *stranger, const struct target *target)
{
    if (!stranger->start_ticks)
        return false;
    return !target || target->process.start_ticks != stranger->start_ticks;
}

static int judge_strangers(struct object *object, const struct objects_options *options)
{
    int r = 0;

    for (size_t i = object->n_strangers; i-- > 0 && !r;) {
        struct stranger *stranger = &object->strangers[i];
        const struct target *target = discover_find(options->discover, stranger->pid);

        if (has_gone(stranger, target)) {
            stranger_remove(object, i);
        } else if (!target) {
            bar(object, REASON_MAPPERS_UNKNOWN);
        } else {
            stranger->start_ticks = target->process.start_ticks;
            r = judge_target(object, options, target);
        }
    }
    return r;
}

static int judge_mappers(struct object *object, const struct objects_options *options)
{
    int r = 0;

    for (size_t i = 0; i < object->n_windows && !r; i = object_end_of_mapper(object, i)) {
        const struct target *target = discover_find(options->discover, object->windows[i].pid);

        if (target)
            r = judge_target(object, options, target);
        else
            bar(object, REASON_MAPPERS_UNKNOWN);
    }
    return r;
}

int object_judge_scope(struct object *object, const struct objects *objects, uint64_t now)
{
    const struct objects_options *options = &objects->options;
    uint64_t most = search_age_nsec(objects->search_cost_nsec);
    int r;

    object->barred = REASON_NONE;
    free(TAKE(object->mems_allowed));
    if (!options->discover) {
        object->barred = REASON_MAPPERS_UNKNOWN;
        return 0;
    }
    r = judge_mappers(object, options);
    if (!r)
        r = judge_strangers(object, options);
    if (object->unread || !object->searched_nsec || now - object->searched_nsec > most)
        bar(object, REASON_MAPPERS_UNKNOWN);
    return r;
}
