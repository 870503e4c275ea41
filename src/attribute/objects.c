/*
 * Mappers follow what maps shows: each list of VMAs that a space gets replaces its windows. An
 * object keeps its offsets as a space of its own, so that all that is done with evidence about
 * private memory is done with it unchanged; only its users come from several processes.
 */
#include "attribute/objects.h"

#include <errno.h>
#include <string.h>

#include "attribute/object_scope.h"
#include "attribute/ranges.h"
#include "attribute/space.h"
#include "attribute/space_scan.h"
#include "attribute/threads.h"
#include "util/array.h"

int objects_new(struct objects **objectsp, const struct objects_options *options)
{
    struct objects *objects = calloc(1, sizeof *objects);

    if (!objects)
        return -ENOMEM;
    objects->options = *options;
    *objectsp = objects;
    return 0;
}

static struct object *object_free(struct object *object)
{
    if (!object)
        return NULL;
    object_drop_strangers(object, NULL, NULL);
    space_free(object->memory);
    free(object->windows);
    free(object->policies);
    free(object->strangers);
    free(object->mems_allowed);
    free(object);
    return NULL;
}

static void objects_drop(struct objects *objects, struct object *object)
{
    if (object->memory) {
        objects->options.forget(objects->options.userdata, object->memory);
        HASH_DELETE(learned, objects->learned, object);
    }
    HASH_DEL(objects->table, object);
    object_free(object);
}

struct objects *objects_free(struct objects *objects)
{
    struct object *object, *next;

    if (!objects)
        return NULL;
    HASH_CLEAR(learned, objects->learned);
    HASH_ITER (hh, objects->table, object, next) {
        HASH_DEL(objects->table, object);
        object_free(object);
    }
    free(objects);
    return NULL;
}

bool vma_shows_object(const struct vma *vma)
{
    return vma->kind == REASON_SHARED_MAPPING && (vma->inode || vma->ipc_ns);
}

static struct object_key key_of(const struct vma *vma)
{
    return (struct object_key){
        .inode = vma->inode,
        .ipc_ns = vma->ipc_ns,
        .dev_major = vma->dev_major,
        .dev_minor = vma->dev_minor,
    };
}

struct object *objects_find(const struct objects *objects, const struct vma *vma)
{
    const struct object_key key = key_of(vma);
    struct object *object = NULL;

    if (vma_shows_object(vma))
        HASH_FIND(hh, objects->table, &key, sizeof key, object);
    return object;
}

struct object *objects_find_id(const struct objects *objects, uint64_t id)
{
    struct object *object;

    HASH_FIND(learned, objects->learned, &id, sizeof id, object);
    return object;
}

/* The first window that does not lie before those of the pid. */
static size_t first_window(const struct object *object, pid_t pid)
{
    size_t low = 0, high = object->n_windows;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (object->windows[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct window *object_find_window(const struct object *object, pid_t pid, uint64_t start,
                                        uint64_t end)
{
    for (size_t i = first_window(object, pid); i < object->n_windows; i++) {
        const struct window *window = &object->windows[i];
        const struct vma *vma = window->vma;

        if (window->pid != pid || vma->offset >= end)
            return NULL;
        if (vma->offset + (vma->end - vma->start) > start)
            return window;
    }
    return NULL;
}

void window_clip(const struct window *window, const struct range *range, uint64_t *startp,
                 uint64_t *endp)
{
    const struct vma *vma = window->vma;
    uint64_t start = range->start > vma->offset ? range->start - vma->offset : 0;
    uint64_t end = range->end - vma->offset, size = vma->end - vma->start;

    *startp = vma->start + start;
    *endp = vma->start + (end < size ? end : size);
}

size_t object_end_of_mapper(const struct object *object, size_t first)
{
    size_t end = first;

    while (end < object->n_windows && object->windows[end].pid == object->windows[first].pid)
        end++;
    return end;
}

static int object_new(struct objects *objects, const struct object_key *key,
                      struct object **objectp)
{
    struct object *object = calloc(1, sizeof *object);

    if (!object)
        return -ENOMEM;
    object->key = *key;
    object->barred = REASON_MAPPERS_UNKNOWN;
    object->id = ++objects->n_ids;
    HASH_ADD(hh, objects->table, key, sizeof object->key, object);
    *objectp = object;
    return 0;
}

/* Its memory reaches over all its size. */
static int object_set_size(struct object *object)
{
    struct vma_list list = {0};
    size_t n_dropped;

    if (object->memory->vmas.n_items && object->memory->vmas.items[0].end == object->size)
        return 0;
    if (ARRAY_RESERVE(list.items, list.cap, 1) < 0)
        return -ENOMEM;
    list.items[list.n_items++] =
        (struct vma){.end = object->size, .perms = MAPS_READ | MAPS_WRITE, .policy = REASON_NONE};
    /* It only grows, so nothing is dropped. */
    space_set_vmas(object->memory, &list, &n_dropped);
    return 0;
}

static int object_add_window(struct object *object, struct space *space, const struct vma *vma)
{
    uint64_t end = vma->offset + (vma->end - vma->start);

    if (ARRAY_RESERVE(object->windows, object->windows_cap, object->n_windows + 1) < 0)
        return -ENOMEM;
    object->windows[object->n_windows++] =
        (struct window){.pid = space->pid, .space = space, .vma = vma};
    object->n_writable += vma->perms & MAPS_WRITE ? 1 : 0;
    object->unsorted = true;
    if (object->size < end)
        object->size = end;
    return 0;
}

static int by_pid(const void *left, const void *right)
{
    const struct window *a = left, *b = right;

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->vma->offset != b->vma->offset)
        return a->vma->offset < b->vma->offset ? -1 : 1;
    return a->vma->start < b->vma->start ? -1 : a->vma->start > b->vma->start;
}

static void object_sort(struct object *object)
{
    if (object->unsorted)
        qsort(object->windows, object->n_windows, sizeof *object->windows, by_pid);
    object->unsorted = false;
}

static void object_remove_windows(struct object *object, pid_t pid)
{
    size_t first = first_window(object, pid), end = first;

    for (; end < object->n_windows && object->windows[end].pid == pid; end++)
        object->n_writable -= object->windows[end].vma->perms & MAPS_WRITE ? 1 : 0;
    memmove(&object->windows[first], &object->windows[end],
            (object->n_windows - end) * sizeof *object->windows);
    object->n_windows -= end - first;
}

static void objects_close_windows(struct objects *objects, const struct space *space)
{
    for (size_t i = 0; i < space->vmas.n_items; i++) {
        struct object *object = objects_find(objects, &space->vmas.items[i]);

        if (object)
            object_remove_windows(object, space->pid);
    }
}

/* Those that the VMAs show: windows are put in order, and what has none goes. */
static void objects_settle(struct objects *objects, const struct vma_list *vmas)
{
    for (size_t i = 0; i < vmas->n_items; i++) {
        struct object *object = objects_find(objects, &vmas->items[i]);

        if (object && !object->n_windows)
            objects_drop(objects, object);
        else if (object)
            object_sort(object);
    }
}

static int objects_add_vma(struct objects *objects, struct space *space, const struct vma *vma)
{
    const struct object_key key = key_of(vma);
    struct object *object = objects_find(objects, vma);
    int r = 0;

    if (!object)
        r = object_new(objects, &key, &object);
    return r < 0 ? r : object_add_window(object, space, vma);
}

int objects_follow(struct objects *objects, struct space *space, const struct vma_list *vmas)
{
    int r = 0;

    objects_close_windows(objects, space);
    for (size_t i = 0; i < vmas->n_items && !r; i++)
        if (vma_shows_object(&vmas->items[i]))
            r = objects_add_vma(objects, space, &vmas->items[i]);
    objects_settle(objects, vmas);
    objects_settle(objects, &space->vmas);
    return r;
}

void objects_leave(struct objects *objects, struct space *space)
{
    for (size_t i = 0; i < space->vmas.n_items; i++) {
        struct object *object = objects_find(objects, &space->vmas.items[i]);

        /* Before anything was learned nothing was searched either, which will find it. */
        if (object && object->memory)
            object_note_stranger(object, space->pid, space->start_ticks);
    }
    objects_close_windows(objects, space);
    objects_settle(objects, &space->vmas);
}

/* The process's own thread and VMA were used. Return: 0 or -ENOMEM. */
static int space_note_access(struct space *space, const struct vma *vma,
                             const struct access *access)
{
    struct thread *thread = threads_note(space, access);

    return thread ? space_note_user(space, vma, thread) : -ENOMEM;
}

/* The access counts as one from memory's own space, at its offset. */
static int object_add_evidence(struct object *object, const struct space *space,
                               const struct access *access, int node, unsigned grain, bool *madep)
{
    struct space *memory = object->memory;

    memory->sampled_nsec = access->when_nsec;
    if (memory->rss_bytes < space->rss_bytes)
        memory->rss_bytes = space->rss_bytes;
    return space_add_access(memory, access, node, grain, madep);
}

static int objects_add_memory(struct objects *objects, struct object *object)
{
    static const struct target nobody;
    int r = space_new(&object->memory, &nobody);

    if (r < 0)
        return r;
    object->memory->ranges_only = true;
    HASH_ADD(learned, objects->learned, id, sizeof object->id, object);
    return 0;
}

int objects_prepare(struct objects *objects, struct object *object)
{
    int r = 0;

    if (!object->n_writable)
        return SPACE_UNMOVABLE;
    if (!object->memory)
        r = objects_add_memory(objects, object);
    return r < 0 ? r : object_set_size(object);
}

int object_add_access(struct object *object, struct space *space, const struct vma *vma,
                      const struct access *access, int node, unsigned grain, bool *madep)
{
    struct access within = *access;
    struct range *range;
    uint64_t start, end;
    int r;

    if (space_note_access(space, vma, access) < 0)
        return -ENOMEM;
    within.addr = access->addr - vma->start + vma->offset;
    r = object_add_evidence(object, space, &within, node, grain, madep);
    range_bounds(&object->memory->vmas.items[0], within.addr, &start, &end);
    range = space_find_range(object->memory, start);
    if (r < 0 || !range)
        return r;
    space_count_share(space, range, access, node);
    return r;
}
