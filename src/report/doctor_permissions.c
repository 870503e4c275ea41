/*
 * Permissions: capabilities and the sysctls that take their place. What is allowed on our own
 * memory says nothing about that of others, so these are judged by what is set.
 */
#include <errno.h>
#include <linux/capability.h>

#include "report/doctor_facts.h"
#include "util/array.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* Linux 5.8 */
#endif

#define NO_CAPABILITY 64 /* above all there are */

struct capability_line {
    unsigned capability, stand_in; /* which the kernel takes instead, or NO_CAPABILITY */
    const char *name, *stand_in_name, *detail;
};

static const struct capability_line capabilities[] = {
    {CAP_SYS_PTRACE, NO_CAPABILITY, "CAP_SYS_PTRACE", "",
     "maps, numa_maps, code bytes and pages of other users' processes; nothing works without"},
    {CAP_SYS_NICE, NO_CAPABILITY, "CAP_SYS_NICE", "",
     "moving pages of other users, beyond a process's own nodes and of shared memory; affinities"},
    {CAP_SYS_ADMIN, NO_CAPABILITY, "CAP_SYS_ADMIN", "",
     "page frame numbers (idle_page), perf events where kernel.perf_event_paranoid is above 2"},
    {CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON", "CAP_SYS_ADMIN",
     "perf events of other users' processes"},
    {CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "CAP_DAC_READ_SEARCH", "CAP_DAC_OVERRIDE",
     "/proc/PID files that only their owner may read (pagemap, fd, auxv)"},
    {CAP_DAC_OVERRIDE, NO_CAPABILITY, "CAP_DAC_OVERRIDE", "",
     "writing clear_refs of other users' processes (write_fault only)"},
    {CAP_IPC_LOCK, NO_CAPABILITY, "CAP_IPC_LOCK", "",
     "perf rings above kernel.perf_event_mlock_kb and RLIMIT_MEMLOCK"},
};

static bool is_refused(int error)
{
    return error == EACCES || error == EPERM;
}

/* Debian's and Ubuntu's kernels refuse CAP_PERFMON where the sysctl is above 2; others take it. */
static bool perfmon_is_ignored(const struct doctor_facts *facts)
{
    return doctor_has(facts, CAP_PERFMON) && !doctor_has(facts, CAP_SYS_ADMIN) &&
           facts->paranoid.known && facts->paranoid.value > 2 &&
           is_refused(facts->errors[PROBE_PERF_CPU]);
}

static void judge_missing(struct doctor_check *check, const struct capability_line *line)
{
    check->state = "missing";
    snprintf(
        check->fix, sizeof check->fix,
        "run as root with CapabilityBoundingSet=%s in the unit (with User= AmbientCapabilities= "
        "too)",
        line->name);
}

static void judge_capability(struct doctor_check *check, const struct doctor_facts *facts,
                             const struct capability_line *line)
{
    bool replaced = line->stand_in != NO_CAPABILITY && doctor_has(facts, line->stand_in);

    snprintf(check->detail, sizeof check->detail, "%s", line->detail);
    if (!facts->capabilities_known) {
        check->state = "limited";
        snprintf(check->fix, sizeof check->fix,
                 "not known whether it is there: mount /proc so that /proc/self/status is read");
    } else if (!doctor_has(facts, line->capability) && replaced) {
        snprintf(check->detail, sizeof check->detail, "%s; %s stands in", line->detail,
                 line->stand_in_name);
    } else if (!doctor_has(facts, line->capability)) {
        judge_missing(check, line);
    } else if (line->capability == CAP_PERFMON && perfmon_is_ignored(facts)) {
        check->state = "limited";
        snprintf(check->fix, sizeof check->fix,
                 "this kernel does not honour it where kernel.perf_event_paranoid is %ld: sysctl "
                 "kernel.perf_event_paranoid=2, or give CAP_SYS_ADMIN",
                 facts->paranoid.value);
    }
}

static int add_capabilities(struct doctor_report *report, const struct doctor_facts *facts)
{
    for (size_t i = 0; i < ARRAY_LENGTH(capabilities); i++) {
        struct doctor_check *check = doctor_add(report, "permission", capabilities[i].name);

        if (!check)
            return -ENOMEM;
        judge_capability(check, facts, &capabilities[i]);
    }
    return 0;
}

/* Documentation/admin-guide/sysctl/kernel.rst; above 2 is Debian's and Ubuntu's own. */
static const char *paranoid_means(long value)
{
    if (value > 2)
        return "perf events need CAP_SYS_ADMIN";
    if (value == 2)
        return "without CAP_PERFMON only own threads in user mode";
    if (value == 1)
        return "without CAP_PERFMON only own threads";
    return value == 0 ? "everybody may sample CPUs" : "no restrictions";
}

static int add_paranoid(struct doctor_report *report, const struct doctor_facts *facts)
{
    struct doctor_check *check = doctor_add(report, "permission", "kernel.perf_event_paranoid");

    if (!check)
        return -ENOMEM;
    if (!facts->proc) {
        check->state = "limited";
        snprintf(check->detail, sizeof check->detail, "not known");
        return 0;
    }
    if (!facts->paranoid.known) {
        check->state = "missing";
        snprintf(check->detail, sizeof check->detail, "not there: this kernel has no perf events");
        snprintf(check->fix, sizeof check->fix, "use a kernel with CONFIG_PERF_EVENTS");
        return 0;
    }
    snprintf(check->detail, sizeof check->detail, "%ld: %s", facts->paranoid.value,
             paranoid_means(facts->paranoid.value));
    if (is_refused(facts->errors[PROBE_PERF_CPU])) {
        check->state = "limited";
        snprintf(check->fix, sizeof check->fix, "see \"perf per CPU\"");
    }
    return 0;
}

/* Yama is about PTRACE_MODE_ATTACH, which of all calls only process_vm_readv asks for. */
static int add_yama(struct doctor_report *report, const struct doctor_facts *facts)
{
    bool nobody = facts->ptrace_scope.value > 2;
    struct doctor_check *check;

    if (!facts->ptrace_scope.known || facts->ptrace_scope.value < 1 ||
        (!nobody && doctor_has(facts, CAP_SYS_PTRACE)))
        return 0;
    check = doctor_add(report, "permission", "kernel.yama.ptrace_scope");
    if (!check)
        return -ENOMEM;
    check->state = nobody ? "missing" : "limited";
    snprintf(check->detail, sizeof check->detail, "%ld: %s", facts->ptrace_scope.value,
             nobody ? "nobody reads the memory of other processes, so code bytes cannot be read "
                      "and the timer source resolves nothing"
                    : "code bytes of other processes need CAP_SYS_PTRACE");
    snprintf(check->fix, sizeof check->fix,
             nobody ? "set kernel.yama.ptrace_scope to 2 or less in sysctl.d and boot again (3 "
                      "stays until then)"
                    : "give CAP_SYS_PTRACE, or sysctl kernel.yama.ptrace_scope=0");
    return 0;
}

/* The unit has one on purpose; what is refused by it shows among the calls. */
static int add_seccomp(struct doctor_report *report, const struct doctor_facts *facts)
{
    static const char *const means[] = {
        [DOCTOR_SECCOMP_UNKNOWN] = "not known",
        [DOCTOR_SECCOMP_OFF] = "no filter",
        [DOCTOR_SECCOMP_ON] = "a filter is on; what it forbids is refused among the calls above",
    };
    struct doctor_check *check = doctor_add(report, "permission", "seccomp");

    if (!check)
        return -ENOMEM;
    snprintf(check->detail, sizeof check->detail, "%s", means[facts->seccomp]);
    return 0;
}

static int add_user_namespace(struct doctor_report *report, const struct doctor_facts *facts)
{
    struct doctor_check *check;

    if (!facts->user_namespace)
        return 0;
    check = doctor_add(report, "permission", "user namespace");
    if (!check)
        return -ENOMEM;
    check->state = "limited";
    snprintf(check->detail, sizeof check->detail,
             "a container with a user namespace: its capabilities count for its own processes "
             "only, and not for perf events of CPUs and cgroups");
    snprintf(check->fix, sizeof check->fix, "run numabd on the host, or without a user namespace");
    return 0;
}

int doctor_add_permissions(struct doctor_report *report, const struct doctor_facts *facts)
{
    int r = add_capabilities(report, facts);

    if (r == 0)
        r = add_paranoid(report, facts);
    if (r == 0)
        r = add_yama(report, facts);
    if (r == 0)
        r = add_seccomp(report, facts);
    return r < 0 ? r : add_user_namespace(report, facts);
}
