#include "sample/trace/replay_world.h"

#include <errno.h>
#include <stdlib.h>

#include "sample/trace/replay_host.h"
#include "sample/trace/replay_procs.h"
#include "sample/trace/replay_topology.h"

struct replay_world {
    struct topology *topology;
    pid_t self_pid;
    uint64_t start_nsec;
    struct replay_procs known;
    struct replay_host answers;
    struct procs procs;
    struct host host;
};

int replay_world_new(struct replay_world **worldp)
{
    struct replay_world *world = calloc(1, sizeof *world);

    if (!world)
        return -ENOMEM;
    world->procs = replay_procs_ops(&world->known);
    *worldp = world;
    return 0;
}

struct replay_world *replay_world_free(struct replay_world *world)
{
    if (!world)
        return NULL;
    topology_free(world->topology);
    replay_procs_deinit(&world->known);
    replay_host_deinit(&world->answers);
    free(world);
    return NULL;
}

static int tell_machine(struct replay_world *world, const struct trace_record *record)
{
    if (world->topology)
        return REPLAY_UNSOUND;
    world->self_pid = record->pid;
    world->start_nsec = record->machine.now_nsec;
    world->answers.pages.page_bytes = record->machine.page_bytes;
    world->host = replay_host_ops(&world->answers);
    return replay_topology_new(&world->topology, record);
}

static int tell_node(struct replay_world *world, const struct trace_record *record)
{
    if (!world->topology || !replay_topology_take(world->topology, record))
        return REPLAY_UNSOUND;
    return 0;
}

int replay_world_tell(struct replay_world *world, const struct trace_record *record,
                      const char **whatp)
{
    *whatp = "it does not fit the machine that the trace began with";
    switch (record->kind) {
    case TRACE_MACHINE:
        return tell_machine(world, record);
    case TRACE_NODE:
    case TRACE_CPUS:
    case TRACE_ISOLATED:
    case TRACE_ROOM:
        return tell_node(world, record);
    case TRACE_GONE:
        replay_host_forget(&world->answers, record->pid);
        return replay_procs_take(&world->known, record);
    case TRACE_PROCESS:
    case TRACE_DETAIL:
    case TRACE_MEMS:
        return replay_procs_take(&world->known, record);
    default:
        return 0;
    }
}

int replay_world_answer(struct replay_world *world, const struct trace_record *record)
{
    if (!world->topology)
        return 0;
    switch (record->kind) {
    case TRACE_FILE:
    case TRACE_PAGES:
    case TRACE_MOVE:
        return replay_host_take(&world->answers, record);
    default:
        return 0;
    }
}

struct topology *replay_world_topology(const struct replay_world *world)
{
    return world->topology && world->topology->n_memory_nodes ? world->topology : NULL;
}

pid_t replay_world_self_pid(const struct replay_world *world)
{
    return world->self_pid;
}

uint64_t replay_world_start(const struct replay_world *world)
{
    return world->start_nsec;
}

const struct host *replay_world_host(const struct replay_world *world)
{
    return &world->host;
}

const struct procs *replay_world_procs(const struct replay_world *world)
{
    return &world->procs;
}

const struct replay_pages *replay_world_pages(const struct replay_world *world)
{
    return &world->answers.pages;
}
