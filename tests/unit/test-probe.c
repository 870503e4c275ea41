/*
 * Probes on the running kernel: what they say agrees with what a plain call says, and a call that
 * is made to fail is told with its errno. And where cgroups are mounted.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/doctor.h"
#include "sample/probe.h"
#include "sample/scope/cgroup_mounts.h"
#include "util/array.h"

static int probe(enum probe_call call)
{
    struct probe live = probe_live();

    return live.ops->call(live.self, call);
}

/* Runs function(argument) in a process of its own: what it does to itself ends with it. */
static int run_apart(int (*function)(int argument), int argument)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(function(argument));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* From now on that system call fails with EPERM. Return: 0 or an errno. */
static int forbid(int call)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = ARRAY_LENGTH(filter), .filter = filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return errno;
    return 0;
}

static const struct {
    enum probe_call call;
    int syscall;
} filtered[] = {
    {PROBE_PERF_THREAD, SYS_perf_event_open},  {PROBE_PERF_CPU, SYS_perf_event_open},
    {PROBE_READ_MEMORY, SYS_process_vm_readv}, {PROBE_QUERY_PAGES, SYS_move_pages},
    {PROBE_MOVE_PAGES, SYS_move_pages},        {PROBE_PIDFD, SYS_pidfd_open},
};

enum {
    NO_FILTER = 99
};

static int probe_filtered(int at)
{
    return forbid(filtered[at].syscall) ? NO_FILTER : probe(filtered[at].call);
}

static void a_seccomp_filter_shows_as_eperm(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(filtered); i++) {
        int r = run_apart(probe_filtered, (int)i);

        if (r == NO_FILTER) {
            print_message("no seccomp filters here: not tried\n");
            skip();
        }
        assert_int_equal(r, EPERM);
    }
}

static int probe_without_files(int call)
{
    struct rlimit limit = {0, 0};

    return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? NO_FILTER : probe((enum probe_call)call);
}

static void a_full_file_table_shows_as_emfile(void **state)
{
    (void)state;
    if (probe(PROBE_PERF_THREAD)) {
        print_message("perf events are not allowed here: not tried\n");
        skip();
    }
    assert_int_equal(run_apart(probe_without_files, PROBE_PERF_THREAD), EMFILE);
    assert_int_equal(run_apart(probe_without_files, PROBE_NUMA_MAPS), EMFILE);
    assert_int_equal(run_apart(probe_without_files, PROBE_PAGE_FRAME), EMFILE);
}

static int probe_as_nobody(int call)
{
    if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
        return NO_FILTER;
    /* Otherwise /proc/self stays root's. */
    return prctl(PR_SET_DUMPABLE, 1) < 0 ? NO_FILTER : probe((enum probe_call)call);
}

static void nobody_is_shown_no_page_frames(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("as another user: not tried, needs root\n");
        skip();
    }
    assert_int_equal(run_apart(probe_as_nobody, PROBE_PAGE_FRAME), EPERM);
    assert_int_equal(run_apart(probe_as_nobody, PROBE_READ_MEMORY), probe(PROBE_READ_MEMORY));
    assert_int_equal(run_apart(probe_as_nobody, PROBE_MOVE_PAGES), probe(PROBE_MOVE_PAGES));
}

static void probes_agree_with_the_files_that_are_there(void **state)
{
    (void)state;
    assert_int_equal(probe(PROBE_NUMA_MAPS) == ENOENT, access("/proc/self/numa_maps", F_OK) < 0);
    assert_int_equal(probe(PROBE_IDLE_BITMAP) == ENOENT,
                     access("/sys/kernel/mm/page_idle/bitmap", F_OK) < 0);
    assert_int_equal(probe(PROBE_MOVE_PAGES), probe(PROBE_QUERY_PAGES));
    assert_int_equal(probe(PROBE_PIDFD), 0);
}

static void probes_leave_no_file_open(void **state)
{
    int before = dup(0), after;

    (void)state;
    close(before);
    for (enum probe_call call = 0; call < PROBE_CALL_COUNT; call++)
        (void)probe(call);
    after = dup(0);
    close(after);
    assert_int_equal(after, before);
}

/* The real table on the real machine, so that each constructor is made and freed. */
static void the_doctor_examines_this_machine(void **state)
{
    CLEANUP(topology_freep) struct topology *topology = NULL;
    struct host host = host_live();
    struct doctor_report report = {.items = NULL};
    struct doctor_options options = {.probe = probe_live(), .host = &host, .rate_hz = 250};

    (void)state;
    options.kinds = source_kinds(&options.n_kinds);
    assert_true(options.n_kinds > 0);
    assert_int_equal(topology_new(&topology, "/"), 0);
    options.topology = topology;
    assert_int_equal(doctor_run(&report, &options), 0);
    assert_true(report.n_items > options.n_kinds + PROBE_CALL_COUNT);
    for (size_t i = 0; i < report.n_items; i++)
        if (!strcmp(report.items[i].state, "missing") && strcmp(report.items[i].group, "verdict"))
            assert_true(report.items[i].fix[0] || report.items[i].error[0]);
    doctor_report_deinit(&report);
}

#define V2 "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate 0 0\n"
#define V1_PERF "cgroup /cg/perf\\040event cgroup rw,perf_event 0 0\n"
#define V1_SYSTEMD "cgroup /cg/systemd cgroup rw,xattr,name=systemd 0 0\n"

static const struct {
    const char *what, *mounts, *perf, *cgroup, *path;
    unsigned n_v1;
} mount_cases[] = {
    {"v2 alone", "proc /proc proc rw 0 0\n" V2, "/sys/fs/cgroup", "0::/system.slice/a.service\n",
     "/system.slice/a.service", 0},
    {"a v1 perf_event takes it, blanks are octal", V2 V1_PERF, "/cg/perf event",
     "4:cpu:/x\n3:perf_event:/a:b\n0::/y\n", "/a:b", 1},
    {"perf_event beside another controller", V2 "cgroup /cg/x cgroup rw,cpu,perf_event 0 0\n",
     "/cg/x", "3:cpu,perf_event:/a\n0::/y\n", "/a", 1},
    {"names that only look alike", V2 "cgroup /cg/x cgroup rw,perf_event2,name=perf_event 0 0\n",
     "/sys/fs/cgroup", "3:perf_event2:/a\n0::/y\n", "/y", 0},
    {"systemd's own hierarchy has no controller", V1_SYSTEMD, "", "1:name=systemd:/a\n", "/", 0},
    {"two mounts: the first", "cgroup2 /a cgroup2 rw 0 0\ncgroup2 /b cgroup2 rw 0 0\n", "/a",
     "0::/\n", "/", 0},
    {"a device of that name is none", "cgroup2 /a tmpfs rw 0 0\n", "", "", "/", 0},
    {"a cut line", "cgroup2 /a\ncgroup2 /b cgroup2 rw 0 0", "", "0::", "/", 0},
    {"paths begin with a slash", V2, "/sys/fs/cgroup", "0::a\n0::\n", "/", 0},
    {"nothing", "", "", "garbage\n:\n0:\n", "/", 0},
};

static void cgroup_mounts_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(mount_cases); i++) {
        struct cgroup_mounts mounts;
        char path[64];

        cgroup_mounts_parse(&mounts, mount_cases[i].mounts);
        cgroup_mounts_path(&mounts, mount_cases[i].cgroup, path, sizeof path);
        if (strcmp(cgroup_mounts_perf(&mounts), mount_cases[i].perf) ||
            strcmp(path, mount_cases[i].path) || mounts.n_v1 != mount_cases[i].n_v1)
            fail_msg("%s: %s, %s, %u", mount_cases[i].what, cgroup_mounts_perf(&mounts), path,
                     mounts.n_v1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seccomp_filter_shows_as_eperm),
        cmocka_unit_test(a_full_file_table_shows_as_emfile),
        cmocka_unit_test(nobody_is_shown_no_page_frames),
        cmocka_unit_test(probes_agree_with_the_files_that_are_there),
        cmocka_unit_test(probes_leave_no_file_open),
        cmocka_unit_test(the_doctor_examines_this_machine),
        cmocka_unit_test(cgroup_mounts_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
