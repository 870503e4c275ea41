#include "timer_world.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sample/timer.h"
#include "util/array.h"

#define RING_BYTES ((uint64_t)1 << 21)

static bool piece_is_readable(const struct timer_world *world, uint64_t start, size_t size)
{
    if (start < CODE_START || start + size > CODE_START + sizeof world->code)
        return false;
    for (uint64_t page = start / PAGE; page <= (start + size - 1) / PAGE; page++)
        if (world->unreadable[page - CODE_START / PAGE])
            return false;
    return true;
}

static ssize_t world_read_memory(void *self, pid_t pid, const struct iovec *local,
                                 const struct iovec *remote, size_t n)
{
    struct timer_world *world = self;
    ssize_t got = 0;

    assert_int_equal(pid, TIMER_WORLD_PID);
    world->n_reads++;
    if (world->blocks) {
        sem_post(&world->entered);
        sem_wait(&world->leave);
    }
    for (size_t i = 0; i < n && !world->refuse; i++) {
        uint64_t start = (uint64_t)remote[i].iov_base;

        if (!piece_is_readable(world, start, remote[i].iov_len))
            return got > 0 ? got : -EFAULT;
        memcpy(local[i].iov_base, world->code + (start - CODE_START), remote[i].iov_len);
        got += (ssize_t)remote[i].iov_len;
    }
    return world->refuse ? world->refuse : got;
}

static void world_push(void *userdata, const struct access *accesses, size_t n)
{
    struct timer_world *world = userdata;

    for (size_t i = 0; i < n && world->n_accesses < ARRAY_LENGTH(world->accesses); i++)
        world->accesses[world->n_accesses++] = accesses[i];
}

static bool world_wants(void *userdata, pid_t pid)
{
    struct timer_world *world = userdata;

    return world->wanted == -1 || pid == world->wanted;
}

void timer_world_open(struct timer_world *world, bool threads)
{
    struct perf_rings rings = {
        .items = calloc(1, sizeof *rings.items), .fds = calloc(1, sizeof *rings.fds), .n = 1};
    struct source_options options = {
        .host = &world->host,
        .sink = {world_push, world},
        .filter = {world_wants, world},
    };

    *world = (struct timer_world){.wanted = TIMER_WORLD_PID, .memory = {.size = RING_BYTES}};
    memset(world->code, 0x90, sizeof world->code); /* nop */
    world->memory.data = malloc(RING_BYTES);
    world->host_ops = (struct host_ops){.read_memory = world_read_memory};
    world->host = (struct host){.ops = &world->host_ops, .self = world, .page_bytes = PAGE};
    sem_init(&world->entered, 0, 0);
    sem_init(&world->leave, 0, 0);
    assert_int_equal(
        threads ? worker_pool_new(&world->pool, 1) : worker_pool_new_inline(&world->pool), 0);
    options.pool = world->pool;
    rings.items[0].ring = ring_memory_ring(&world->memory);
    rings.fds[0] = -1;
    assert_int_equal(timer_new_from_rings(&world->source, &options, false, &rings), 0);
}

void timer_world_close(struct timer_world *world)
{
    source_deinit(&world->source);
    world->pool = worker_pool_free(world->pool);
    free(world->memory.data);
}

void timer_world_code(struct timer_world *world, uint64_t at, const uint8_t *bytes, size_t size)
{
    memcpy(world->code + (at - CODE_START), bytes, size);
}

void timer_world_sample(struct timer_world *world, pid_t pid, uint64_t ip)
{
    struct sample_record record = sample_record(pid, ip);

    ring_memory_write(&world->memory, &record, sizeof record);
}

void timer_world_drain(struct timer_world *world)
{
    assert_int_equal(world->source.ops->drain(world->source.self), 0);
}

void timer_world_dispatch_one(struct timer_world *world)
{
    for (unsigned i = 0; worker_pool_dispatch(world->pool, 0) == 0; i++) {
        assert_true(i < 60000); /* a hang, not a deadline */
        usleep(1000);
    }
}

struct sample_counts timer_world_counts(const struct timer_world *world)
{
    return *world->source.ops->counts(world->source.self);
}
