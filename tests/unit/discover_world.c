#include "discover_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdlib.h>

int discover_world_setup(void **state)
{
    struct discover_world *world = calloc(1, sizeof(*world));

    assert_int_equal(config_new_default(&world->config), 0);
    for (int i = 0; i < 4; i++) /* node 2 has CPUs only */
        world->nodes[i] = (struct node){.online = i < 3, .has_cpus = true, .has_memory = i < 2};
    world->topology =
        (struct topology){.n_node_ids = 3, .n_memory_nodes = 2, .nodes = world->nodes};
    world->procs = fake_procs_of(&world->fake);
    assert_int_equal(
        discover_new(&world->discover, &world->procs, &world->topology, DISCOVER_WORLD_SELF), 0);
    world->now = HOUR;
    *state = world;
    return 0;
}

int discover_world_teardown(void **state)
{
    struct discover_world *world = *state;

    discover_free(world->discover);
    config_free(world->config);
    free(world);
    return 0;
}

void discover_world_set(struct discover_world *world, struct fake_process *items, size_t n_items)
{
    world->fake.items = items;
    world->fake.n_items = n_items;
}

void discover_world_scan(struct discover_world *world)
{
    world->now += HOUR;
    assert_int_equal(discover_round(world->discover, world->config, world->now), 0);
}

enum reason discover_world_reason(const struct discover_world *world, pid_t pid)
{
    const struct target *target = discover_find(world->discover, pid);

    if (!target)
        fail_msg("pid %d is no target", pid);
    return target->reason;
}

uint64_t discover_world_count(const struct discover_world *world, enum reason reason)
{
    return discover_counts(world->discover)->n[reason];
}
