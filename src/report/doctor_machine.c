/*
 * The machine in three lines. A large one does not fit: what is cut ends with "...".
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "report/doctor_facts.h"
#include "report/text.h"
#include "util/array.h"

struct line {
    char *text;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static void append(struct line *line, const char *format, ...)
{
    size_t used = strlen(line->text);
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(line->text + used, line->size - used, format, arguments);
    va_end(arguments);
    if ((size_t)n >= line->size - used)
        memcpy(line->text + line->size - sizeof "...", "...", sizeof "...");
}

static struct line line_of(struct doctor_check *check)
{
    return (struct line){check->detail, sizeof check->detail};
}

static unsigned cpus_of(const struct topology *topology, int node)
{
    unsigned n = 0;

    for (int cpu = 0; cpu < topology->n_cpu_ids; cpu++)
        n += topology_cpu_node(topology, cpu) == node;
    return n;
}

static void append_node(struct line *line, const struct topology *topology, int node)
{
    const struct node *it = &topology->nodes[node];
    char bytes[TEXT_SIZE];

    append(line, "; node %d: ", node);
    if (it->has_memory)
        append(line, "%s", text_bytes(bytes, it->total_bytes));
    else
        append(line, "no memory");
    if (it->has_cpus)
        append(line, " and %u CPUs", cpus_of(topology, node));
    else
        append(line, " without CPUs");
}

static int add_nodes(struct doctor_report *report, const struct topology *topology)
{
    struct doctor_check *check = doctor_add(report, "machine", "nodes");
    struct line line;

    if (!check)
        return -ENOMEM;
    line = line_of(check);
    append(&line, "%d with memory", topology->n_memory_nodes);
    for (int node = 0; node < topology->n_node_ids; node++)
        if (topology->nodes[node].online)
            append_node(&line, topology, node);
    if (topology->n_memory_nodes < 2) {
        check->state = "missing";
        snprintf(check->fix, sizeof check->fix,
                 "there is nothing to balance between on one memory node (in firmware, node "
                 "interleaving hides the nodes: turn it off)");
    }
    return 0;
}

/* "0-1 21": one number where both ways are alike. */
static void append_distances(struct line *line, const struct topology *topology, int from)
{
    for (int to = from + 1; to < topology->n_node_ids; to++) {
        unsigned there = topology_distance(topology, from, to);
        unsigned back = topology_distance(topology, to, from);

        if (!topology->nodes[to].online)
            continue;
        append(line, "%s%d-%d %u%s", line->text[0] ? ", " : "", from, to, there,
               there == TOPOLOGY_UNREACHABLE ? " (unreachable)" : "");
        if (back != there)
            append(line, " (back %u)", back);
    }
}

static int add_distances(struct doctor_report *report, const struct topology *topology)
{
    struct doctor_check *check = doctor_add(report, "machine", "distances");
    struct line line;

    if (!check)
        return -ENOMEM;
    line = line_of(check);
    for (int from = 0; from < topology->n_node_ids; from++)
        if (topology->nodes[from].online)
            append_distances(&line, topology, from);
    if (!check->detail[0])
        append(&line, "one node: no distances");
    return 0;
}

static void append_isolated(struct line *line, const struct topology *topology)
{
    const char *separator = "; not sampled, isolated: ";

    for (int cpu = 0; cpu < topology->n_cpu_ids; cpu++) {
        int last = cpu;

        if (!topology->cpu_isolated[cpu])
            continue;
        while (last + 1 < topology->n_cpu_ids && topology->cpu_isolated[last + 1])
            last++;
        append(line, last > cpu ? "%s%d-%d" : "%s%d", separator, cpu, last);
        separator = ",";
        cpu = last;
    }
}

static int add_cpus(struct doctor_report *report, const struct doctor_facts *facts,
                    const struct topology *topology)
{
    struct doctor_check *check = doctor_add(report, "machine", "CPUs");
    struct line line;

    if (!check)
        return -ENOMEM;
    line = line_of(check);
    append(&line, "%u online", facts->n_cpus);
    append_isolated(&line, topology);
    return 0;
}

static void judge_cgroups(struct doctor_check *check, const struct cgroup_mounts *mounts)
{
    struct line line = line_of(check);

    if (mounts->unified[0])
        append(&line, "v2 at %s", mounts->unified);
    if (mounts->n_v1)
        append(&line, "%s%u v1 %s", mounts->unified[0] ? " and " : "", mounts->n_v1,
               mounts->n_v1 == 1 ? "hierarchy" : "hierarchies");
    if (mounts->perf_event[0]) {
        append(&line, "; perf events use v1, at %s", mounts->perf_event);
    } else if (mounts->unified[0]) {
        append(&line, "; perf events use v2");
    } else {
        append(&line, "%s", mounts->n_v1 ? "; none that perf knows" : "none mounted");
        check->state = "limited";
        snprintf(check->fix, sizeof check->fix,
                 "targets are not sampled by cgroup: mount -t cgroup2 none /sys/fs/cgroup");
    }
}

static int add_cgroups(struct doctor_report *report, const struct doctor_facts *facts)
{
    struct doctor_check *check = doctor_add(report, "machine", "cgroups");

    if (!check)
        return -ENOMEM;
    if (facts->proc) {
        judge_cgroups(check, &facts->mounts);
    } else {
        check->state = "limited";
        snprintf(check->detail, sizeof check->detail, "not known");
        snprintf(check->fix, sizeof check->fix, "mount /proc so that /proc/self/mounts is read");
    }
    return 0;
}

int doctor_add_machine(struct doctor_report *report, const struct doctor_facts *facts,
                       const struct topology *topology)
{
    int r = add_nodes(report, topology);

    if (r == 0)
        r = add_distances(report, topology);
    if (r == 0)
        r = add_cpus(report, facts, topology);
    return r < 0 ? r : add_cgroups(report, facts);
}
