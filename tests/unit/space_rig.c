#include "space_rig.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <string.h>

#include "attribute/groups.h"

struct vma_list vmas_of(const char *maps)
{
    struct vma_list list = {0};

    assert_int_equal(vma_list_parse(&list, maps, strlen(maps)), 0);
    return list;
}

struct space *space_rig_new(const char *maps)
{
    const struct target target = {
        .pid = SPACE_PID,
        .process = {.pid = SPACE_PID, .start_ticks = SPACE_TICKS, .rss_bytes = 64 * M},
    };
    struct space *space = NULL;

    assert_int_equal(space_new(&space, &target), 0);
    if (maps)
        assert_int_equal(space_rig_set(space, maps), 0);
    return space;
}

size_t space_rig_set(struct space *space, const char *maps)
{
    struct vma_list list = vmas_of(maps);
    size_t n_dropped = 12345;

    space_set_vmas(space, &list, &n_dropped);
    assert_null(list.items); /* taken over */
    return n_dropped;
}

int space_rig_add(struct space *space, pid_t tid, int node, uint64_t addr, unsigned n)
{
    bool made = false;
    int r = 0;

    while (n-- > 0) {
        const struct access access = {
            .when_nsec = ++space->n_accesses, /* a sample each */
            .pid = SPACE_PID,
            .tid = tid,
            .addr = addr,
            .weight_sec = 0.004,
        };

        r = space_add_access(space, &access, node, GRAIN_RANGES, &made);
    }
    return r;
}
