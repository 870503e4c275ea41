/*
 * The doctor on permissions: refused calls, capabilities, sysctls, limits.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "doctor_world.h"
#include "util/array.h"

struct call_case {
    const char *what;
    enum probe_call call;
    int error;
    const char *capabilities; /* NULL: all */
    int seccomp;
    const char *paranoid;
    const char *name, *errno_name, *fix;
};

static const struct call_case call_cases[] = {
    {"Debian's 3 does not take CAP_PERFMON", PROBE_PERF_CPU, EACCES, "PERFMON", 0, "3",
     "perf per CPU", "EACCES", "give CAP_SYS_ADMIN (kernel.perf_event_paranoid is 3"},
    {"nothing at 3", PROBE_PERF_THREAD, EACCES, "", 0, "3", "perf per thread", "EACCES",
     "give CAP_SYS_ADMIN (kernel.perf_event_paranoid is 3"},
    {"nothing at 2: CAP_PERFMON or 0", PROBE_PERF_CPU, EACCES, "", 0, "2", "perf per CPU", "EACCES",
     "give CAP_PERFMON (before Linux 5.8 CAP_SYS_ADMIN), or sysctl kernel.perf_event_paranoid=0"},
    {"own threads are allowed up to 2", PROBE_PERF_THREAD, EACCES, "", 0, "4", "perf per thread",
     "EACCES", "kernel.perf_event_paranoid=2"},
    {"nothing and a filter: both are named", PROBE_PERF_CPU, EPERM, "", 2, "2", "perf per CPU",
     "EPERM", "; or a seccomp filter forbids perf_event_open"},
    {"CAP_PERFMON at 2 does: a filter", PROBE_PERF_CPU, EPERM, "PERFMON", 2, "2", "perf per CPU",
     "EPERM", "a seccomp filter is on and forbids it: allow perf_event_open"},
    {"root at 3 with a filter", PROBE_PERF_CGROUP, EPERM, NULL, 2, "3", "perf per cgroup", "EPERM",
     "a seccomp filter is on and forbids it"},
    {"root at 3 without a filter", PROBE_PERF_CPU, EACCES, NULL, 0, "3", "perf per CPU", "EACCES",
     "a security module (SELinux, AppArmor, lockdown) forbids it"},
    {"no perf at all", PROBE_PERF_CPU, ENOSYS, NULL, 0, "2", "perf per CPU", "ENOSYS",
     "use a kernel with CONFIG_PERF_EVENTS"},
    {"ENOSYS may be a filter's", PROBE_PERF_CPU, ENOSYS, NULL, 2, "2", "perf per CPU", "ENOSYS",
     "use a kernel with CONFIG_PERF_EVENTS, or allow perf_event_open in the seccomp filter"},
    {"no cgroup events", PROBE_PERF_CGROUP, EINVAL, NULL, 0, "2", "perf per cgroup", "EINVAL",
     "use a kernel with CONFIG_CGROUP_PERF"},
    {"EINVAL of others has no fix", PROBE_PERF_CPU, EINVAL, NULL, 0, "2", "perf per CPU", "EINVAL",
     "no fix is known"},
    {"too many files (numatop T1)", PROBE_PERF_CPU, EMFILE, NULL, 0, "2", "perf per CPU", "EMFILE",
     "raise RLIMIT_NOFILE (LimitNOFILE= in the unit, ulimit -n) to 1280"},
    {"too many files of all", PROBE_PERF_CPU, ENFILE, NULL, 0, "2", "perf per CPU", "ENFILE",
     "fs.file-max"},
    {"Docker's filter with EPERM (numactl T12)", PROBE_MOVE_PAGES, EPERM, "", 2, "2", "move_pages",
     "EPERM",
     "allow move_pages (SystemCallFilter= in the unit; in a container its seccomp profile, "
     "with Docker --cap-add SYS_NICE)"},
    {"the query too (citus S7)", PROBE_QUERY_PAGES, EPERM, NULL, 2, "2", "move_pages query",
     "EPERM", "seccomp filter is on"},
    {"a kernel that cannot migrate", PROBE_MOVE_PAGES, ENOSYS, NULL, 0, "2", "move_pages", "ENOSYS",
     "use a kernel with CONFIG_MIGRATION and CONFIG_NUMA"},
    {"no memory reading", PROBE_READ_MEMORY, EPERM, NULL, 2, "2", "process_vm_readv", "EPERM",
     "--cap-add SYS_PTRACE"},
    {"no numa_maps", PROBE_NUMA_MAPS, ENOENT, NULL, 0, "2", "numa_maps", "ENOENT",
     "use a kernel with CONFIG_NUMA"},
    {"a hidden numa_maps", PROBE_NUMA_MAPS, EACCES, NULL, 0, "2", "numa_maps", "EACCES",
     "a security module or a sandbox hides the file"},
    {"page frames hidden (moby B089)", PROBE_PAGE_FRAME, EPERM, "SYS_NICE", 0, "2", "page frames",
     "EPERM", "give CAP_SYS_ADMIN: without it the kernel hides the numbers"},
    {"an old kernel", PROBE_PIDFD, ENOSYS, NULL, 0, "2", "pidfd_open", "ENOSYS",
     "use a kernel with Linux 5.3"},
    {"no PAGEMAP_SCAN before Linux 6.7", PROBE_SCAN_PAGES, ENOTTY, NULL, 0, "2", "PAGEMAP_SCAN",
     "ENOTTY", "use a kernel with Linux 6.7"},
    {"a hidden pagemap", PROBE_SCAN_PAGES, EACCES, NULL, 0, "2", "PAGEMAP_SCAN", "EACCES",
     "a security module or a sandbox hides the file"},
    {"what nobody expects", PROBE_MOVE_PAGES, EIO, NULL, 0, "2", "move_pages", "EIO",
     "no fix is known"},
};

static void a_refused_call_names_the_errno_and_what_to_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(call_cases); i++) {
        const struct call_case *it = &call_cases[i];
        const struct doctor_check *check;
        struct doctor_world world;

        doctor_world_init(&world);
        world.errors[it->call] = it->error;
        doctor_world_set_status(&world, it->capabilities, it->seccomp);
        fake_host_set_file(&world.host, "proc/sys/kernel/perf_event_paranoid", it->paranoid);
        doctor_world_run(&world);
        check = doctor_world_find(&world, it->name);
        assert_non_null(check);
        assert_string_equal(check->state, "missing");
        doctor_world_expect_text(it->what, check->error, it->errno_name);
        doctor_world_expect_text(it->what, check->fix, it->fix);
        assert_true(check->call[0]);
        doctor_world_deinit(&world);
    }
}

static void without_a_filter_none_is_blamed(void **state)
{
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    doctor_world_set_status(&world, "", 0);
    world.errors[PROBE_PERF_CPU] = EACCES;
    doctor_world_run(&world);
    assert_null(strstr(doctor_world_find(&world, "perf per CPU")->fix, "seccomp"));
    doctor_world_deinit(&world);
}

static void each_missing_capability_is_named(void **state)
{
    static const struct {
        const char *capabilities, *name, *state, *fix;
    } cases[] = {
        {"SYS_NICE", "CAP_SYS_PTRACE", "missing", "CapabilityBoundingSet=CAP_SYS_PTRACE"},
        {"SYS_PTRACE", "CAP_SYS_NICE", "missing", "CapabilityBoundingSet=CAP_SYS_NICE"},
        {"SYS_PTRACE", "CAP_SYS_ADMIN", "missing", "CapabilityBoundingSet=CAP_SYS_ADMIN"},
        {"SYS_PTRACE", "CAP_PERFMON", "missing", "CapabilityBoundingSet=CAP_PERFMON"},
        {"SYS_ADMIN", "CAP_PERFMON", "ok", NULL}, /* stands in */
        {"SYS_ADMIN", "CAP_DAC_READ_SEARCH", "missing", "CAP_DAC_READ_SEARCH"},
        {"DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "ok", NULL}, /* stands in */
        {"DAC_READ_SEARCH", "CAP_DAC_OVERRIDE", "missing", "CAP_DAC_OVERRIDE"},
        {"SYS_ADMIN", "CAP_IPC_LOCK", "missing", "CAP_IPC_LOCK"},
    };
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        doctor_world_set_status(&world, cases[i].capabilities, 0);
        doctor_world_run(&world);
        doctor_world_expect(&world, cases[i].name, cases[i].state, cases[i].fix);
    }
    doctor_world_deinit(&world);
}

static void perfmon_is_limited_where_the_kernel_ignores_it(void **state)
{
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    doctor_world_set_status(&world, "PERFMON", 0);
    doctor_world_run(&world); /* a kernel that takes it at 3 */
    doctor_world_expect(&world, "CAP_PERFMON", "ok", NULL);
    doctor_world_expect(&world, "kernel.perf_event_paranoid", "ok", NULL);
    world.errors[PROBE_PERF_CPU] = EACCES;
    doctor_world_run(&world);
    doctor_world_expect(&world, "CAP_PERFMON", "limited", "kernel.perf_event_paranoid=2");
    doctor_world_expect(&world, "kernel.perf_event_paranoid", "limited", "perf per CPU");
    doctor_world_deinit(&world);
}

static void yama_is_told_only_where_it_matters(void **state)
{
    static const struct {
        const char *scope, *capabilities, *state; /* NULL: no line */
    } cases[] = {
        {"0", "", NULL},      {"1", "SYS_PTRACE", NULL},    {"2", "SYS_PTRACE", NULL},
        {"1", "", "limited"}, {"2", "SYS_NICE", "limited"}, {"3", "SYS_PTRACE", "missing"},
        {"3", "", "missing"},
    };
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct doctor_check *check;

        fake_host_set_file(&world.host, "proc/sys/kernel/yama/ptrace_scope", cases[i].scope);
        doctor_world_set_status(&world, cases[i].capabilities, 0);
        doctor_world_run(&world);
        check = doctor_world_find(&world, "kernel.yama.ptrace_scope");
        assert_int_equal(check != NULL, cases[i].state != NULL);
        if (check)
            assert_string_equal(check->state, cases[i].state);
    }
    doctor_world_deinit(&world);
}

/* 4 events on 8 CPUs: 256 + 32 = 288 files for one cgroup, 256 + 1024 = 1280 for 32. */
static void limits_are_judged_by_what_is_needed(void **state)
{
    static const struct {
        const char *files, *locked, *capabilities, *name, *state, *fix;
    } cases[] = {
        {"64  64", "0 0", NULL, "RLIMIT_NOFILE", "missing", "to 1280"},
        {"64  287", "0 0", NULL, "RLIMIT_NOFILE", "missing", "to 1280"},
        {"64  288", "0 0", NULL, "RLIMIT_NOFILE", "limited", "to 1280"},
        {"64  1279", "0 0", NULL, "RLIMIT_NOFILE", "limited", "to 1280"},
        {"64  1280", "0 0", NULL, "RLIMIT_NOFILE", "ok", NULL}, /* soft is raised by numabd */
        {"64  unlimited", "0 0", NULL, "RLIMIT_NOFILE", "ok", NULL},
        {"64  64", "0 0", "SYS_ADMIN", "RLIMIT_MEMLOCK", "ok", NULL}, /* 258 < 516 KiB a CPU */
    };
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        doctor_world_set_limits(&world, cases[i].files, cases[i].locked);
        doctor_world_set_status(&world, cases[i].capabilities, 0);
        doctor_world_run(&world);
        doctor_world_expect(&world, cases[i].name, cases[i].state, cases[i].fix);
    }
    doctor_world_deinit(&world);
}

/* At 10 KiB a CPU two sources take 2 x 8 x 8 KiB; 48 KiB = 49152 bytes are left to the limit. */
static void rings_beyond_the_sysctl_count_against_the_limit(void **state)
{
    static const struct {
        const char *locked, *capabilities, *state, *fix;
    } cases[] = {
        {"49151 unlimited", "SYS_ADMIN", "missing",
         "mlock_kb=516, or raise it (LimitMEMLOCK= in the unit, ulimit -l) to 48 KiB"},
        {"49152 49152", "SYS_ADMIN", "ok", NULL},
        {"unlimited unlimited", "SYS_ADMIN", "ok", NULL},
        {"0 0", "IPC_LOCK", "ok", NULL},
    };
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    fake_host_set_file(&world.host, "proc/sys/kernel/perf_event_mlock_kb", "10\n");
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        doctor_world_set_limits(&world, "64 unlimited", cases[i].locked);
        doctor_world_set_status(&world, cases[i].capabilities, 0);
        doctor_world_run(&world);
        doctor_world_expect(&world, "RLIMIT_MEMLOCK", cases[i].state, cases[i].fix);
    }
    doctor_world_deinit(&world);
}

static void a_user_namespace_limits_its_capabilities(void **state)
{
    struct doctor_world world;

    (void)state;
    doctor_world_init(&world);
    fake_host_set_file(&world.host, "proc/self/uid_map", "         0     100000      65536\n");
    world.errors[PROBE_PERF_CPU] = EACCES;
    world.errors[PROBE_PAGE_FRAME] = EPERM;
    fake_host_set_file(&world.host, "proc/sys/kernel/perf_event_paranoid", "2\n");
    doctor_world_run(&world);
    doctor_world_expect(&world, "user namespace", "limited", "on the host");
    doctor_world_expect(&world, "perf per CPU", "missing", "in the initial user namespace");
    doctor_world_expect(&world, "page frames", "missing", "in the initial user namespace");
    fake_host_set_file(&world.host, "proc/self/uid_map", "         0          0      65536\n");
    doctor_world_run(&world);
    doctor_world_expect(&world, "user namespace", "limited", "on the host");
    doctor_world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_call_names_the_errno_and_what_to_change),
        cmocka_unit_test(without_a_filter_none_is_blamed),
        cmocka_unit_test(each_missing_capability_is_named),
        cmocka_unit_test(perfmon_is_limited_where_the_kernel_ignores_it),
        cmocka_unit_test(yama_is_told_only_where_it_matters),
        cmocka_unit_test(limits_are_judged_by_what_is_needed),
        cmocka_unit_test(rings_beyond_the_sysctl_count_against_the_limit),
        cmocka_unit_test(a_user_namespace_limits_its_capabilities),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
