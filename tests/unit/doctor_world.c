#include "doctor_world.h"

#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/array.h"

/* What is not freed is a leak, which ends the test. */
static void free_self(void *self)
{
    free(self);
}

static const struct source_ops source_ops_fake = {.name = "fake", .free = free_self};

static int make_any(struct source *source, const struct source_options *options,
                    struct source_reason *reason)
{
    (void)reason;
    assert_int_equal(options->epoll_fd, -1);
    assert_non_null(options->pool);
    assert_false(options->filter.wants(options->filter.userdata, 1));
    *source = (struct source){.ops = &source_ops_fake, .self = malloc(1)};
    return 0;
}

static int fake_call(void *self, enum probe_call call)
{
    struct doctor_world *world = self;

    world->n_calls++;
    return world->errors[call];
}

static uint64_t capability_bits(const char *names)
{
    static const struct {
        const char *name;
        unsigned bit;
    } known[] = {
        {"SYS_PTRACE", CAP_SYS_PTRACE},
        {"SYS_NICE", CAP_SYS_NICE},
        {"SYS_ADMIN", CAP_SYS_ADMIN},
        {"PERFMON", 38},
        {"DAC_READ_SEARCH", CAP_DAC_READ_SEARCH},
        {"DAC_OVERRIDE", CAP_DAC_OVERRIDE},
        {"IPC_LOCK", CAP_IPC_LOCK},
    };
    uint64_t bits = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
        if (!names || strstr(names, known[i].name))
            bits |= UINT64_C(1) << known[i].bit;
    return bits;
}

void doctor_world_set_status(struct doctor_world *world, const char *capabilities, int seccomp)
{
    char text[256];

    snprintf(text, sizeof text,
             "Name:\tnumabd\nCapPrm:\t0000000000000000\nCapEff:\t%016llx\nSeccomp:\t%d\n"
             "Seccomp_filters:\t9\n",
             (unsigned long long)capability_bits(capabilities), seccomp);
    fake_host_set_file(&world->host, "proc/self/status", text);
}

void doctor_world_set_limits(struct doctor_world *world, const char *files, const char *locked)
{
    char text[512];

    snprintf(text, sizeof text,
             "Limit                     Soft Limit           Hard Limit           Units     \n"
             "Max open files            %s files     \n"
             "Max locked memory         %s bytes     \n",
             files, locked);
    fake_host_set_file(&world->host, "proc/self/limits", text);
}

static void set_topology(struct doctor_world *world)
{
    world->nodes[0] = world->nodes[1] =
        (struct node){.online = true, .has_cpus = true, .has_memory = true, .total_bytes = 1 << 30};
    for (int cpu = 0; cpu < 8; cpu++)
        world->cpu_node[cpu] = cpu / 4;
    memcpy(world->distances, (uint8_t[]){10, 21, 0, 0, 21, 10, 0, 0}, 8);
    world->topology = (struct topology){
        .n_node_ids = 4,
        .n_cpu_ids = 8,
        .n_memory_nodes = 2,
        .nodes = world->nodes,
        .cpu_node = world->cpu_node,
        .cpu_isolated = world->cpu_isolated,
        .distances = world->distances,
    };
}

void doctor_world_init(struct doctor_world *world)
{
    static const struct probe_ops ops = {.call = fake_call};

    *world = (struct doctor_world){.n_calls = 0};
    fake_host_init(&world->host);
    set_topology(world);
    world->kinds[0] = (struct source_kind){.name = "whose",
                                           .make = make_any,
                                           .sees_who = true,
                                           .n_events = 3,
                                           .sees = "all",
                                           .blind = "nothing \x1b[31m"};
    world->kinds[1] = (struct source_kind){
        .name = "which", .make = make_any, .n_events = 1, .sees = "pages", .blind = "threads"};
    world->options = (struct doctor_options){
        .kinds = world->kinds,
        .n_kinds = 2,
        .probe = {.ops = &ops, .self = world},
        .topology = &world->topology,
        .host = &world->host.host,
        .rate_hz = 250,
    };
    doctor_world_set_status(world, NULL, 0);
    doctor_world_set_limits(world, "1024                 524288", "8388608              8388608");
    fake_host_set_file(&world->host, "proc/self/uid_map", "         0          0 4294967295\n");
    fake_host_set_file(&world->host, "proc/self/mounts",
                       "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n");
    fake_host_set_file(&world->host, "proc/sys/kernel/perf_event_paranoid", "3\n");
    fake_host_set_file(&world->host, "proc/sys/kernel/perf_event_mlock_kb", "516\n");
    fake_host_set_file(&world->host, "proc/sys/kernel/yama/ptrace_scope", "0\n");
    fake_host_set_file(&world->host, "proc/sys/kernel/numa_balancing", "0\n");
}

void doctor_world_deinit(struct doctor_world *world)
{
    doctor_report_deinit(&world->report);
    fake_host_deinit(&world->host);
}

void doctor_world_run(struct doctor_world *world)
{
    doctor_report_deinit(&world->report);
    fake_host_clear_log(&world->host);
    assert_int_equal(doctor_run(&world->report, &world->options), 0);
}

const struct doctor_check *doctor_world_find(const struct doctor_world *world, const char *name)
{
    for (size_t i = 0; i < world->report.n_items; i++)
        if (!strcmp(world->report.items[i].name, name))
            return &world->report.items[i];
    return NULL;
}

void doctor_world_expect_text(const char *what, const char *text, const char *part)
{
    if (part ? !strstr(text, part) : text[0])
        fail_msg("%s: \"%s\" has not \"%s\"", what, text, part ? part : "(nothing)");
}

void doctor_world_expect(const struct doctor_world *world, const char *name, const char *state,
                         const char *fix)
{
    const struct doctor_check *check = doctor_world_find(world, name);

    if (!check)
        fail_msg("no line %s", name);
    if (strcmp(check->state, state) != 0)
        fail_msg("%s is %s, not %s (%s)", name, check->state, state, check->fix);
    doctor_world_expect_text(name, check->fix, fix);
}
