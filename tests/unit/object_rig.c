#include "object_rig.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "attribute/groups.h"
#include "util/nsec.h"

static void on_forget(void *userdata, const struct space *memory)
{
    assert_non_null(memory);
    ((struct object_rig *)userdata)->n_forgotten++;
}

void object_rig_init(struct object_rig *rig, struct discover *discover)
{
    struct objects_options options;

    *rig = (struct object_rig){.now = 1000 * NSEC_PER_SEC};
    fake_host_init(&rig->fake);
    for (int node = 0; node < 3; node++)
        rig->nodes[node] = (struct node){.online = true, .has_memory = true};
    rig->topology = (struct topology){.n_node_ids = 3, .n_memory_nodes = 3, .nodes = rig->nodes};
    assert_int_equal(worker_pool_new_inline(&rig->pool), 0);
    options = (struct objects_options){.topology = &rig->topology,
                                       .host = &rig->fake.host,
                                       .pool = rig->pool,
                                       .discover = discover,
                                       .forget = on_forget,
                                       .userdata = rig};
    assert_int_equal(objects_new(&rig->objects, &options), 0);
}

static struct space *find(const struct object_rig *rig, pid_t pid)
{
    struct space *space;

    HASH_FIND(hh, rig->spaces, &pid, sizeof pid, space);
    return space;
}

void object_rig_deinit(struct object_rig *rig)
{
    struct space *space, *next;

    worker_pool_free(rig->pool);
    HASH_ITER (hh, rig->spaces, space, next) {
        HASH_DEL(rig->spaces, space);
        space_free(space);
    }
    objects_free(rig->objects);
    fake_host_deinit(&rig->fake);
}

struct space *object_rig_map(struct object_rig *rig, pid_t pid, const char *maps)
{
    const struct target target = {
        .pid = pid, .process = {.pid = pid, .start_ticks = SPACE_TICKS, .rss_bytes = 64 * M}};
    struct space *space = find(rig, pid);
    struct vma_list list = vmas_of(maps);
    size_t n_dropped;

    if (!space) {
        assert_int_equal(space_new(&space, &target), 0);
        HASH_ADD(hh, rig->spaces, pid, sizeof space->pid, space);
    }
    vma_list_set_ipc_ns(&list, &rig->fake.host, pid);
    assert_int_equal(objects_follow(rig->objects, space, &list), 0);
    space_set_vmas(space, &list, &n_dropped);
    return space;
}

void object_rig_drop(struct object_rig *rig, pid_t pid)
{
    struct space *space = find(rig, pid);

    objects_leave(rig->objects, space);
    HASH_DEL(rig->spaces, space);
    space_free(space);
}

struct object *object_rig_at(const struct object_rig *rig, pid_t pid, uint64_t addr)
{
    const struct vma *vma = space_find_vma(find(rig, pid), addr);

    assert_non_null(vma);
    return objects_find(rig->objects, vma);
}

int object_rig_add(struct object_rig *rig, pid_t pid, int node, uint64_t addr, unsigned n)
{
    struct space *space = find(rig, pid);
    const struct vma *vma = space_find_vma(space, addr);
    struct object *object = object_rig_at(rig, pid, addr);
    bool made;
    int r;

    assert_non_null(object);
    r = objects_prepare(rig->objects, object);
    while (!r && n-- > 0) {
        const struct access access = {
            .when_nsec = ++rig->now, .pid = pid, .tid = pid, .addr = addr, .weight_sec = 0.004};

        r = object_add_access(object, space, vma, &access, node, GRAIN_RANGES, &made);
    }
    return r;
}

struct range *object_rig_range(const struct object *object, uint64_t offset)
{
    struct range *range = space_find_range(object->memory, offset);

    assert_non_null(range);
    return range;
}
