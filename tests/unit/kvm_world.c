#include "kvm_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void world_push(void *userdata, const struct access *accesses, size_t n)
{
    struct kvm_world *world = userdata;

    assert_true(world->n_accesses + n <= sizeof world->accesses / sizeof *world->accesses);
    memcpy(world->accesses + world->n_accesses, accesses, n * sizeof *accesses);
    world->n_accesses += n;
}

static bool world_wants(void *userdata, pid_t pid)
{
    const struct kvm_world *world = userdata;

    return pid != world->unwanted;
}

static void write_text(struct kvm_world *world, pid_t pid, const char *name, const char *text)
{
    char path[64];

    snprintf(path, sizeof path, "proc/%d/%s", pid, name);
    tree_write(&world->tree, path, text, strlen(text));
}

void kvm_world_restart(struct kvm_world *world)
{
    struct source_options options = {
        .host = &world->host,
        .pool = world->pool,
        .sink = {world_push, world},
        .filter = {world_wants, world},
    };
    struct source_reason reason;

    source_deinit(&world->source);
    assert_int_equal(kvm_new(&world->source, &options, &reason), 0);
}

void kvm_world_open(struct kvm_world *world)
{
    *world = (struct kvm_world){.now = 100 * NSEC_PER_SEC, .n_targets = 1};
    world->targets[0] = (struct sample_target){.pid = KVM_PID, .start_ticks = KVM_START};
    tree_init(&world->tree);
    tree_write(&world->tree, "proc/misc", "232 kvm\n", 8);
    world->host = host_root(world->tree.root);
    assert_int_equal(worker_pool_new_inline(&world->pool), 0);
    kvm_world_restart(world);
}

void kvm_world_close(struct kvm_world *world)
{
    source_deinit(&world->source);
    world->pool = worker_pool_free(world->pool);
    tree_deinit(&world->tree);
}

static void link_fd(struct kvm_world *world, pid_t pid, unsigned fd, const char *target)
{
    char path[64];

    snprintf(path, sizeof path, "proc/%d/fd/%u", pid, fd);
    tree_link(&world->tree, path, target);
}

static void stat_text(char *text, size_t size, pid_t pid, const char *name, unsigned cpu_ticks,
                      unsigned guest_ticks, int cpu)
{
    /* state(3) ... cmajflt(13) utime stime ... starttime(22) ... processor(39) ... gtime(43) */
    snprintf(text, size,
             "%d (%s) S 1 1 1 0 -1 4194304 9 9 9 9 %u %u 0 0 20 0 3 0 %d 1 1 1 "
             "1 1 1 1 1 1 1 1 1 1 1 1 17 %d 0 0 0 %u 0 1 1 1 1 1 1 1 0\n",
             pid, name, cpu_ticks - cpu_ticks / 3, cpu_ticks / 3, KVM_START, cpu, guest_ticks);
}

void kvm_world_process(struct kvm_world *world, pid_t pid, unsigned n_vcpu_fds)
{
    char text[512], target[64];

    stat_text(text, sizeof text, pid, "qemu-system-x86", 1, 0, 0);
    write_text(world, pid, "stat", text);
    link_fd(world, pid, 0, "/dev/null");
    link_fd(world, pid, 9, "/dev/kvm");
    if (n_vcpu_fds > 0)
        link_fd(world, pid, 10, "anon_inode:kvm-vm");
    for (unsigned i = 0; i < n_vcpu_fds; i++) {
        snprintf(target, sizeof target, "anon_inode:kvm-vcpu:%u", i);
        link_fd(world, pid, 11 + i, target);
    }
}

void kvm_world_thread(struct kvm_world *world, pid_t pid, pid_t tid, const char *name,
                      unsigned cpu_ticks, unsigned guest_ticks, int cpu)
{
    char path[64], text[512];

    snprintf(path, sizeof path, "task/%d/stat", tid);
    stat_text(text, sizeof text, tid, name, cpu_ticks, guest_ticks, cpu);
    write_text(world, pid, path, text);
}

void kvm_world_cmdline(struct kvm_world *world, pid_t pid, const char *words)
{
    size_t size = strlen(words) + 1;
    char *text = strdup(words), path[64];

    for (size_t i = 0; i < size; i++)
        text[i] = text[i] == ' ' ? '\0' : text[i];
    snprintf(path, sizeof path, "proc/%d/cmdline", pid);
    tree_write(&world->tree, path, text, size);
    free(text);
}

void kvm_world_maps(struct kvm_world *world, pid_t pid, const char *text)
{
    write_text(world, pid, "maps", text);
}

void kvm_world_remove(struct kvm_world *world, pid_t pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof path, "proc/%d/%s", pid, name);
    tree_remove(&world->tree, path);
}

void kvm_world_dispatch(struct kvm_world *world)
{
    while (worker_pool_dispatch(world->pool, 0) > 0)
        ;
}

void kvm_world_round(struct kvm_world *world, unsigned sec)
{
    struct sample_round round = {.targets = world->targets, .n_targets = world->n_targets};
    struct source_reason reason;

    round.now = world->now += sec * NSEC_PER_SEC;
    world->n_accesses = 0;
    assert_int_equal(world->source.ops->round(world->source.self, &round, &reason), 0);
    if (!world->held)
        kvm_world_dispatch(world);
}

bool kvm_world_is(const struct kvm_world *world, const char *text)
{
    char described[128];

    world->source.ops->describe(world->source.self, described, sizeof described);
    if (strcmp(described, text))
        print_error("described as: %s\n", described);
    return !strcmp(described, text);
}

size_t kvm_world_count(const struct kvm_world *world, pid_t tid, uint64_t start, uint64_t end)
{
    size_t n = 0;

    for (size_t i = 0; i < world->n_accesses; i++) {
        const struct access *access = &world->accesses[i];

        n += (!tid || access->tid == tid) && access->addr >= start && access->addr < end;
    }
    return n;
}

double kvm_world_sec(const struct kvm_world *world, pid_t tid, uint64_t start, uint64_t end)
{
    double sec = 0;

    for (size_t i = 0; i < world->n_accesses; i++) {
        const struct access *access = &world->accesses[i];

        if ((!tid || access->tid == tid) && access->addr >= start && access->addr < end)
            sec += access->weight_sec;
    }
    return sec;
}
