#include "attribute/objects_round.h"

#include <errno.h>

#include "attribute/mapper_search.h"
#include "attribute/object_policy.h"
#include "attribute/object_residency.h"
#include "attribute/object_scope.h"
#include "attribute/space.h"
#include "attribute/space_scan.h"
#include "attribute/threads.h"
#include "util/nsec.h"

#define READ_LANE 0

/* The thread as its own process knows it; NULL: that one has gone or forgot it. */
static const struct thread *find_original(const struct object *object, const struct thread *thread)
{
    const struct window *window = object_find_window(object, thread->pid, 0, object->size);
    struct thread *original = NULL;

    if (window)
        HASH_FIND(hh, window->space->threads, &thread->tid, sizeof thread->tid, original);
    return original;
}

static void object_follow_threads(struct object *object)
{
    struct thread *thread, *next;

    HASH_ITER (hh, object->memory->threads, thread, next) {
        const struct thread *original = find_original(object, thread);

        if (original)
            thread->policy = original->policy;
    }
    threads_mark_policies(object->memory);
    object->memory->n_threads = HASH_COUNT(object->memory->threads);
}

/* What may be resident of it: as much as its mappers have, all together, but not more than it is.
 */
static void object_follow_size(struct object *object)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < object->n_windows; i = object_end_of_mapper(object, i))
        bytes += object->windows[i].space->rss_bytes;
    object->memory->rss_bytes = bytes < object->size ? bytes : object->size;
}

int object_follow_mappers(struct object *object)
{
    object_follow_size(object);
    object_follow_threads(object);
    return object_follow_policies(object);
}

static void objects_count(struct objects *objects, const struct object_residency *residency)
{
    struct residency_counts *counts = objects->options.residency;

    if (!counts)
        return;
    counts->n_asked += residency->n_asked;
    counts->n_found += residency->n_found;
}

static void on_residency(struct work *work)
{
    struct object_residency *residency = (struct object_residency *)work;
    struct objects *objects = work->owner;
    struct object *object = objects_find_id(objects, residency->request.generation);

    objects_count(objects, residency);
    if (object) {
        object->memory->residency_pending = false;
        object->memory->autonuma.n_pte_updates += residency->n_asked;
        (void)object_residency_apply(residency, object, objects->min_share);
    }
    object_residency_free(work);
}

static const struct work_ops residency_ops = {.name = "residency of shared memory",
                                              .run = object_residency_run,
                                              .done = on_residency,
                                              .free = object_residency_free};

void object_ask_residency(struct objects *objects, struct object *object, uint64_t now)
{
    struct object_residency *residency;
    int r = RESIDENCY_NOTHING_DUE;

    if (object->memory->ranges)
        r = object_residency_new(&residency, object, objects->options.host, now, &residency_ops,
                                 objects);
    if (r < 0)
        return; /* the next round begins the pass anew */
    if (!r) {
        object->memory->residency_pending = true;
        worker_pool_submit(objects->options.pool, READ_LANE, &residency->request.work);
    }
    space_end_pass(object->memory);
}

static bool was_known(const void *userdata, pid_t pid)
{
    return search_knows(userdata, pid);
}

/*
 * What the search found of one object takes the place of what was known; but it has not looked at
 * those whose maps were kept when it began, and who may have become strangers since.
 */
static void object_take_search(struct object *object, const struct search_request *search)
{
    object_drop_strangers(object, was_known, search);
    object->searched_nsec = search->asked_nsec;
    object->unread = search->unread;
    for (size_t i = 0; i < search->n_hits; i++) {
        if (search->hits[i].id == object->id)
            object_note_stranger(object, search->hits[i].pid, 0);
    }
    for (size_t i = 0; i < search->n_policies; i++) {
        const struct search_policy *policy = &search->policies[i];

        if (policy->id == object->id &&
            object_note_policy(object, policy->start, policy->end, policy->reason) < 0)
            object->unread = true;
    }
}

static void on_search(struct work *work)
{
    struct search_request *search = (struct search_request *)work;
    struct objects *objects = work->owner;

    objects->search_pending = false;
    objects->search_cost_nsec = search->cpu_nsec;
    for (size_t i = 0; i < search->n_keys; i++) {
        struct object *object = objects_find_id(objects, search->keys[i].id);

        if (object)
            object_take_search(object, search);
    }
    search_request_free(work);
}

static const struct work_ops search_ops = {.name = "search for mappers of shared memory",
                                           .run = search_request_run,
                                           .done = on_search,
                                           .free = search_request_free};

static bool object_needs_search(const struct object *object, uint64_t age, uint64_t now)
{
    return object->wanted && (!object->searched_nsec || object->searched_nsec + age < now);
}

/* One request for all objects that wait; the next one when this one has been paid off. */
static void objects_ask_search(struct objects *objects, const struct space *spaces, uint64_t now)
{
    uint64_t age = search_age_nsec(objects->search_cost_nsec);
    uint64_t pause = objects->search_cost_nsec * SEARCH_COST_FACTOR;
    struct search_request *search;
    struct object *object, *next;
    bool due = false;

    HASH_ITER (learned, objects->learned, object, next)
        due |= object_needs_search(object, age, now);
    if (!due || objects->search_pending)
        return;
    if (objects->search_nsec && objects->search_nsec + pause > now)
        return;
    if (search_request_new(&search, objects, spaces, now, &search_ops, objects) < 0)
        return; /* asked again in the next round */
    objects->search_pending = true;
    objects->search_nsec = now;
    worker_pool_submit(objects->options.pool, READ_LANE, &search->work);
}

/* A move through a process wants its policies to be fresh. */
static void object_want_policy(struct object *object, const struct range *range)
{
    const struct window *window =
        object_find_window(object, range->through_pid, range->start, range->end);

    if (window)
        window->space->shared_policy_wanted = true;
}

static void object_find_wanted(struct object *object, double min_share, uint64_t now)
{
    struct range *range, *next;

    object->wanted = false;
    HASH_ITER (hh, object->memory->ranges, range, next) {
        if (!space_range_awaits_move(object->memory, range, min_share, now))
            continue;
        object->wanted = true;
        object_want_policy(object, range);
    }
}

/* Threads' policies count for every mapper; of the memory's, one mapper for each offset tells. */
static void object_tell_mappers(struct object *object)
{
    uint64_t told_offset = UINT64_MAX;

    for (size_t i = 0; i < object->n_windows; i++) {
        const struct window *window = &object->windows[i];
        uint64_t offset = window->vma->offset;

        window->space->shared_claims = true;
        if (offset == told_offset || window->vma->policy != REASON_POLICY_UNKNOWN ||
            object_knows_policy_at(object, offset))
            continue;
        window->space->shared_policy_wanted = true;
        told_offset = offset;
    }
}

int objects_close_round(struct objects *objects, struct space *spaces, double min_share,
                        uint64_t now)
{
    struct object *object, *next;
    int r = 0;

    objects->min_share = min_share;
    for (struct space *space = spaces; space; space = space->hh.next)
        space->shared_claims = space->shared_policy_wanted = false;
    HASH_ITER (learned, objects->learned, object, next) {
        if (r < 0)
            continue;
        object_find_wanted(object, min_share, now);
        if (object->wanted)
            object_tell_mappers(object);
        r = object_judge_scope(object, objects, now);
    }
    objects_ask_search(objects, spaces, now);
    return r;
}
