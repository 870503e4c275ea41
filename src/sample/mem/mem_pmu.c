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
#include "sample/mem/mem_pmu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "numabd/topology.h"
#include "sample/mem/mem_clock.h"
#include "sample/mem/mem_folder.h"

/* Loads below that many cycles come from near caches; as perf mem's default. */
#define LDLAT_CYCLES 30

/*
 * The data address is exact with any precise event. 3 (only the IP has still less skid) pins an
 * event to one counter, where loads and stores would have to take turns.
 */
#define PRECISE_MAX 2

/* linux/perf_event.h since 5.13: the PMU type above the number of a generic event. */
#define PMU_TYPE_SHIFT 32

#define N_COUNTERS 2 /* cycles and instructions end the events */

/* The PMU at hand. */
struct device {
    struct mem_folder folder;
    struct mem_pmus *pmus;
    int n_cpu_ids;
    struct source_reason *reason; /* what speaks against it */
    uint32_t type;
    unsigned precise;
    const bool *cpus;
    double cycle_sec;
};

static bool role_samples(enum mem_role role)
{
    return role == MEM_ROLE_LOADS || role == MEM_ROLE_STORES || role == MEM_ROLE_OPS;
}

/* No machine has more PMUs than fit; a tree of files could. Return: it was added. */
static bool device_add(const struct device *device, enum mem_role role,
                       const struct perf_event_attr *attr)
{
    struct mem_pmus *pmus = device->pmus;

    if (pmus->n_events + N_COUNTERS >= PERF_SCOPE_EVENTS_MAX)
        return false;
    pmus->events[pmus->n_events++] = (struct mem_event){
        .role = role,
        .attr = *attr,
        .cpus = device->cpus,
        .cycle_sec = device->cycle_sec,
    };
    return true;
}

/* The PMU's own attr for user mode. Guests' addresses mean nothing to us. */
static struct perf_event_attr device_attr(const struct device *device)
{
    return (struct perf_event_attr){
        .type = device->type,
        .size = sizeof(struct perf_event_attr),
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .exclude_guest = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
}

/* Return: the event exists and was added. */
static bool device_add_file(const struct device *device, enum mem_role role, const char *event)
{
    struct perf_event_attr attr = device_attr(device);

    if (mem_folder_encode(&device->folder, event, LDLAT_CYCLES, &attr, device->reason))
        return false;
    /* The leader counts only; precise counting is refused (EINVAL). */
    attr.precise_ip = role == MEM_ROLE_LEADER ? 0 : device->precise;
    return device_add(device, role, &attr);
}

static bool device_add_loads(const struct device *device)
{
    const size_t n_before = device->pmus->n_events;

    if (mem_folder_has(&device->folder, "events/mem-loads-aux") &&
        !device_add_file(device, MEM_ROLE_LEADER, "mem-loads-aux"))
        return false;
    if (device_add_file(device, MEM_ROLE_LOADS, "mem-loads"))
        return true;
    device->pmus->n_events = n_before;
    return false;
}

static void set_cpu(void *userdata, int cpu)
{
    ((bool *)userdata)[cpu] = true;
}

/* A hybrid PMU has a file `cpus`. Return: 0 or -ENOMEM. */
static int device_read_cpus(struct device *device)
{
    struct mem_pmus *pmus = device->pmus;
    char text[256];
    bool *cpus;

    if (pmus->n_cpus == MEM_PMUS_HYBRID_MAX ||
        mem_folder_read(&device->folder, "cpus", text, sizeof text))
        return 0;
    cpus = calloc((size_t)device->n_cpu_ids + 1, sizeof *cpus);
    if (!cpus)
        return -ENOMEM;
    pmus->cpus[pmus->n_cpus++] = cpus;
    device->cpus = cpus;
    (void)topology_parse_list(text, device->n_cpu_ids, set_cpu, cpus); /* what can be read of it */
    return 0;
}

static int device_first_cpu(const struct device *device)
{
    for (int cpu = 0; device->cpus && cpu < device->n_cpu_ids; cpu++)
        if (device->cpus[cpu])
            return cpu;
    return 0;
}

/* What is common to all PMUs. Return: 0, MEM_FOLDER_NO_FILE: there is none, or -ENOMEM. */
static int device_open(struct device *device)
{
    uint64_t type = 0;
    int r;

    if (mem_folder_read_number(&device->folder, "type", UINT32_MAX, &type))
        return MEM_FOLDER_NO_FILE;
    device->type = (uint32_t)type;
    r = device_read_cpus(device);
    if (r < 0)
        return r;
    device->cycle_sec = mem_clock_cycle_sec(device->folder.host, device_first_cpu(device));
    return 0;
}

/* Return: it samples precisely (kernels before 4.9 do not say: then opening will tell). */
static bool device_read_precise(struct device *device)
{
    uint64_t precise = PRECISE_MAX;

    mem_folder_read_number(&device->folder, "caps/max_precise", 3, &precise);
    device->precise = precise < PRECISE_MAX ? (unsigned)precise : PRECISE_MAX;
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
static int add_core(struct device *device)
{
    const size_t n_before = device->pmus->n_events;
    bool loads, stores;

    snprintf(device->reason->text, sizeof device->reason->text,
             "%s: no events/mem-loads and no ibs_op beside it: this processor, or the hypervisor "
             "above it, offers no PEBS and no IBS",
             device->folder.name);
    if (!device_read_precise(device)) {
        snprintf(
            device->reason->text, sizeof device->reason->text,
            "%s: caps/max_precise is 0 (no PEBS) and no ibs_op beside it: in a virtual machine "
            "the host has to pass one of them on",
            device->folder.name);
        return 0;
    }
    loads = device_add_loads(device);
    stores = device_add_file(device, MEM_ROLE_STORES, "mem-stores");
    if (loads || stores)
        pmus_tell(device->pmus, device->folder.name, loads, stores);
    share_cpus(device->pmus, n_before, (unsigned)loads + stores);
    return 0;
}

/*
 * IBS refuses every exclude bit with EINVAL; where it has swfilt (config2:0), that makes the kernel
 * drop what exclude_kernel excludes. Guests' samples are dropped when they are decoded.
 */
static int add_ibs(struct device *device)
{
    struct perf_event_attr attr = device_attr(device);

    attr.exclude_guest = 0;
    attr.exclude_kernel = attr.exclude_hv =
        mem_folder_apply(&device->folder, &attr, "swfilt", 1) == 0;
    if (!device_add(device, MEM_ROLE_OPS, &attr))
        return 0;
    share_cpus(device->pmus, device->pmus->n_events - 1, 1);
    pmus_tell(device->pmus, device->folder.name, false, false);
    return 0;
}

static int add_spe(struct device *device)
{
    snprintf(device->reason->text, sizeof device->reason->text,
             "%s (Arm SPE) was found; decoding its records is not supported yet",
             device->folder.name);
    return 0;
}

static const struct {
    const char *name;
    int (*add)(struct device *device);
} devices[] = {
    {"cpu", add_core},   {"cpu_core", add_core}, {"cpu_atom", add_core},
    {"ibs_op", add_ibs}, {"arm_spe_0", add_spe},
};

static int pmus_find(struct mem_pmus *pmus, const struct host *host, int n_cpu_ids,
                     struct source_reason *reason)
{
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        struct device device = {
            .folder = {host, devices[i].name},
            .pmus = pmus,
            .n_cpu_ids = n_cpu_ids,
            .reason = reason,
        };
        int r = device_open(&device);

        if (r == 0)
            r = devices[i].add(&device);
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
             "/" MEM_FOLDER_DEVICES " has none of cpu, cpu_core, cpu_atom, ibs_op and arm_spe_0: "
             "this machine has no PMU (most virtual machines have none)");
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
