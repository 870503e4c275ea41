/*
 * The doctor's judgement, on a machine of which every fact is what the test says.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/checkup.h"
#include "doctor_world.h"
#include "util/array.h"
#include "util/nsec.h"
#include "util/procfs.h"

static void where_all_is_well_every_line_is_ok_and_unique(void **state)
{
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    doctor_world_run(&world);
    assert_true(world.report.n_items > 25);
    for (size_t i = 0; i < world.report.n_items; i++) {
        const struct doctor_check *check = &world.report.items[i];

        doctor_world_expect(&world, check->name, "ok", NULL);
        assert_ptr_equal(doctor_world_find(&world, check->name), check);
        assert_true(check->detail[0]);
        assert_string_equal(check->error, "");
    }
    assert_true(doctor_says_possible(&world.report));
    assert_string_equal(doctor_world_find(&world, "balancing")->detail,
                        "2 memory nodes, whose sees who accesses, moving works");
    doctor_world_deinit(&world);
}

static void kernel_balancing_is_decoded_as_a_mask(void **state)
{
    static const struct {
        const char *text, *state, *detail, *fix;
    } cases[] = {
        {"0\n", "ok", "0: off", NULL},
        {"1\n", "limited", "1: automatic balancing", "kernel.numa_balancing=0"},
        {"2\n", "ok", "2: memory tiering", NULL},
        {"3\n", "limited", "automatic balancing (1) and memory tiering (2)",
         "kernel.numa_balancing=2"},
        {"4\n", "ok", "the other bits are unknown", NULL},
        {"garbage\n", "ok", "not there", NULL},
    };
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        fake_host_set_file(&world.host, "proc/sys/kernel/numa_balancing", cases[i].text);
        doctor_world_run(&world);
        doctor_world_expect(&world, "kernel.numa_balancing", cases[i].state, cases[i].fix);
        doctor_world_expect_text(cases[i].text,
                                 doctor_world_find(&world, "kernel.numa_balancing")->detail,
                                 cases[i].detail);
    }
    doctor_world_deinit(&world);
}

static void kernel_options_are_inferred(void **state)
{
    static const struct {
        enum probe_call call;
        int error, seccomp;
        const char *name, *state, *fix;
    } cases[] = {
        {PROBE_NUMA_MAPS, ENOENT, 0, "CONFIG_NUMA", "missing", "CONFIG_NUMA=y"},
        {PROBE_NUMA_MAPS, EACCES, 0, "CONFIG_NUMA", "limited", NULL},
        {PROBE_MOVE_PAGES, ENOSYS, 0, "CONFIG_MIGRATION", "missing", "CONFIG_MIGRATION=y"},
        {PROBE_MOVE_PAGES, ENOSYS, 2, "CONFIG_MIGRATION", "limited", NULL}, /* a filter's */
        {PROBE_MOVE_PAGES, EPERM, 2, "CONFIG_MIGRATION", "limited", NULL},
        {PROBE_MOVE_PAGES, EBUSY, 0, "CONFIG_MIGRATION", "ok", NULL},
        {PROBE_SOFT_DIRTY, EOPNOTSUPP, 0, "CONFIG_MEM_SOFT_DIRTY", "missing",
         "CONFIG_MEM_SOFT_DIRTY=y"},
        {PROBE_SOFT_DIRTY, EPERM, 0, "CONFIG_MEM_SOFT_DIRTY", "limited", NULL},
        {PROBE_IDLE_BITMAP, ENOENT, 0, "CONFIG_IDLE_PAGE_TRACKING", "missing",
         "CONFIG_IDLE_PAGE_TRACKING=y"},
        {PROBE_IDLE_BITMAP, EACCES, 0, "CONFIG_IDLE_PAGE_TRACKING", "ok", NULL},
        {PROBE_IDLE_BITMAP, EROFS, 0, "CONFIG_IDLE_PAGE_TRACKING", "ok", NULL},
        {PROBE_PERF_CGROUP, EINVAL, 0, "CONFIG_CGROUP_PERF", "missing", "CONFIG_CGROUP_PERF=y"},
        {PROBE_PERF_CGROUP, EACCES, 0, "CONFIG_CGROUP_PERF", "limited", NULL},
        {PROBE_PERF_THREAD, ENOSYS, 0, "CONFIG_PERF_EVENTS", "ok", NULL}, /* the sysctl is there */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct doctor_world world;

        doctor_world_init(&world);
        world.errors[cases[i].call] = cases[i].error;
        doctor_world_set_status(&world, NULL, cases[i].seccomp);
        doctor_world_run(&world);
        doctor_world_expect(&world, cases[i].name, cases[i].state, cases[i].fix);
        doctor_world_deinit(&world);
    }
}

static void cgroups_are_summed_up(void **state)
{
    static const struct {
        const char *mounts, *state, *detail, *fix;
    } cases[] = {
        {"cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "ok", "v2 at /sys/fs/cgroup; perf events use",
         NULL},
        {"cgroup /cg/cpu cgroup rw,cpu 0 0\ncgroup2 /cg/u cgroup2 rw 0 0\n", "ok",
         "v2 at /cg/u and 1 v1 hierarchy; perf events use v2", NULL},
        {"cgroup /cg/perf cgroup rw,perf_event 0 0\ncgroup2 /cg/u cgroup2 rw 0 0\n", "ok",
         "v2 at /cg/u and 1 v1 hierarchy; perf events use v1, at /cg/perf", NULL},
        {"cgroup /cg/cpu cgroup rw,cpu 0 0\ncgroup /cg/m cgroup rw,memory 0 0\n", "limited",
         "2 v1 hierarchies; none that perf knows", "mount -t cgroup2"},
        {"proc /proc proc rw 0 0\n", "limited", "none mounted", "mount -t cgroup2"},
    };
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        fake_host_set_file(&world.host, "proc/self/mounts", cases[i].mounts);
        doctor_world_run(&world);
        doctor_world_expect(&world, "cgroups", cases[i].state, cases[i].fix);
        doctor_world_expect_text(cases[i].mounts, doctor_world_find(&world, "cgroups")->detail,
                                 cases[i].detail);
    }
    doctor_world_deinit(&world);
}

static void odd_nodes_and_isolated_cpus_are_told(void **state)
{
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    world.nodes[1].has_memory = false;
    world.nodes[3] =
        (struct node){.online = true, .has_memory = true, .total_bytes = UINT64_C(64) << 30};
    world.distances[1] = 31;
    world.distances[3] = 255;
    world.cpu_isolated[2] = world.cpu_isolated[3] = world.cpu_isolated[7] = true;
    doctor_world_run(&world);
    assert_string_equal(doctor_world_find(&world, "nodes")->detail,
                        "2 with memory; node 0: 1 GiB and 4 CPUs; node 1: no memory and 4 CPUs; "
                        "node 3: 64 GiB without CPUs");
    assert_string_equal(doctor_world_find(&world, "distances")->detail,
                        "0-1 31 (back 21), 0-3 255 (unreachable) (back 0), 1-3 0");
    assert_string_equal(doctor_world_find(&world, "CPUs")->detail,
                        "8 online; not sampled, isolated: 2-3,7");
    doctor_world_deinit(&world);
}

static void a_large_machine_is_cut_with_dots(void **state)
{
    enum {
        N = 64
    };
    struct node nodes[N];
    uint8_t distances[N * N];
    struct doctor_world world;
    const char *detail;

    (void)state;
    doctor_world_init(&world);
    for (int i = 0; i < N; i++)
        nodes[i] = (struct node){.online = true, .has_memory = true, .total_bytes = 1};
    memset(distances, 20, sizeof distances);
    world.topology.nodes = nodes;
    world.topology.distances = distances;
    world.topology.n_node_ids = N;
    doctor_world_run(&world);
    detail = doctor_world_find(&world, "distances")->detail;
    assert_int_equal(strlen(detail), sizeof((struct doctor_check *)NULL)->detail - 1);
    assert_string_equal(detail + strlen(detail) - 3, "...");
    doctor_world_deinit(&world);
}

static int make_unavailable(struct source *source, const struct source_options *options,
                            struct source_reason *reason)
{
    (void)source, (void)options;
    snprintf(reason->text, sizeof reason->text, "open of x: Permission denied: give CAP_X");
    return SOURCE_UNAVAILABLE;
}

static int make_broken(struct source *source, const struct source_options *options,
                       struct source_reason *reason)
{
    (void)source, (void)options, (void)reason;
    return -EMFILE;
}

static void a_source_that_fails_says_why(void **state)
{
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    world.kinds[1].make = make_unavailable;
    doctor_world_run(&world);
    doctor_world_expect(&world, "which", "missing", "open of x: Permission denied: give CAP_X");
    assert_string_equal(doctor_world_find(&world, "which")->blind, "threads");
    assert_true(doctor_says_possible(&world.report)); /* it did not see who anyway */
    world.kinds[1].make = make_broken;
    doctor_world_run(&world);
    doctor_world_expect(&world, "which", "missing", NULL);
    assert_string_equal(doctor_world_find(&world, "which")->error, "EMFILE");
    world.kinds[0].make = make_unavailable;
    doctor_world_run(&world);
    assert_false(doctor_says_possible(&world.report));
    doctor_world_deinit(&world);
}

/* Named after the bug: with --root the machine below it was judged, and said to be balanced. */
static void nothing_is_possible_below_another_root(void **state)
{
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    world.options.obstacle = "reading /x: nothing is sampled or moved";
    doctor_world_run(&world);
    assert_false(doctor_says_possible(&world.report));
    assert_string_equal(doctor_world_find(&world, "balancing")->detail, world.options.obstacle);
    doctor_world_deinit(&world);
}

static void the_verdict_names_each_thing_that_is_missing(void **state)
{
    static const struct {
        int n_nodes;
        bool sees;
        enum probe_call call;
        int error;
        const char *capabilities, *detail;
    } cases[] = {
        {1, true, 0, 0, NULL, "this machine has one memory node"},
        {2, false, 0, 0, NULL, "no source sees who accesses"},
        {2, true, PROBE_MOVE_PAGES, ENOSYS, NULL, "move_pages does not work"},
        {2, true, PROBE_NUMA_MAPS, EACCES, NULL,
         "numa_maps cannot be read, so memory policies are not known and nothing is moved"},
        {2, true, 0, 0, "SYS_NICE",
         "CAP_SYS_PTRACE is missing, so other users' memory cannot be read or moved"},
        {2, true, 0, 0, "SYS_PTRACE",
         "CAP_SYS_NICE is missing, so other users' memory cannot be moved"},
        {1, false, PROBE_MOVE_PAGES, EPERM, NULL,
         "this machine has one memory node; no source sees who accesses; move_pages does not work"},
        {1, true, PROBE_MOVE_PAGES, EPERM, NULL,
         "this machine has one memory node; move_pages does not work"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct doctor_world world;

        doctor_world_init(&world);
        world.topology.n_memory_nodes = cases[i].n_nodes;
        world.kinds[0].sees_who = cases[i].sees;
        world.errors[cases[i].call] = cases[i].error;
        doctor_world_set_status(&world, cases[i].capabilities, 0);
        doctor_world_run(&world);
        assert_false(doctor_says_possible(&world.report));
        assert_string_equal(doctor_world_find(&world, "balancing")->detail, cases[i].detail);
        assert_string_equal(world.report.items[world.report.n_items - 1].name, "balancing");
        doctor_world_deinit(&world);
    }
}

/* Where perf is refused and KVM is loaded, the verdict was that of a machine with a timer. */
static void the_verdict_tells_who_is_seen_only(void **state)
{
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    world.kinds[0].only = "virtual machines";
    doctor_world_run(&world);
    assert_true(doctor_says_possible(&world.report));
    doctor_world_expect_text("verdict", doctor_world_find(&world, "balancing")->detail,
                             "whose sees who accesses, only of virtual machines, moving works");
    doctor_world_deinit(&world);
}

static void a_kernel_without_perf_has_no_sysctl_for_it(void **state)
{
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    fake_host_set_result(&world.host, "proc/sys/kernel/perf_event_paranoid", PROCFS_GONE);
    world.errors[PROBE_PERF_THREAD] = world.errors[PROBE_PERF_CPU] = ENOSYS;
    doctor_world_run(&world);
    doctor_world_expect(&world, "kernel.perf_event_paranoid", "missing", "CONFIG_PERF_EVENTS");
    doctor_world_expect(&world, "CONFIG_PERF_EVENTS", "missing", "CONFIG_PERF_EVENTS=y");
    doctor_world_deinit(&world);
}

static void without_proc_nothing_is_claimed(void **state)
{
    static const char *const files[] = {
        "proc/self/status",
        "proc/self/limits",
        "proc/self/uid_map",
        "proc/self/mounts",
        "proc/sys/kernel/perf_event_paranoid",
        "proc/sys/kernel/perf_event_mlock_kb",
        "proc/sys/kernel/yama/ptrace_scope",
        "proc/sys/kernel/numa_balancing",
    };
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++)
        fake_host_set_result(&world.host, files[i], i % 2 ? PROCFS_GONE : PROCFS_DENIED);
    world.errors[PROBE_MOVE_PAGES] = EPERM;
    world.errors[PROBE_NUMA_MAPS] = world.errors[PROBE_SOFT_DIRTY] = ENOENT;
    world.errors[PROBE_PERF_CGROUP] = ENOENT;
    doctor_world_run(&world);
    doctor_world_expect(&world, "numa_maps", "missing", "mount /proc");
    doctor_world_expect(&world, "perf per cgroup", "missing", "mount /proc");
    doctor_world_expect(&world, "CONFIG_NUMA", "limited", NULL);
    doctor_world_expect(&world, "CONFIG_MEM_SOFT_DIRTY", "limited", NULL);
    doctor_world_expect(&world, "kernel.numa_balancing", "limited", NULL);
    doctor_world_expect(&world, "CAP_SYS_PTRACE", "limited", "mount /proc");
    doctor_world_expect(&world, "RLIMIT_NOFILE", "limited", "mount /proc");
    doctor_world_expect(&world, "RLIMIT_MEMLOCK", "limited", "mount /proc");
    doctor_world_expect(&world, "cgroups", "limited", "mount /proc");
    doctor_world_expect(&world, "kernel.perf_event_paranoid", "limited", NULL);
    doctor_world_expect(&world, "move_pages", "missing", "a seccomp filter or a security module");
    fake_host_set_result(&world.host, files[0], -ENOMEM);
    doctor_report_deinit(&world.report);
    assert_int_equal(doctor_run(&world.report, &world.options), -ENOMEM);
    doctor_world_deinit(&world);
}

static void describe_use(void *userdata, const char *source, char *text, size_t size)
{
    (void)userdata;
    if (!strcmp(source, "whose"))
        snprintf(text, size, "12 cgroups, 96 events");
}

static void the_text_has_one_safe_line_each(void **state)
{
    struct doctor_world world;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    (void)state;
    doctor_world_init(&world);
    world.options.describe = describe_use;
    world.errors[PROBE_MOVE_PAGES] = ENOSYS;
    doctor_world_run(&world);
    doctor_print(file, &world.report);
    fclose(file);
    assert_non_null(strstr(text,
                           "\n  ok       whose                       all; now: 12 cgroups, 96 "
                           "events\n                                       cannot see: nothing "
                           "\\x1b[31m\n"));
    assert_non_null(strstr(text, "\n  missing  move_pages                  moves pages; move_pages "
                                 "(own page to its node): Function not implemented (ENOSYS); to "
                                 "do: use a kernel with CONFIG_MIGRATION and CONFIG_NUMA\n"));
    assert_non_null(strstr(text, "\nBalancing is not possible: move_pages does not work\n"));
    assert_string_equal(strrchr(text, '\n'), "\n");
    free(text);
    doctor_world_deinit(&world);
}

static void the_daemon_looks_once_a_second(void **state)
{
    struct checkup checkup = {.made_nsec = 0};
    const struct doctor_report *report;
    struct doctor_world world;
    unsigned n_calls;

    (void)state;
    doctor_world_init(&world);
    assert_int_equal(checkup_report(&checkup, &world.options, 5 * NSEC_PER_SEC, &report), 0);
    n_calls = world.n_calls;
    assert_true(n_calls > 0);
    assert_int_equal(checkup_report(&checkup, &world.options, 6 * NSEC_PER_SEC - 1, &report), 0);
    assert_int_equal(world.n_calls, n_calls);
    assert_true(doctor_says_possible(report));
    world.errors[PROBE_MOVE_PAGES] = EPERM;
    assert_int_equal(checkup_report(&checkup, &world.options, 6 * NSEC_PER_SEC, &report), 0);
    assert_int_equal(world.n_calls, 2 * n_calls);
    assert_false(doctor_says_possible(report));
    checkup_deinit(&checkup);
    doctor_world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_all_is_well_every_line_is_ok_and_unique),
        cmocka_unit_test(kernel_balancing_is_decoded_as_a_mask),
        cmocka_unit_test(kernel_options_are_inferred),
        cmocka_unit_test(cgroups_are_summed_up),
        cmocka_unit_test(odd_nodes_and_isolated_cpus_are_told),
        cmocka_unit_test(a_large_machine_is_cut_with_dots),
        cmocka_unit_test(a_source_that_fails_says_why),
        cmocka_unit_test(nothing_is_possible_below_another_root),
        cmocka_unit_test(the_verdict_names_each_thing_that_is_missing),
        cmocka_unit_test(the_verdict_tells_who_is_seen_only),
        cmocka_unit_test(a_kernel_without_perf_has_no_sysctl_for_it),
        cmocka_unit_test(without_proc_nothing_is_claimed),
        cmocka_unit_test(the_text_has_one_safe_line_each),
        cmocka_unit_test(the_daemon_looks_once_a_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
