/*
 * Intel exports the memory events of each core PMU as files: events/mem-loads and events/mem-stores
 * of `cpu`, or of `cpu_core` and `cpu_atom` on hybrid processors, and only where precise events
 * (PEBS) work. On Sapphire Rapids and Alder Lake loads are wrong unless events/mem-loads-aux runs
 * in the same group before them; the kernel refuses them otherwise (ENODATA). AMD has one PMU for
 * this, `ibs_op`, without event files: it samples instructions whatever they do, here one in so
 * many cycles (cnt_ctl left at 0).
 *
 * All are sampled by frequency. A fixed period, in loads or stores, could not hold a budget: their
 * number per second differs a thousandfold between programs.
 */
#include "sample/mem_pmu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "numabd/topology.h"
#include "sample/mem_clock.h"
#include "sample/mem_terms.h"

#define DEVICES "sys/bus/event_source/devices"

/* Loads below that many cycles come from near caches; as perf mem's default. */
#define LDLAT_CYCLES 30

/*
 * The data address is exact with any precise event. 3 (only the IP has still less skid) pins an
 * event to one counter, where loads and stores would have to take turns.
 */
#define PRECISE_MAX 2

/* linux/perf_event.h since 5.13: the PMU type above the number of a generic event. */
#define PMU_TYPE_SHIFT 32

/* The PMU at hand. */
struct folder {
    struct mem_pmus *pmus;
    const struct host *host;
    const char *name;
    int n_cpu_ids;
    struct source_reason *reason; /* what speaks against it */
    uint32_t type;
    unsigned precise;
    const bool *cpus;
    double cycle_sec;
};

enum {
    FOLDER_NO_FILE = 1,
};

/* A file of the folder without its newline. Return: 0 or FOLDER_NO_FILE. */
static int folder_read(const struct folder *folder, const char *file, char *text, size_t text_size)
{
    CLEANUP(freep) char *buf = NULL;
    size_t size = 0;
    char path[160];

    snprintf(path, sizeof path, DEVICES "/%s/%s", folder->name, file);
    if (folder->host->ops->read_file(folder->host->self, path, text_size - 1, &buf, &size))
        return FOLDER_NO_FILE;
    snprintf(text, text_size, "%.*s", (int)strcspn(buf, "\n"), buf);
    return 0;
}

static bool folder_has(const struct folder *folder, const char *file)
{
    char text[256];

    return folder_read(folder, file, text, sizeof text) == 0;
}

static int folder_read_number(const struct folder *folder, const char *file, uint64_t max,
                              uint64_t *valuep)
{
    char text[32];
    struct scan scan;

    if (folder_read(folder, file, text, sizeof text))
        return FOLDER_NO_FILE;
    scan = (struct scan){text, text + strlen(text)};
    return scan_decimal(&scan, max, valuep) ? 0 : FOLDER_NO_FILE;
}

/* One field of the PMU. Return: 0 or MEM_TERMS_MISFIT. */
static int folder_apply(const struct folder *folder, struct perf_event_attr *attr, const char *name,
                        uint64_t value)
{
    char path[48], format[64];

    snprintf(path, sizeof path, "format/%s", name);
    if (folder_read(folder, path, format, sizeof format))
        return MEM_TERMS_MISFIT;
    return mem_terms_apply(attr, format, value);
}

/* Return: 0, or MEM_TERMS_MISFIT with the reason. */
static int folder_encode(const struct folder *folder, const char *event, const char *text,
                         struct perf_event_attr *attr)
{
    struct scan terms = {text, text + strlen(text)};
    struct mem_term term = {0};

    while (!scan_at_end(&terms)) {
        if (mem_terms_next(&terms, &term) &&
            folder_apply(folder, attr, term.name,
                         strcmp(term.name, "ldlat") == 0 ? LDLAT_CYCLES : term.value) == 0)
            continue;
        snprintf(folder->reason->text, sizeof folder->reason->text,
                 "%s: its events/%s says %.64s, which its format/ does not explain", folder->name,
                 event, text);
        return MEM_TERMS_MISFIT;
    }
    return 0;
}

static bool role_samples(enum mem_role role)
{
    return role == MEM_ROLE_LOADS || role == MEM_ROLE_STORES || role == MEM_ROLE_OPS;
}

static void folder_add(const struct folder *folder, enum mem_role role,
                       const struct perf_event_attr *attr)
{
    struct mem_pmus *pmus = folder->pmus;

    pmus->events[pmus->n_events++] = (struct mem_event){
        .role = role,
        .attr = *attr,
        .cpus = folder->cpus,
        .cycle_sec = folder->cycle_sec,
    };
}

/* The PMU's own attr for user mode. Guests' addresses mean nothing to us. */
static struct perf_event_attr folder_attr(const struct folder *folder)
{
    return (struct perf_event_attr){
        .type = folder->type,
        .size = sizeof(struct perf_event_attr),
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .exclude_guest = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
}

/* Return: the event exists and was added. */
static bool folder_add_file(const struct folder *folder, enum mem_role role, const char *event)
{
    struct perf_event_attr attr = folder_attr(folder);
    char path[48], text[256];

    snprintf(path, sizeof path, "events/%s", event);
    if (folder_read(folder, path, text, sizeof text) || folder_encode(folder, event, text, &attr))
        return false;
    /* The leader counts only; precise counting is refused (EINVAL). */
    attr.precise_ip = role == MEM_ROLE_LEADER ? 0 : folder->precise;
    folder_add(folder, role, &attr);
    return true;
}

static bool folder_add_loads(const struct folder *folder)
{
    const size_t n_before = folder->pmus->n_events;

    if (folder_has(folder, "events/mem-loads-aux") &&
        !folder_add_file(folder, MEM_ROLE_LEADER, "mem-loads-aux"))
        return false;
    if (folder_add_file(folder, MEM_ROLE_LOADS, "mem-loads"))
        return true;
    folder->pmus->n_events = n_before;
    return false;
}

static void set_cpu(void *userdata, int cpu)
{
    ((bool *)userdata)[cpu] = true;
}

/* A hybrid PMU has a file `cpus`. Return: 0 or -ENOMEM. */
static int folder_read_cpus(struct folder *folder)
{
    struct mem_pmus *pmus = folder->pmus;
    char text[256];
    bool *cpus;

    if (pmus->n_cpus == MEM_PMUS_HYBRID_MAX || folder_read(folder, "cpus", text, sizeof text))
        return 0;
    cpus = calloc((size_t)folder->n_cpu_ids + 1, sizeof *cpus);
    if (!cpus)
        return -ENOMEM;
    pmus->cpus[pmus->n_cpus++] = cpus;
    folder->cpus = cpus;
    (void)topology_parse_list(text, folder->n_cpu_ids, set_cpu, cpus); /* what can be read of it */
    return 0;
}

static int folder_first_cpu(const struct folder *folder)
{
    for (int cpu = 0; folder->cpus && cpu < folder->n_cpu_ids; cpu++)
        if (folder->cpus[cpu])
            return cpu;
    return 0;
}

/* What is common to all PMUs. Return: 0, FOLDER_NO_FILE: there is none, or -ENOMEM. */
static int folder_open(struct folder *folder)
{
    uint64_t type = 0;
    int r;

    if (folder_read_number(folder, "type", UINT32_MAX, &type))
        return FOLDER_NO_FILE;
    folder->type = (uint32_t)type;
    r = folder_read_cpus(folder);
    if (r < 0)
        return r;
    folder->cycle_sec = mem_clock_cycle_sec(folder->host, folder_first_cpu(folder));
    return 0;
}

/* Return: it samples precisely (kernels before 4.9 do not say: then opening will tell). */
static bool folder_read_precise(struct folder *folder)
{
    uint64_t precise = PRECISE_MAX;

    folder_read_number(folder, "caps/max_precise", 3, &precise);
    folder->precise = precise < PRECISE_MAX ? (unsigned)precise : PRECISE_MAX;
    return precise > 0;
}

static void pmus_tell(struct mem_pmus *pmus, const char *name, bool loads, bool stores)
{
    size_t at = strlen(pmus->text);

    snprintf(pmus->text + at, sizeof pmus->text - at, "%s%s%s%s", at > 0 ? ", " : "", name,
             loads ? " mem-loads" : "", stores ? " mem-stores" : "");
}

static void share_cpus(struct mem_pmus *pmus, size_t first, unsigned n_sharing)
{
    for (size_t i = first; i < pmus->n_events; i++)
        if (role_samples(pmus->events[i].role))
            pmus->events[i].n_sharing = n_sharing;
}

/* A core PMU of Intel's. */
static int add_core(struct folder *folder)
{
    const size_t n_before = folder->pmus->n_events;
    bool loads, stores;

    snprintf(folder->reason->text, sizeof folder->reason->text,
             "%s: no events/mem-loads and no ibs_op beside it: this processor, or the hypervisor "
             "above it, offers no PEBS and no IBS",
             folder->name);
    if (!folder_read_precise(folder)) {
        snprintf(
            folder->reason->text, sizeof folder->reason->text,
            "%s: caps/max_precise is 0 (no PEBS) and no ibs_op beside it: in a virtual machine "
            "the host has to pass one of them on",
            folder->name);
        return 0;
    }
    loads = folder_add_loads(folder);
    stores = folder_add_file(folder, MEM_ROLE_STORES, "mem-stores");
    if (loads || stores)
        pmus_tell(folder->pmus, folder->name, loads, stores);
    share_cpus(folder->pmus, n_before, (unsigned)loads + stores);
    return 0;
}

/*
 * IBS refuses every exclude bit with EINVAL; where it has swfilt (config2:0), that makes the kernel
 * drop what exclude_kernel excludes. Guests' samples are dropped when they are decoded.
 */
static int add_ibs(struct folder *folder)
{
    struct perf_event_attr attr = folder_attr(folder);

    attr.exclude_guest = 0;
    attr.exclude_kernel = attr.exclude_hv = folder_apply(folder, &attr, "swfilt", 1) == 0;
    folder_add(folder, MEM_ROLE_OPS, &attr);
    share_cpus(folder->pmus, folder->pmus->n_events - 1, 1);
    pmus_tell(folder->pmus, folder->name, false, false);
    return 0;
}

static int add_spe(struct folder *folder)
{
    snprintf(folder->reason->text, sizeof folder->reason->text,
             "%s (Arm SPE) was found; decoding its records is not supported yet", folder->name);
    return 0;
}

static const struct {
    const char *name;
    int (*add)(struct folder *folder);
} devices[] = {
    {"cpu", add_core},   {"cpu_core", add_core}, {"cpu_atom", add_core},
    {"ibs_op", add_ibs}, {"arm_spe_0", add_spe},
};

static int pmus_find(struct mem_pmus *pmus, const struct host *host, int n_cpu_ids,
                     struct source_reason *reason)
{
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        struct folder folder = {pmus, host, devices[i].name, n_cpu_ids, reason, 0, 0, NULL, 0};
        int r = folder_open(&folder);

        if (r == 0)
            r = devices[i].add(&folder);
        if (r < 0)
            return r;
    }
    return 0;
}

/*
 * Cycles and instructions of user mode, in one group: only their quotient counts. On a hybrid
 * processor those of the first PMU: generic numbers need its type there.
 */
static void pmus_add_counts(struct mem_pmus *pmus)
{
    struct mem_event cycles = pmus->events[0], instructions;
    const uint64_t pmu = cycles.cpus ? (uint64_t)cycles.attr.type << PMU_TYPE_SHIFT : 0;

    cycles.role = MEM_ROLE_CYCLES;
    cycles.n_sharing = 0;
    cycles.attr = (struct perf_event_attr){
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof cycles.attr,
        .config = pmu | PERF_COUNT_HW_CPU_CYCLES,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .exclude_guest = 1,
    };
    instructions = cycles;
    instructions.role = MEM_ROLE_INSTRUCTIONS;
    instructions.attr.config = pmu | PERF_COUNT_HW_INSTRUCTIONS;
    pmus->events[pmus->n_events++] = cycles;
    pmus->events[pmus->n_events++] = instructions;
}

int mem_pmus_init(struct mem_pmus *pmus, const struct host *host, int n_cpu_ids,
                  struct source_reason *reason)
{
    CLEANUP(mem_pmus_deinit) struct mem_pmus found = {0};
    int r;

    snprintf(reason->text, sizeof reason->text,
             "/" DEVICES " has none of cpu, cpu_core, cpu_atom, ibs_op and arm_spe_0: this machine "
             "has no PMU (most virtual machines have none)");
    r = pmus_find(&found, host, n_cpu_ids, reason);
    if (r < 0)
        return r;
    if (found.n_events == 0)
        return SOURCE_UNAVAILABLE;
    pmus_add_counts(&found);
    *pmus = found;
    found = (struct mem_pmus){0};
    return 0;
}

void mem_pmus_deinit(struct mem_pmus *pmus)
{
    for (size_t i = 0; i < pmus->n_cpus; i++)
        free(pmus->cpus[i]);
    *pmus = (struct mem_pmus){0};
}

static struct perf_scope_event scope_event(const struct mem_event *event, struct mem_demand demand)
{
    struct perf_scope_event opened = {
        .attr = event->attr,
        .leads = event->role == MEM_ROLE_LEADER || event->role == MEM_ROLE_CYCLES,
        .system = event->role == MEM_ROLE_OPS && !demand.scoped,
        .no_sample = !role_samples(event->role),
        .cpus = event->cpus,
    };

    opened.attr.sample_type =
        opened.no_sample ? PERF_SAMPLE_IDENTIFIER : mem_sample_type(demand.layout);
    opened.attr.freq = !opened.no_sample;
    return opened;
}

size_t mem_pmus_events(const struct mem_pmus *pmus, struct mem_demand demand,
                       struct perf_scope_event events[PERF_SCOPE_EVENTS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < pmus->n_events; i++)
        if (demand.counts || pmus->events[i].role < MEM_ROLE_CYCLES)
            events[n++] = scope_event(&pmus->events[i], demand);
    return n;
}
