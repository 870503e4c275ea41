#include "sim/source.h"

#include "sim/fail.h"
#include "util/array.h"
#include "util/nsec.h"

/* So often another page is tried where one was too near to be waited for. */
#define TRIES_MAX 8

static const struct sim_use *choose_use(struct sim_random *random, const struct sim_thread *thread)
{
    double left = thread->n_uses > 1 ? sim_random_unit(random) * thread->weight : 0;
    size_t i = 0;

    while (i + 1 < thread->n_uses && left >= thread->uses[i].weight)
        left -= thread->uses[i++].weight;
    return &thread->uses[i];
}

/* Time of an access by its distance, 1.0 where it is local. */
static double access_time(const struct sim_machine *machine, int from, int to)
{
    if (to < 0)
        return 1;
    return 1 - SIM_MEMORY_BOUND + SIM_MEMORY_BOUND * sim_machine_relative(machine, from, to);
}

static double longest_time(const struct sim_machine *machine, int from)
{
    double longest = 1;

    for (int to = 0; to < machine->shape.n_nodes; to++)
        if (access_time(machine, from, to) > longest)
            longest = access_time(machine, from, to);
    return longest;
}

/* Distances do not change. */
static void reckon_longest(struct sim_source *source)
{
    const struct sim_machine *machine = source->machine;

    if (source->longest[0] > 0)
        return;
    for (int node = 0; node < machine->shape.n_nodes; node++)
        source->longest[node] = longest_time(machine, node);
}

/* A page by how often it is accessed and how long that takes. */
static uint64_t choose_addr(struct sim_machine *machine, const struct sim_thread *thread, int from,
                            double longest)
{
    struct sim_random *random = &machine->random;
    const struct sim_vma *vma = NULL;
    uint64_t page = 0;

    for (int i = 0; i < TRIES_MAX; i++) {
        const struct sim_use *use = choose_use(random, thread);

        vma = &thread->process->vmas[use->vma];
        page = use->first + sim_random_below(random, use->n_pages);
        if (sim_random_unit(random) * longest <
            access_time(machine, from, sim_object_node(vma->object, page)))
            break;
    }
    return vma->start + page * SIM_PAGE_BYTES + sim_random_below(random, SIM_PAGE_BYTES / 8) * 8;
}

/* n accesses, evenly over the period. Return: how many of them were seen. */
static uint64_t draw_accesses(struct sim_source *source, const struct sim_thread *thread,
                              double longest, uint64_t n, uint64_t period, unsigned rate_hz)
{
    struct sim_machine *machine = source->machine;
    int node = sim_machine_thread_node(machine, thread);
    pid_t pid = thread->process->pid;
    uint64_t n_seen = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t addr = choose_addr(machine, thread, node, longest);

        if (source->sees && !source->sees(source->sees_userdata, pid, addr))
            continue;
        source->batch[n_seen++] = (struct access){
            .when_nsec = machine->now - period + (i + 1) * period / n,
            .pid = pid,
            .tid = thread->tid,
            .cpu = thread->cpu,
            .addr = addr,
            .weight_sec = 1.0 / rate_hz,
        };
    }
    return n_seen;
}

static void push_thread(struct sim_source *source, const struct sim_thread *thread, double longest,
                        uint64_t period)
{
    struct sim_machine *machine = source->machine;
    struct sim_process *process = thread->process;
    unsigned rate_hz = source->rate_hz ? source->rate_hz : process->asked_hz;
    double expected = rate_hz * nsec_to_sec(period) * sim_machine_thread_share(machine, thread);
    uint64_t n = sim_random_round(&machine->random, expected);

    source->counts.n_samples += n;
    if (!process->wanted)
        source->counts.n_foreign += n;
    if (!process->wanted || !thread->n_uses || !n)
        return;
    SIM_NEED(ARRAY_RESERVE(source->batch, source->batch_cap, n) == 0);
    n = draw_accesses(source, thread, longest, n, period, rate_hz);
    source->sink.push(source->sink.userdata, source->batch, n);
    source->counts.n_accesses += n;
    process->n_samples += n;
}

static int drain(void *self)
{
    struct sim_source *source = self;
    struct sim_machine *machine = source->machine;
    uint64_t period = machine->now - source->drained_nsec;

    reckon_longest(source);
    for (size_t i = 0; i < machine->n_processes; i++) {
        struct sim_process *process = machine->processes[i];

        if (!process->ended)
            process->wanted = source->filter.wants(source->filter.userdata, process->pid);
    }
    for (int cpu = 0; cpu < machine->n_cpus; cpu++) {
        const struct sim_cpu *from = &machine->cpus[cpu];

        for (size_t i = 0; i < from->n_threads; i++)
            push_thread(source, from->threads[i], source->longest[from->node], period);
    }
    source->drained_nsec = machine->now;
    return 0;
}

static const struct sample_counts *counts(void *self)
{
    return &((struct sim_source *)self)->counts;
}

static int follow(void *self, const struct sample_round *round, struct source_reason *reason)
{
    const struct sim_source *source = self;

    (void)reason;
    for (size_t i = 0; i < round->n_targets; i++) {
        struct sim_process *process = sim_machine_find(source->machine, round->targets[i].pid);

        if (process)
            process->asked_hz = round->targets[i].rate_hz;
    }
    return 0;
}

static void keep(void *self)
{
    (void)self;
}

struct source sim_source(struct sim_source *source)
{
    static const struct source_ops ops = {
        .name = "sim", .drain = drain, .counts = counts, .round = follow, .free = keep};

    return (struct source){.ops = &ops, .self = source};
}

void sim_source_deinit(struct sim_source *source)
{
    free(source->batch);
}
