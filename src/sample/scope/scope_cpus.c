/*
 * The owner of a CPU's ring is an event that counts nothing (PERF_COUNT_SW_DUMMY): it costs no
 * interrupt, and the ring stays while the places that write to it come and go.
 *
 * A CPU that goes offline takes its events from it for good; their files stay open and silent. When
 * it comes back before the online list was read again, only the owner tells: it counts for nobody
 * in particular, so its time goes on as long as the CPU's events live.
 */
#include "sample/scope/scope_cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "numabd/topology.h"

/* An owner that lives is behind by what the loop takes from the round's time to the read of it. */
#define OWNER_LAG_NSEC NSEC_PER_SEC

int scope_cpus_init(struct scope_cpus *cpus, const bool *skip, int n_cpu_ids)
{
    int n = n_cpu_ids > 0 ? n_cpu_ids : 0;

    cpus->items = calloc((size_t)n + 1, sizeof *cpus->items);
    if (!cpus->items)
        return -ENOMEM;
    cpus->n = n;
    for (int cpu = 0; cpu < n; cpu++)
        cpus->items[cpu] =
            (struct scope_cpu){.skipped = skip && skip[cpu], .online = true, .owner_fd = -1};
    return 0;
}

static void cpu_drop_ring(struct scope_cpu *cpu, struct scope_events *events)
{
    if (cpu->owner_fd >= 0)
        events->kernel.ops->close(events->kernel.self, cpu->owner_fd);
    cpu->owner_fd = -1;
    cpu->looked_nsec = cpu->owner_nsec = 0;
    scope_ring_retire(cpu->ring);
    cpu->ring = NULL;
}

void scope_cpus_deinit(struct scope_cpus *cpus, struct scope_events *events)
{
    for (int i = 0; i < cpus->n; i++)
        cpu_drop_ring(&cpus->items[i], events);
    free(cpus->items);
    free(cpus->online_text);
    *cpus = (struct scope_cpus){0};
}

static void set_online(void *userdata, int cpu)
{
    struct scope_cpus *cpus = userdata;

    if (cpu < cpus->n)
        cpus->items[cpu].online = true;
}

int scope_cpus_see(struct scope_cpus *cpus, const char *online_text)
{
    char *copy = NULL;
    int r = -EINVAL;

    if (online_text && cpus->online_text && !strcmp(online_text, cpus->online_text))
        return 0;
    if (!online_text && !cpus->online_text)
        return 0;
    if (online_text && !(copy = strdup(online_text)))
        return -ENOMEM;
    free(cpus->online_text);
    cpus->online_text = copy;
    for (int i = 0; i < cpus->n; i++) {
        cpus->items[i].online = false;
        cpus->items[i].retry = (struct retry){0};
    }
    /* A CPU that was added since the start has no id here; it is not sampled. */
    if (copy)
        r = topology_parse_list(copy, INT16_MAX, set_online, cpus);
    for (int i = 0; r < 0 && i < cpus->n; i++)
        cpus->items[i].online = true;
    return 0;
}

bool scope_cpus_is_wanted(const struct scope_cpus *cpus, int cpu)
{
    return !cpus->items[cpu].skipped && cpus->items[cpu].online;
}

bool scope_cpus_is_usable(const struct scope_cpus *cpus, int cpu, uint64_t now)
{
    return scope_cpus_is_wanted(cpus, cpu) && retry_is_due(&cpus->items[cpu].retry, now);
}

unsigned scope_cpus_count_wanted(const struct scope_cpus *cpus)
{
    unsigned n = 0;

    for (int cpu = 0; cpu < cpus->n; cpu++)
        n += scope_cpus_is_wanted(cpus, cpu);
    return n;
}

unsigned scope_cpus_count_skipped(const struct scope_cpus *cpus)
{
    unsigned n = 0;

    for (int cpu = 0; cpu < cpus->n; cpu++)
        n += cpus->items[cpu].skipped && cpus->items[cpu].online;
    return n;
}

bool scope_cpus_has_died(struct scope_cpus *cpus, const struct scope_events *events, int cpu,
                         uint64_t now)
{
    const struct perf_kernel *kernel = &events->kernel;
    struct scope_cpu *item = &cpus->items[cpu];
    struct perf_kernel_count count;
    bool died;

    if (!item->ring || kernel->ops->read(kernel->self, item->owner_fd, &count) < 0)
        return false;
    died = item->looked_nsec &&
           now - item->looked_nsec > count.enabled_nsec - item->owner_nsec + OWNER_LAG_NSEC;
    item->looked_nsec = now;
    item->owner_nsec = count.enabled_nsec;
    return died;
}

int scope_cpus_ring(struct scope_cpus *cpus, struct scope_events *events, int cpu)
{
    struct scope_cpu *item = &cpus->items[cpu];
    struct scope_ring *ring;
    int r;

    if (item->ring)
        return 0;
    ring = scope_events_add_ring(events, cpus->ring_bytes);
    if (!ring)
        return -ENOMEM;
    r = scope_events_open_owner(events, cpu, ring, &item->owner_fd);
    if (r)
        scope_ring_retire(ring);
    else
        item->ring = ring;
    return r;
}

void scope_cpus_sweep(struct scope_cpus *cpus, struct scope_events *events)
{
    for (int i = 0; i < cpus->n; i++)
        if (cpus->items[i].ring && cpus->items[i].ring->n_events == 0)
            cpu_drop_ring(&cpus->items[i], events);
}
