/*
 * Calls, tried on this process itself. Its own memory needs no capability: where such a call is
 * refused, something beside the permissions forbids it, in practice a seccomp filter. Perf events
 * need permissions as well, so there the two are told apart by what this process has.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <string.h>

#include "report/doctor_facts.h"
#include "util/array.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* Linux 5.8 */
#endif

#define NO_FIX "no fix is known"

struct call_line {
    enum probe_call call;
    const char *name, *what, *detail;
    const char *option;  /* of the kernel, whose absence gives ENOSYS or the like */
    const char *syscall; /* as filters name it; NULL: a file */
    const char *docker;  /* the capability with which Docker's default filter allows it */
    bool is_perf;
    long paranoid; /* highest kernel.perf_event_paranoid that allows it to everybody */
};

static const struct call_line lines[] = {
    {PROBE_PERF_THREAD, "perf per thread", "perf_event_open (cpu-clock, own thread)",
     "samples of single threads", "CONFIG_PERF_EVENTS", "perf_event_open", "PERFMON", true, 2},
    {PROBE_PERF_CPU, "perf per CPU", "perf_event_open (cpu-clock, one CPU)",
     "samples of all that runs on a CPU", "CONFIG_PERF_EVENTS", "perf_event_open", "PERFMON", true,
     0},
    {PROBE_PERF_CGROUP, "perf per cgroup", "perf_event_open (cpu-clock, own cgroup)",
     "samples of the targets' cgroups only", "CONFIG_CGROUP_PERF", "perf_event_open", "PERFMON",
     true, 0},
    {PROBE_READ_MEMORY, "process_vm_readv", "process_vm_readv (own page)",
     "reads the instructions that a sample interrupted", "CONFIG_CROSS_MEMORY_ATTACH",
     "process_vm_readv", "SYS_PTRACE", false, 0},
    {PROBE_QUERY_PAGES, "move_pages query", "move_pages (own page, nodes NULL)",
     "tells on which node a page lies", "CONFIG_MIGRATION and CONFIG_NUMA", "move_pages",
     "SYS_NICE", false, 0},
    {PROBE_MOVE_PAGES, "move_pages", "move_pages (own page to its node)", "moves pages",
     "CONFIG_MIGRATION and CONFIG_NUMA", "move_pages", "SYS_NICE", false, 0},
    {PROBE_SCAN_PAGES, "PAGEMAP_SCAN", "ioctl PAGEMAP_SCAN (own page)",
     "tells which pages are there and huge; without it pages that are absent, and each part of a "
     "huge page, are asked for too, and sparse memory is seen less well",
     "Linux 6.7", NULL, NULL, false, 0},
    {PROBE_NUMA_MAPS, "numa_maps", "read /proc/self/numa_maps",
     "memory policies, and how much lies on each node", "CONFIG_NUMA", NULL, NULL, false, 0},
    {PROBE_PAGE_FRAME, "page frames", "read /proc/self/pagemap",
     "page frame numbers, for idle_page", "CONFIG_PROC_PAGE_MONITOR", NULL, NULL, false, 0},
    {PROBE_PIDFD, "pidfd_open", "pidfd_open (own pid)",
     "that a pid is still the same process when it is acted on", "Linux 5.3", "pidfd_open", NULL,
     false, 0},
};

static bool may_perf(const struct doctor_facts *facts)
{
    return doctor_has(facts, CAP_SYS_ADMIN) || doctor_has(facts, CAP_PERFMON);
}

/* Who or what says no although the capabilities would do. */
static void fix_filter(struct doctor_check *check, const struct doctor_facts *facts,
                       const struct call_line *line)
{
    static const char *const who[] = {
        [DOCTOR_SECCOMP_UNKNOWN] = "a seccomp filter or a security module forbids it",
        [DOCTOR_SECCOMP_OFF] = "a security module (SELinux, AppArmor, lockdown) forbids it",
        [DOCTOR_SECCOMP_ON] = "a seccomp filter is on and forbids it",
    };

    if (!line->syscall)
        snprintf(check->fix, sizeof check->fix, "a security module or a sandbox hides the file");
    else
        snprintf(check->fix, sizeof check->fix,
                 "%s: allow %s (SystemCallFilter= in the unit; in a container its seccomp "
                 "profile%s%s)",
                 who[facts->seccomp], line->syscall, line->docker ? ", with Docker --cap-add " : "",
                 line->docker ? line->docker : "");
}

static void fix_perf_permission(struct doctor_check *check, const struct doctor_facts *facts,
                                const struct call_line *line)
{
    const char *filter =
        facts->seccomp == DOCTOR_SECCOMP_OFF ? "" : "; or a seccomp filter forbids perf_event_open";

    if (doctor_has(facts, CAP_SYS_ADMIN) && !facts->user_namespace)
        fix_filter(check, facts, line);
    else if (facts->paranoid.known && facts->paranoid.value > 2)
        snprintf(check->fix, sizeof check->fix,
                 "give CAP_SYS_ADMIN (kernel.perf_event_paranoid is %ld, where CAP_PERFMON is not "
                 "enough), or sysctl kernel.perf_event_paranoid=2 and CAP_PERFMON%s",
                 facts->paranoid.value, filter);
    else if (may_perf(facts) && !facts->user_namespace)
        fix_filter(check, facts, line);
    else
        snprintf(check->fix, sizeof check->fix,
                 "give CAP_PERFMON (before Linux 5.8 CAP_SYS_ADMIN)%s, or sysctl "
                 "kernel.perf_event_paranoid=%ld%s",
                 facts->user_namespace ? " in the initial user namespace" : "", line->paranoid,
                 filter);
}

static void fix_permission(struct doctor_check *check, const struct doctor_facts *facts,
                           const struct call_line *line)
{
    if (line->call == PROBE_PAGE_FRAME &&
        (facts->user_namespace || !doctor_has(facts, CAP_SYS_ADMIN)))
        snprintf(check->fix, sizeof check->fix,
                 "give CAP_SYS_ADMIN%s: without it the kernel hides the numbers",
                 facts->user_namespace ? " in the initial user namespace" : "");
    else if (line->is_perf)
        fix_perf_permission(check, facts, line);
    else
        fix_filter(check, facts, line);
}

/* The cgroup is there, but perf does not know it: cgroup v2 brings perf along with any controller.
 */
static void fix_unknown_cgroup(struct doctor_check *check)
{
    snprintf(check->fix, sizeof check->fix,
             "enable a controller below the root (systemd does): echo +cpu "
             ">/sys/fs/cgroup/cgroup.subtree_control; or use a kernel with CONFIG_CGROUP_PERF");
}

/* A filter may answer ENOSYS too. */
static void fix_absent(struct doctor_check *check, const struct doctor_facts *facts,
                       const struct call_line *line)
{
    bool filter = line->syscall && facts->seccomp != DOCTOR_SECCOMP_OFF;

    if (!facts->proc && (!line->syscall || line->call == PROBE_PERF_CGROUP))
        snprintf(check->fix, sizeof check->fix, "mount /proc");
    else if (line->call == PROBE_PERF_CGROUP && !cgroup_mounts_perf(&facts->mounts)[0])
        snprintf(check->fix, sizeof check->fix,
                 "no cgroup hierarchy for perf is mounted: mount -t cgroup2 none /sys/fs/cgroup");
    else if (line->call == PROBE_PERF_CGROUP && facts->errors[line->call] == ENOENT)
        fix_unknown_cgroup(check);
    else
        snprintf(check->fix, sizeof check->fix, "use a kernel with %s%s%s%s", line->option,
                 filter ? ", or allow " : "", filter ? line->syscall : "",
                 filter ? " in the seccomp filter" : "");
}

static void fix_invalid(struct doctor_check *check, const struct doctor_facts *facts,
                        const struct call_line *line)
{
    /* perf_cgroup_connect is a stub that answers EINVAL without the option. */
    if (line->call == PROBE_PERF_CGROUP && facts->errors[PROBE_PERF_CPU] == 0)
        fix_absent(check, facts, line);
    else
        snprintf(check->fix, sizeof check->fix, NO_FIX);
}

static void fix_files(struct doctor_check *check, const struct doctor_facts *facts,
                      const struct call_line *line)
{
    (void)line;
    snprintf(check->fix, sizeof check->fix,
             "raise RLIMIT_NOFILE (LimitNOFILE= in the unit, ulimit -n) to %" PRIu64,
             doctor_files_wanted(facts));
}

static void fix_file_max(struct doctor_check *check, const struct doctor_facts *facts,
                         const struct call_line *line)
{
    (void)facts, (void)line;
    snprintf(check->fix, sizeof check->fix, "raise the sysctl fs.file-max");
}

static const struct {
    int error;
    void (*fix)(struct doctor_check *check, const struct doctor_facts *facts,
                const struct call_line *line);
} fixes[] = {
    {EPERM, fix_permission}, {EACCES, fix_permission}, {ENOSYS, fix_absent},
    {ENOENT, fix_absent},    {EOPNOTSUPP, fix_absent}, {ENOTTY, fix_absent},
    {EINVAL, fix_invalid},   {EMFILE, fix_files},      {ENFILE, fix_file_max},
};

static void judge(struct doctor_check *check, const struct doctor_facts *facts,
                  const struct call_line *line)
{
    int error = facts->errors[line->call];

    snprintf(check->detail, sizeof check->detail, "%s", line->detail);
    snprintf(check->call, sizeof check->call, "%s", line->what);
    if (!error)
        return;
    doctor_set_error(check, line->what, error);
    snprintf(check->fix, sizeof check->fix, NO_FIX);
    for (size_t i = 0; i < ARRAY_LENGTH(fixes); i++)
        if (fixes[i].error == error)
            fixes[i].fix(check, facts, line);
}

int doctor_add_calls(struct doctor_report *report, const struct doctor_facts *facts)
{
    for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
        struct doctor_check *check = doctor_add(report, "call", lines[i].name);

        if (!check)
            return -ENOMEM;
        judge(check, facts, &lines[i]);
    }
    return 0;
}
