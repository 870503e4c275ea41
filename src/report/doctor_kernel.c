/*
 * The kernel's options are inferred from how it behaves: /proc/config.gz is often not there, and
 * would be the host's word about a container anyway.
 */
#include <errno.h>

#include "report/doctor_facts.h"
#include "util/array.h"

enum option_state {
    OPTION_ON,
    OPTION_OFF,
    OPTION_HIDDEN, /* the probe was refused before it could tell */
};

static bool is_refused(int error)
{
    return error == EACCES || error == EPERM || error == EROFS;
}

static enum option_state numa(const struct doctor_facts *facts)
{
    int error = facts->errors[PROBE_NUMA_MAPS];

    if (error == 0)
        return OPTION_ON;
    return error == ENOENT && facts->proc ? OPTION_OFF : OPTION_HIDDEN;
}

/* A filter may answer ENOSYS too. */
static enum option_state migration(const struct doctor_facts *facts)
{
    int error = facts->errors[PROBE_MOVE_PAGES];

    if (error != ENOSYS)
        return is_refused(error) ? OPTION_HIDDEN : OPTION_ON;
    return facts->seccomp == DOCTOR_SECCOMP_ON ? OPTION_HIDDEN : OPTION_OFF;
}

static enum option_state soft_dirty(const struct doctor_facts *facts)
{
    int error = facts->errors[PROBE_SOFT_DIRTY];

    if (error == 0)
        return OPTION_ON;
    return error == EOPNOTSUPP || (error == ENOENT && facts->proc) ? OPTION_OFF : OPTION_HIDDEN;
}

/* That the file is there, whoever may open it. */
static enum option_state idle_pages(const struct doctor_facts *facts)
{
    int error = facts->errors[PROBE_IDLE_BITMAP];

    return error == 0 || is_refused(error) ? OPTION_ON
           : error == ENOENT               ? OPTION_OFF
                                           : OPTION_HIDDEN;
}

/* Without it perf_cgroup_connect answers EINVAL, after all permissions were checked. */
static enum option_state cgroup_perf(const struct doctor_facts *facts)
{
    int error = facts->errors[PROBE_PERF_CGROUP];

    if (error == 0)
        return OPTION_ON;
    return error == EINVAL && facts->errors[PROBE_PERF_CPU] == 0 ? OPTION_OFF : OPTION_HIDDEN;
}

static enum option_state perf_events(const struct doctor_facts *facts)
{
    int error = facts->errors[PROBE_PERF_THREAD];

    if (error == 0 || facts->paranoid.known)
        return OPTION_ON;
    return error == ENOSYS || error == ENOENT ? OPTION_OFF : OPTION_HIDDEN;
}

static const struct option_line {
    const char *name, *detail, *from; /* what it is for; what it is inferred from */
    enum option_state (*state)(const struct doctor_facts *facts);
} options[] = {
    {"CONFIG_NUMA", "nodes, policies, numa_maps", "numa_maps", numa},
    {"CONFIG_MIGRATION", "moving pages", "move_pages", migration},
    {"CONFIG_PERF_EVENTS", "all sources but idle_page", "perf_event_open", perf_events},
    {"CONFIG_CGROUP_PERF", "samples of the targets' cgroups only", "perf_event_open", cgroup_perf},
    {"CONFIG_MEM_SOFT_DIRTY", "the write_fault source", "/proc/self/pagemap", soft_dirty},
    {"CONFIG_IDLE_PAGE_TRACKING", "the idle_page source", "/sys/kernel/mm/page_idle/bitmap",
     idle_pages},
};

static void judge_option(struct doctor_check *check, const struct doctor_facts *facts,
                         const struct option_line *line)
{
    static const char *const states[] = {
        [OPTION_ON] = "ok", [OPTION_OFF] = "missing", [OPTION_HIDDEN] = "limited"};
    enum option_state state = line->state(facts);

    check->state = states[state];
    snprintf(check->detail, sizeof check->detail, "%s%s%s", line->detail,
             state == OPTION_HIDDEN ? "; not known whether it is there: refused by " : "",
             state == OPTION_HIDDEN ? line->from : "");
    if (state == OPTION_OFF)
        snprintf(check->fix, sizeof check->fix, "use a kernel with %s=y", line->name);
}

/* Bits of kernel.numa_balancing (include/linux/sched/sysctl.h). */
static const struct {
    const char *state, *means, *fix;
} balancing[] = {
    {"ok", "off: nothing but numabd moves pages to their threads", ""},
    {"limited",
     "automatic balancing: the kernel moves the same pages as numabd, and its hint "
     "faults cost the targets time",
     "sysctl kernel.numa_balancing=0 while numabd runs"},
    {"ok",
     "memory tiering: hot pages go from slow nodes to fast ones; does not get in numabd's "
     "way",
     ""},
    {"limited",
     "automatic balancing (1) and memory tiering (2): the first moves the same pages as "
     "numabd",
     "sysctl kernel.numa_balancing=2 while numabd runs: the tiering stays"},
};

static int add_balancing(struct doctor_report *report, const struct doctor_facts *facts)
{
    struct doctor_check *check = doctor_add(report, "kernel", "kernel.numa_balancing");
    long value = facts->numa_balancing.value, known = value & 3;

    if (!check)
        return -ENOMEM;
    if (!facts->numa_balancing.known) {
        check->state = facts->proc ? "ok" : "limited";
        snprintf(check->detail, sizeof check->detail, "%s",
                 facts->proc ? "not there: this kernel does not balance by itself (no "
                               "CONFIG_NUMA_BALANCING)"
                             : "not known");
        return 0;
    }
    check->state = balancing[known].state;
    snprintf(check->detail, sizeof check->detail, "%ld: %s%s", value, balancing[known].means,
             value == known ? "" : "; the other bits are unknown to numabd");
    snprintf(check->fix, sizeof check->fix, "%s", balancing[known].fix);
    return 0;
}

int doctor_add_kernel(struct doctor_report *report, const struct doctor_facts *facts)
{
    for (size_t i = 0; i < ARRAY_LENGTH(options); i++) {
        struct doctor_check *check = doctor_add(report, "kernel", options[i].name);

        if (!check)
            return -ENOMEM;
        judge_option(check, facts, &options[i]);
    }
    return add_balancing(report, facts);
}
