/*
 * Facts of this process come from /proc/self, as text, so that a test can give any:
 *
 *     CapEff:  000001ffffffffff              status
 *     Seccomp: 2                             0 none, 1 strict, 2 a filter
 *     Max open files   1024   1048576  files limits: soft, hard
 *              0          0 4294967295       uid_map of the initial user namespace
 */
#include "report/doctor_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/cleanup.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)

/* Return: 0, 1 for what cannot be read, or -ENOMEM. */
static int read_text(const struct host *host, const char *path, char **textp)
{
    size_t size;
    int r = host->ops->read_file(host->self, path, FILE_BYTES_MAX, textp, &size);

    return r == -ENOMEM ? r : r != 0;
}

/* What follows `key` at the start of a line, or NULL. */
static const char *find_line(const char *text, const char *key)
{
    const char *at = text;

    while (at && strncmp(at, key, strlen(key)) != 0) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    return at ? at + strlen(key) : NULL;
}

static int read_status(struct doctor_facts *facts, const struct host *host)
{
    CLEANUP(freep) char *text = NULL;
    const char *value;
    int r = read_text(host, "proc/self/status", &text);

    if (r)
        return r < 0 ? r : 0;
    value = find_line(text, "CapEff:");
    facts->capabilities_known = value;
    facts->capabilities = value ? strtoull(value, NULL, 16) : 0;
    value = find_line(text, "Seccomp:");
    if (value)
        facts->seccomp = strtoul(value, NULL, 10) ? DOCTOR_SECCOMP_ON : DOCTOR_SECCOMP_OFF;
    return 0;
}

static const char *parse_limit(const char *text, uint64_t *limitp)
{
    char *end;

    text += strspn(text, " ");
    if (!strncmp(text, "unlimited", strlen("unlimited"))) {
        *limitp = DOCTOR_UNLIMITED;
        return text + strlen("unlimited");
    }
    *limitp = strtoull(text, &end, 10);
    return end;
}

static void find_limit(struct doctor_limit *limit, const char *text, const char *key)
{
    const char *value = find_line(text, key);

    if (!value)
        return;
    limit->known = true;
    value = parse_limit(value, &limit->soft);
    parse_limit(value, &limit->hard);
}

static int read_limits(struct doctor_facts *facts, const struct host *host)
{
    CLEANUP(freep) char *text = NULL;
    int r = read_text(host, "proc/self/limits", &text);

    if (r)
        return r < 0 ? r : 0;
    find_limit(&facts->files, text, "Max open files");
    find_limit(&facts->locked_bytes, text, "Max locked memory");
    return 0;
}

static int read_user_namespace(struct doctor_facts *facts, const struct host *host)
{
    CLEANUP(freep) char *text = NULL;
    unsigned inside, outside, n;
    int r = read_text(host, "proc/self/uid_map", &text);

    if (r)
        return r < 0 ? r : 0;
    facts->user_namespace = sscanf(text, "%u %u %u", &inside, &outside, &n) != 3 || inside != 0 ||
                            outside != 0 || n != UINT32_MAX;
    return 0;
}

static int read_sysctl(struct doctor_sysctl *sysctl, const struct host *host, const char *path)
{
    CLEANUP(freep) char *text = NULL;
    char *end;
    int r = read_text(host, path, &text);

    if (r)
        return r < 0 ? r : 0;
    sysctl->value = strtol(text, &end, 10);
    sysctl->known = end != text;
    return 0;
}

static int read_mounts(struct doctor_facts *facts, const struct host *host)
{
    CLEANUP(freep) char *text = NULL;
    int r = read_text(host, "proc/self/mounts", &text);

    if (r)
        return r < 0 ? r : 0;
    facts->proc = true;
    cgroup_mounts_parse(&facts->mounts, text);
    return 0;
}

static int read_sysctls(struct doctor_facts *facts, const struct host *host)
{
    const struct {
        struct doctor_sysctl *sysctl;
        const char *path;
    } sysctls[] = {
        {&facts->paranoid, "proc/sys/kernel/perf_event_paranoid"},
        {&facts->mlock_kb, "proc/sys/kernel/perf_event_mlock_kb"},
        {&facts->ptrace_scope, "proc/sys/kernel/yama/ptrace_scope"},
        {&facts->numa_balancing, "proc/sys/kernel/numa_balancing"},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(sysctls); i++)
        r = read_sysctl(sysctls[i].sysctl, host, sysctls[i].path);
    return r;
}

static void count(struct doctor_facts *facts, const struct doctor_options *options)
{
    for (int cpu = 0; cpu < options->topology->n_cpu_ids; cpu++)
        facts->n_cpus += topology_cpu_node(options->topology, cpu) >= 0;
    for (size_t i = 0; i < options->n_kinds; i++) {
        facts->n_events += options->kinds[i].n_events;
        facts->n_ring_sources += options->kinds[i].n_events > 0;
    }
}

int doctor_facts_read(struct doctor_facts *facts, const struct doctor_options *options)
{
    static int (*const readers[])(struct doctor_facts *, const struct host *) = {
        read_status, read_limits, read_user_namespace, read_sysctls, read_mounts,
    };
    int r = 0;

    *facts = (struct doctor_facts){.n_cpus = 0};
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(readers); i++)
        r = readers[i](facts, options->host);
    if (r < 0)
        return r;
    count(facts, options);
    for (enum probe_call call = 0; call < PROBE_CALL_COUNT; call++)
        facts->errors[call] = options->probe.ops->call(options->probe.self, call);
    return 0;
}
