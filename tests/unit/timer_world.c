#include "timer_world.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sample/timer/timer.h"
#include "util/array.h"
#include "util/nsec.h"

#define RATE_HZ 4000 /* the largest ring */

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

static int world_read_file(void *self, const char *path, size_t limit, char **bufp, size_t *sizep)
{
    struct timer_world *world = self;

    return world->files.host.ops->read_file(world->files.host.self, path, limit, bufp, sizep);
}

static void world_set_files(struct timer_world *world)
{
    fake_host_init(&world->files);
    fake_host_set_file(&world->files, "proc/mounts", "cgroup2 /cg cgroup2 rw 0 0\n");
    fake_host_set_file(&world->files, "sys/devices/system/cpu/online", "0\n");
    fake_host_set_file(&world->files, "proc/sys/kernel/perf_event_mlock_kb", "16388\n");
}

void timer_world_round(struct timer_world *world, unsigned rate_hz)
{
    const struct sample_target target = {.pid = TIMER_WORLD_PID,
                                         .start_ticks = 1,
                                         .n_threads = 40,
                                         .rate_hz = rate_hz,
                                         .cgroup = "/x"};
    const struct sample_round round = {.now = NSEC_PER_SEC, .targets = &target, .n_targets = 1};
    struct source_reason reason;

    assert_int_equal(world->source.ops->round(world->source.self, &round, &reason), 0);
}

void timer_world_open(struct timer_world *world, bool threads)
{
    struct source_options options = {
        .rate_hz = RATE_HZ,
        .n_cpu_ids = 1,
        .epoll_fd = -1,
        .host = &world->host,
        .sink = {world_push, world},
        .filter = {world_wants, world},
    };
    struct source_reason reason;

    memset(world, 0, sizeof *world);
    world->wanted = TIMER_WORLD_PID;
    memset(world->code, 0x90, sizeof world->code); /* nop */
    world->host_ops =
        (struct host_ops){.read_file = world_read_file, .read_memory = world_read_memory};
    world->host = (struct host){.ops = &world->host_ops, .self = world, .page_bytes = PAGE};
    world_set_files(world);
    fake_perf_init(&world->perf);
    fake_perf_dir(&world->perf, "/cg/x", 1, 1);
    sem_init(&world->entered, 0, 0);
    sem_init(&world->leave, 0, 0);
    assert_int_equal(
        threads ? worker_pool_new(&world->pool, 1) : worker_pool_new_inline(&world->pool), 0);
    options.pool = world->pool;
    assert_int_equal(
        timer_new_from_kernel(&world->source, &options, false, &world->perf.kernel, &reason), 0);
    timer_world_round(world, 250);
}

void timer_world_close(struct timer_world *world)
{
    source_deinit(&world->source);
    world->pool = worker_pool_free(world->pool);
    fake_perf_deinit(&world->perf);
    fake_host_deinit(&world->files);
}

void timer_world_code(struct timer_world *world, uint64_t at, const uint8_t *bytes, size_t size)
{
    memcpy(world->code + (at - CODE_START), bytes, size);
}

void timer_world_sample(struct timer_world *world, pid_t pid, uint64_t ip)
{
    struct sample_record record = sample_record(pid, ip);

    timer_world_write(world, &record, sizeof record);
}

void timer_world_write(struct timer_world *world, const void *record, size_t size)
{
    const struct fake_perf_event *event = fake_perf_find(&world->perf, "/cg/x", 0, 0);
    struct sample_record sample;

    assert_non_null(event);
    assert_true(size <= sizeof sample);
    memcpy(&sample, record, size);
    if (sample.header.type == PERF_RECORD_SAMPLE)
        sample.id = event->id;
    fake_perf_write(&world->perf, event, &sample, size);
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
