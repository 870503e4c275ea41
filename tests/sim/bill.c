/*
 * Uses of an object overlap as they like: their borders cut it into parts that are used alike, and
 * each part is billed by itself.
 */
#include "sim/bill.h"

#include <math.h>
#include <stdlib.h>

#include "sim/fail.h"
#include "util/array.h"
#include "util/cleanup.h"

/* Pages that would gain less are as well where they are. */
#define TOLERANCE 1.001

/* One use of an object from one node. */
struct span {
    const struct sim_object *object;
    uint64_t first, end;
    int node;
    double rate; /* of its accesses */
};

struct spans {
    struct span *items;
    size_t n, cap;
};

static int by_object(const void *left, const void *right)
{
    const struct span *a = left, *b = right;

    if (a->object->id != b->object->id)
        return a->object->id < b->object->id ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->node - b->node;
}

static void spans_add_thread(struct spans *spans, const struct sim_machine *machine,
                             const struct sim_thread *thread)
{
    double share = sim_machine_thread_share(machine, thread);

    SIM_NEED(ARRAY_RESERVE(spans->items, spans->cap, spans->n + thread->n_uses) == 0);
    for (size_t i = 0; i < thread->n_uses && share > 0; i++) {
        const struct sim_use *use = &thread->uses[i];

        spans->items[spans->n++] = (struct span){
            .object = thread->process->vmas[use->vma].object,
            .first = use->first,
            .end = use->first + use->n_pages,
            .node = sim_machine_thread_node(machine, thread),
            .rate = share * use->weight / thread->weight,
        };
    }
}

/* Equal spans become one. */
static void spans_merge(struct spans *spans)
{
    size_t n = 0;

    if (!spans->n)
        return;
    qsort(spans->items, spans->n, sizeof *spans->items, by_object);
    for (size_t i = 1; i < spans->n; i++) {
        if (by_object(&spans->items[n], &spans->items[i]))
            spans->items[++n] = spans->items[i];
        else
            spans->items[n].rate += spans->items[i].rate;
    }
    spans->n = n + 1;
}

/* Accesses to [first, end) by the node that they come from. */
static void part_demand(const struct span *spans, size_t n, uint64_t first, uint64_t end,
                        double *demand)
{
    for (size_t i = 0; i < n && spans[i].first < end; i++)
        if (spans[i].end > first)
            demand[spans[i].node] +=
                spans[i].rate * (double)(end - first) / (double)(spans[i].end - spans[i].first);
}

static double cost_on(const struct sim_machine *machine, const double *demand, int to)
{
    double cost = 0;

    for (int from = 0; from < machine->shape.n_nodes; from++)
        if (demand[from] > 0)
            cost += demand[from] * sim_machine_relative(machine, from, to);
    return cost;
}

/* Return: are there accesses? */
static bool part_costs(const struct sim_machine *machine, const double *demand, double *costs,
                       double *bestp)
{
    *bestp = INFINITY;
    for (int node = 0; node < machine->shape.n_nodes; node++) {
        costs[node] = cost_on(machine, demand, node);
        if (machine->nodes[node].total && costs[node] < *bestp)
            *bestp = costs[node];
    }
    return *bestp > 0 && *bestp < INFINITY;
}

static void bill_add_part(struct sim_bill *bill, const struct sim_machine *machine,
                          const struct span *spans, size_t n, uint64_t first, uint64_t end)
{
    double demand[SIM_NODES_MAX] = {0}, costs[SIM_NODES_MAX], best;
    uint64_t n_on[SIM_NODES_MAX] = {0}, n_present = 0;

    part_demand(spans, n, first, end, demand);
    if (!part_costs(machine, demand, costs, &best))
        return;
    sim_object_count(spans->object, first, end - first, n_on);
    for (int node = 0; node < machine->shape.n_nodes; node++)
        n_present += n_on[node];
    for (int node = 0; node < machine->shape.n_nodes && n_present; node++) {
        bill->now += costs[node] * (double)n_on[node] / (double)n_present;
        if (costs[node] > best * TOLERANCE)
            bill->n_misplaced += n_on[node];
    }
    if (n_present)
        bill->best += best;
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

/* Spans of one object. */
static void bill_add_object(struct sim_bill *bill, const struct sim_machine *machine,
                            const struct span *spans, size_t n)
{
    CLEANUP(freep) uint64_t *borders = sim_calloc(2 * n, sizeof *borders);

    for (size_t i = 0; i < n; i++) {
        borders[2 * i] = spans[i].first;
        borders[2 * i + 1] = spans[i].end;
    }
    qsort(borders, 2 * n, sizeof *borders, by_value);
    for (size_t i = 0; i + 1 < 2 * n; i++)
        if (borders[i] < borders[i + 1])
            bill_add_part(bill, machine, spans, n, borders[i], borders[i + 1]);
}

struct sim_bill sim_bill_make(const struct sim_machine *machine)
{
    struct sim_bill bill = {0};
    struct spans spans = {0};

    for (int cpu = 0; cpu < machine->n_cpus; cpu++)
        for (size_t i = 0; i < machine->cpus[cpu].n_threads; i++)
            spans_add_thread(&spans, machine, machine->cpus[cpu].threads[i]);
    spans_merge(&spans);
    for (size_t first = 0, end; first < spans.n; first = end) {
        end = first + 1;
        while (end < spans.n && spans.items[end].object == spans.items[first].object)
            end++;
        bill_add_object(&bill, machine, &spans.items[first], end - first);
    }
    free(spans.items);
    return bill;
}

double sim_bill_ratio(const struct sim_bill *bill)
{
    return bill->best > 0 ? bill->now / bill->best : 1;
}
