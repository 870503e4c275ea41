#pragma once
/*
 * Doctor facts: what was read and tried, before it is judged. The judges behind it are pure.
 */
#include "numabd/host.h"
#include "report/doctor.h"
#include "sample/probe.h"
#include "sample/scope/cgroup_mounts.h"

#define DOCTOR_UNLIMITED UINT64_MAX

struct doctor_sysctl {
    bool known;
    long value;
};

struct doctor_limit {
    bool known;
    uint64_t soft, hard; /* DOCTOR_UNLIMITED: no limit */
};

enum doctor_seccomp {
    DOCTOR_SECCOMP_UNKNOWN,
    DOCTOR_SECCOMP_OFF,
    DOCTOR_SECCOMP_ON,
};

struct doctor_facts {
    bool capabilities_known;
    uint64_t capabilities; /* effective, bit by number */
    enum doctor_seccomp seccomp;
    bool user_namespace; /* not the initial one: capabilities count inside only */
    struct doctor_limit files, locked_bytes;
    struct doctor_sysctl paranoid, mlock_kb, ptrace_scope, numa_balancing;
    bool proc; /* /proc is there; without it the absence of a file in it says nothing */
    struct cgroup_mounts mounts;
    int errors[PROBE_CALL_COUNT]; /* 0 or the errno of each call */
    unsigned n_cpus;              /* online */
    unsigned n_events;            /* per CPU of one cgroup, of all sources */
    unsigned n_ring_sources;      /* that have a ring on each CPU */
};

/* Reads and tries. What cannot be read is unknown. Return: 0 or -ENOMEM. */
int doctor_facts_read(struct doctor_facts *facts, const struct doctor_options *options);

static inline bool doctor_has(const struct doctor_facts *facts, unsigned capability)
{
    return facts->capabilities >> capability & 1;
}

/* One new line, zeroed but for these. Return: it, or NULL without memory. */
struct doctor_check *doctor_add(struct doctor_report *report, const char *group, const char *name);

/* Fills in the failure of a call: state "missing", call, error. */
void doctor_set_error(struct doctor_check *check, const char *call, int error);

/* Files that a usual server needs; RLIMIT_NOFILE is judged by it. */
uint64_t doctor_files_wanted(const struct doctor_facts *facts);

/* Judges: each adds its lines. Return: 0 or -ENOMEM. */
int doctor_add_calls(struct doctor_report *report, const struct doctor_facts *facts);
int doctor_add_permissions(struct doctor_report *report, const struct doctor_facts *facts);
int doctor_add_limits(struct doctor_report *report, const struct doctor_facts *facts);
int doctor_add_kernel(struct doctor_report *report, const struct doctor_facts *facts);
int doctor_add_machine(struct doctor_report *report, const struct doctor_facts *facts,
                       const struct topology *topology);
