/*
 * Keys: "c/system.slice/x.service", "t 4711 4712 123456" (pid, tid, start), "s" and "p".
 *
 * A slot (a CPU, or the thread) has all its events or none: a group without its leader says
 * nothing. A cgroup that is removed and made again under the same name (a service that restarts) is
 * another one, which only its inode number tells; the old events would stay silent for ever.
 */
#include "sample/scope/scope_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sample/perf/perf_refusal.h"
#include "util/cleanup.h"

static char *key_new(const struct scope_place_name *name)
{
    char *key = NULL;
    int r = -1;

    switch (name->type) {
    case SCOPE_PLACE_CGROUP:
        r = asprintf(&key, "c%s", name->cgroup);
        break;
    case SCOPE_PLACE_THREAD:
        r = asprintf(&key, "t %d %d %llu", (int)name->pid, (int)name->tid,
                     (unsigned long long)name->start_ticks);
        break;
    case SCOPE_PLACE_SYSTEM:
    case SCOPE_PLACE_PMU:
        r = asprintf(&key, "%s", name->type == SCOPE_PLACE_PMU ? "p" : "s");
        break;
    }
    return r < 0 ? NULL : key;
}

static struct scope_place *place_free(struct scope_place *place)
{
    if (place) {
        free(place->events);
        free(place->sums);
        free(place->key);
        free(place);
    }
    return NULL;
}
CLEANUP_DEFINE(struct scope_place *, place_free)

int scope_place_get(struct scope_place **places, const struct scope_place_name *name, size_t n_cpus,
                    size_t n_kinds, struct scope_place **placep)
{
    CLEANUP(place_freep) struct scope_place *place = NULL;
    CLEANUP(freep) char *key = key_new(name);
    struct scope_place *found;

    if (!key)
        return -ENOMEM;
    HASH_FIND_STR(*places, key, found);
    *placep = found;
    if (found)
        return 0;
    place = calloc(1, sizeof *place);
    if (!place)
        return -ENOMEM;
    place->type = name->type;
    place->pid = name->pid;
    place->tid = name->tid;
    place->n_slots = name->type == SCOPE_PLACE_THREAD ? 1 : n_cpus;
    place->events = calloc(place->n_slots * n_kinds + 1, sizeof(struct scope_event *));
    place->sums = calloc(n_kinds + 1, sizeof *place->sums);
    if (!place->events || !place->sums)
        return -ENOMEM;
    place->key = TAKE(key);
    place->cgroup = place->key + 1;
    *placep = place;
    HASH_ADD_KEYPTR(hh, *places, place->key, strlen(place->key), place);
    place = NULL;
    return 0;
}

static struct scope_event **slot_events(const struct scope_place *place, size_t n_kinds,
                                        size_t slot)
{
    return &place->events[slot * n_kinds];
}

static void slot_retire(struct scope_place *place, struct scope_events *events, size_t slot)
{
    struct scope_event **of_slot = slot_events(place, events->n_kinds, slot);

    for (size_t kind = 0; kind < events->n_kinds; kind++)
        of_slot[kind] = scope_event_retire(events, of_slot[kind]);
    if (place->type != SCOPE_PLACE_THREAD)
        return;
    scope_ring_retire(place->ring);
    place->ring = NULL;
}

static void place_retire(struct scope_place *place, struct scope_events *events)
{
    for (size_t slot = 0; slot < place->n_slots; slot++)
        slot_retire(place, events, slot);
}

void scope_place_drop(struct scope_place **places, struct scope_place *place,
                      struct scope_events *events)
{
    place_retire(place, events);
    HASH_DELETE(hh, *places, place);
    place_free(place);
}

static bool slot_is_open(const struct scope_place *place, size_t n_kinds, size_t slot)
{
    struct scope_event **of_slot = slot_events(place, n_kinds, slot);

    for (size_t kind = 0; kind < n_kinds; kind++)
        if (of_slot[kind])
            return true;
    return false;
}

bool scope_place_is_open(const struct scope_place *place, size_t n_kinds)
{
    for (size_t slot = 0; slot < place->n_slots; slot++)
        if (slot_is_open(place, n_kinds, slot))
            return true;
    return false;
}

/* Is the kind opened at this place, in this slot? */
static bool belongs(const struct scope_place *place, const struct perf_scope_event *kind,
                    size_t slot)
{
    if (place->type == SCOPE_PLACE_PMU ? !kind->system
                                       : kind->system && place->type != SCOPE_PLACE_SYSTEM)
        return false;
    return place->type == SCOPE_PLACE_THREAD || !kind->cpus || kind->cpus[slot];
}

static bool slot_has_kinds(const struct scope_place *place, const struct scope_events *events,
                           size_t slot)
{
    for (size_t kind = 0; kind < events->n_kinds; kind++)
        if (belongs(place, &events->kinds[kind], slot))
            return true;
    return false;
}

/* All kinds of a slot; in a chain of leaders the first leads the group. */
static int slot_open_events(struct scope_place *place, struct scope_events *events, size_t slot,
                            struct scope_event_request request)
{
    struct scope_event **of_slot = slot_events(place, events->n_kinds, slot);
    bool leads = false;
    int r;

    for (size_t kind = 0; kind < events->n_kinds; kind++) {
        if (!belongs(place, &events->kinds[kind], slot)) {
            leads = false;
            continue;
        }
        if (!leads)
            request.group_fd = -1;
        request.kind = kind;
        r = scope_events_open(events, &request, &of_slot[kind]);
        if (r)
            return r;
        leads = events->kinds[kind].leads;
        if (leads && request.group_fd < 0)
            request.group_fd = of_slot[kind]->fd;
    }
    return 0;
}

static int slot_ring(struct scope_place *place, const struct scope_sync *sync, size_t slot,
                     struct scope_ring **ringp)
{
    int r;

    if (place->type == SCOPE_PLACE_THREAD) {
        place->ring = scope_events_add_ring(sync->events, sync->thread_ring_bytes);
        *ringp = place->ring;
        return place->ring ? 0 : -ENOMEM;
    }
    r = scope_cpus_ring(sync->cpus, sync->events, (int)slot);
    *ringp = sync->cpus->items[slot].ring;
    return r;
}

static int slot_open(struct scope_place *place, const struct scope_sync *sync, size_t slot,
                     int dir_fd)
{
    struct scope_event_request request = {
        .pid = place->type == SCOPE_PLACE_CGROUP   ? dir_fd
               : place->type == SCOPE_PLACE_THREAD ? place->tid
                                                   : -1,
        .cpu = place->type == SCOPE_PLACE_THREAD ? -1 : (int)slot,
        .group_fd = -1,
        .flags = place->type == SCOPE_PLACE_CGROUP ? PERF_FLAG_PID_CGROUP : 0,
        .rate_hz = place->rate_hz,
    };
    int r;

    r = slot_ring(place, sync, slot, &request.ring);
    if (r == 0)
        r = slot_open_events(place, sync->events, slot, request);
    if (r)
        slot_retire(place, sync->events, slot);
    return r;
}

static void slot_set_rate(struct scope_place *place, struct scope_events *events, size_t slot)
{
    struct scope_event **of_slot = slot_events(place, events->n_kinds, slot);

    for (size_t kind = 0; kind < events->n_kinds; kind++)
        if (of_slot[kind])
            scope_event_set_rate(events, of_slot[kind], place->rate_hz);
}

/* Return: 0, SCOPE_EVENT_REFUSED (place->failure is set), or -ENOMEM. */
static int slot_sync(struct scope_place *place, const struct scope_sync *sync, size_t slot,
                     int dir_fd)
{
    const bool per_cpu = place->type != SCOPE_PLACE_THREAD;
    int r;

    if (per_cpu && !scope_cpus_is_wanted(sync->cpus, (int)slot)) {
        slot_retire(place, sync->events, slot);
        return 0;
    }
    if (slot_is_open(place, sync->events->n_kinds, slot)) {
        slot_set_rate(place, sync->events, slot);
        return 0;
    }
    if ((per_cpu && !scope_cpus_is_usable(sync->cpus, (int)slot, sync->now)) ||
        !slot_has_kinds(place, sync->events, slot) || !retry_is_due(&place->retry, sync->now))
        return 0;
    r = slot_open(place, sync, slot, dir_fd);
    if (r != SCOPE_EVENT_REFUSED)
        return r;
    if (per_cpu && sync->events->failure.error == ENODEV) {
        retry_failed(&sync->cpus->items[slot].retry, sync->now);
        return 0;
    }
    place->failure = sync->events->failure;
    return SCOPE_EVENT_REFUSED;
}

/*
 * A thread that calls exec takes the pid over from the first thread, whose event dies; a
 * set-user-ID program leaves its events behind. The pid, the tid and the start are those of before.
 */
static void thread_look(struct scope_place *place, struct scope_events *events)
{
    struct scope_event **of_slot = slot_events(place, events->n_kinds, 0);

    for (size_t kind = 0; kind < events->n_kinds; kind++)
        if (of_slot[kind] &&
            events->kernel.ops->has_ended(events->kernel.self, of_slot[kind]->fd)) {
            slot_retire(place, events, 0);
            return;
        }
}

static bool slot_is_missing(const struct scope_place *place, const struct scope_sync *sync,
                            size_t slot)
{
    return scope_cpus_is_usable(sync->cpus, (int)slot, sync->now) &&
           !slot_is_open(place, sync->events->n_kinds, slot) &&
           slot_has_kinds(place, sync->events, slot);
}

static bool place_is_complete(const struct scope_place *place, const struct scope_sync *sync)
{
    for (size_t slot = 0; slot < place->n_slots; slot++)
        if (slot_is_missing(place, sync, slot))
            return false;
    return true;
}

/*
 * Looks whether the cgroup is still the one that the events are of, and opens its directory where
 * events are missing. Return: 0 (*dir_fdp is -1 where it is not needed), or SCOPE_EVENT_REFUSED.
 */
static int cgroup_look(struct scope_place *place, const struct scope_sync *sync, int *dir_fdp)
{
    const struct perf_kernel *kernel = &sync->events->kernel;
    CLEANUP(freep) char *path = NULL;
    uint64_t dir_id = 0;
    int r;

    if (!sync->cgroup_mount || asprintf(&path, "%s%s", sync->cgroup_mount, place->cgroup) < 0) {
        path = NULL;
        return scope_events_refuse(sync->events, ENOENT, false);
    }
    r = kernel->ops->dir_id(kernel->self, path, &dir_id);
    if (r < 0 || dir_id != place->dir_id)
        place_retire(place, sync->events);
    place->dir_id = dir_id;
    if (r < 0)
        return scope_events_refuse(sync->events, -r, false);
    if (place_is_complete(place, sync))
        return 0;
    *dir_fdp = kernel->ops->open_dir(kernel->self, path);
    return *dir_fdp < 0 ? scope_events_refuse(sync->events, -*dir_fdp, false) : 0;
}

/* What the next CPU would answer too. */
static bool is_of_the_place(const struct scope_failure *failure)
{
    return scope_failure_is_shortage(failure) || perf_refusal_is_denial(failure->error) ||
           failure->error == ENOENT;
}

static int place_sync_slots(struct scope_place *place, const struct scope_sync *sync, int dir_fd)
{
    int r = 0, slot_r;

    for (size_t slot = 0; slot < place->n_slots && !scope_events_is_spent(sync->events); slot++) {
        slot_r = slot_sync(place, sync, slot, dir_fd);
        if (slot_r)
            r = slot_r;
        if (slot_r < 0 || (slot_r && is_of_the_place(&place->failure)))
            break;
    }
    return r;
}

int scope_place_sync(struct scope_place *place, const struct scope_sync *sync)
{
    const struct perf_kernel *kernel = &sync->events->kernel;
    bool due = retry_is_due(&place->retry, sync->now);
    int dir_fd = -1, r = 0;

    if (place->type == SCOPE_PLACE_THREAD)
        thread_look(place, sync->events);
    if (due)
        place->failure = (struct scope_failure){0};
    if (due && place->type == SCOPE_PLACE_CGROUP) {
        r = cgroup_look(place, sync, &dir_fd);
        if (r)
            place->failure = sync->events->failure;
    }
    if (r == 0)
        r = place_sync_slots(place, sync, dir_fd);
    if (dir_fd >= 0)
        kernel->ops->close(kernel->self, dir_fd);
    if (r == SCOPE_EVENT_REFUSED)
        retry_failed(&place->retry, sync->now);
    else if (due && !scope_events_is_spent(sync->events))
        place->retry = (struct retry){0};
    return r < 0 ? r : 0;
}

void scope_place_retire_cpu(struct scope_place *place, struct scope_events *events, int cpu)
{
    if (place->type != SCOPE_PLACE_THREAD)
        slot_retire(place, events, (size_t)cpu);
}

void scope_place_shrink(struct scope_place *place, const struct scope_sync *sync, size_t n_files)
{
    unsigned n_before = sync->events->n_open;

    for (size_t slot = place->n_slots; slot-- > 0;) {
        if (n_before - sync->events->n_open >= n_files)
            break;
        slot_retire(place, sync->events, slot);
    }
    scope_cpus_sweep(sync->cpus, sync->events);
}
