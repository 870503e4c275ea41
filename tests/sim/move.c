/*
 * move_pages(2): pages of one chunk that follow each other are taken together. Nothing ever refuses
 * here but what is shared; refusals in all their forms are the unit model's (unit/model_pages.c).
 *
 * Costs: 1 GiB in 4 KiB pages takes 1 s, as numabd guesses before it has learned; the fixed cost
 * is that of draining the lists of every CPU on an idle host.
 */
#include <errno.h>
#include <numaif.h>
#include <string.h>

#include "sim/view.h"

#define CALL_NSEC 70000
#define QUERY_PAGE_NSEC 100
#define MOVE_PAGE_NSEC 3815
#define MOVE_HUGE_NSEC 250000 /* copying 2 MiB at 8 GiB a second */

struct mover {
    struct sim_machine *machine;
    struct sim_process *process;
    struct sim_vma *vma; /* that the last page lay in */
    int flags;
};

static bool mover_find(struct mover *mover, uint64_t addr)
{
    const struct sim_vma *vma = mover->vma;

    if (!vma || addr < vma->start || addr >= vma->start + vma->object->n_pages * SIM_PAGE_BYTES)
        mover->vma = sim_process_find_vma(mover->process, addr);
    return mover->vma != NULL;
}

static uint64_t mover_page(const struct mover *mover, uint64_t addr)
{
    return (addr - mover->vma->start) / SIM_PAGE_BYTES;
}

/* Pages from `first` on that are in the page table, or one that is not. */
static size_t count_mapped(const struct sim_vma *vma, uint64_t first, size_t n)
{
    uint64_t left = vma->first_mapped + vma->n_mapped - first;

    if (!sim_vma_maps(vma, first))
        return 1;
    return n < left ? n : (size_t)left;
}

/* How many of the n addresses follow the first one in its chunk. */
static size_t count_run(void *const *pages, const int *nodes, size_t n, uint64_t first)
{
    size_t most = SIM_CHUNK_PAGES - first % SIM_CHUNK_PAGES, i = 1;
    uint64_t addr = (uint64_t)(uintptr_t)pages[0];

    n = n < most ? n : most;
    while (i < n && (uint64_t)(uintptr_t)pages[i] == addr + i * SIM_PAGE_BYTES &&
           (!nodes || nodes[i] == nodes[0]))
        i++;
    return i;
}

static int check_target(const struct sim_machine *machine, int node)
{
    if (node < 0 || node >= machine->shape.n_nodes || !machine->nodes[node].total)
        return -ENODEV;
    return 0;
}

/* Of a process that must not lose pages. */
static bool is_spared(const struct sim_machine *machine, const struct sim_object *object)
{
    for (size_t i = 0; i < machine->n_processes; i++) {
        const struct sim_process *process = machine->processes[i];

        for (size_t v = 0; v < process->n_vmas && process->spared && !process->ended; v++)
            if (process->vmas[v].object == object)
                return true;
    }
    return false;
}

/* Return: 0, the status of all n pages, or 1 when the node is full. */
static int mover_move(struct mover *mover, uint64_t first, uint64_t n, int node)
{
    struct sim_machine *machine = mover->machine;
    struct sim_object *object = mover->vma->object;
    bool all = mover->flags & MPOL_MF_MOVE_ALL, shared = object->n_mappers > 1 && !all;
    uint64_t arrived = machine->nodes[node].n_arrived, cost;

    if (shared || strcmp(mover->vma->policy, "default") || (all && !object->shared) ||
        is_spared(machine, object))
        machine->tally.n_forbidden += n;
    if (shared)
        return -EACCES;
    if (!sim_object_move(object, machine->nodes, first, n, node))
        return 1;
    arrived = machine->nodes[node].n_arrived - arrived;
    cost = object->huge ? arrived / SIM_CHUNK_PAGES * MOVE_HUGE_NSEC : arrived * MOVE_PAGE_NSEC;
    machine->tally.cpu_nsec += cost;
    return 0;
}

static void write_nodes(const struct mover *mover, uint64_t first, size_t n, int *status)
{
    for (size_t i = 0; i < n; i++) {
        int node = sim_object_node(mover->vma->object, first + i);
        bool absent = node == SIM_ABSENT || !sim_vma_maps(mover->vma, first + i);

        status[i] = absent ? -ENOENT : node;
    }
}

static void write_all(int *status, size_t n, int value)
{
    for (size_t i = 0; i < n; i++)
        status[i] = value;
}

/* One run of pages; *np: how many. Return: 0 or what the whole call returns. */
static int mover_take(struct mover *mover, void *const *pages, const int *nodes, int *status,
                      size_t *np)
{
    uint64_t first;
    int r = 0;

    if (!mover_find(mover, (uint64_t)(uintptr_t)pages[0])) {
        *np = 1;
        status[0] = -EFAULT;
        return 0;
    }
    first = mover_page(mover, (uint64_t)(uintptr_t)pages[0]);
    *np = count_mapped(mover->vma, first, count_run(pages, nodes, *np, first));
    if (nodes && !sim_vma_maps(mover->vma, first)) {
        status[0] = -ENOENT;
        return 0;
    }
    if (nodes && (r = check_target(mover->machine, nodes[0])))
        return r;
    if (nodes)
        r = mover_move(mover, first, *np, nodes[0]);
    if (r > 0)
        return -ENOMEM;
    if (r)
        write_all(status, *np, r);
    else
        write_nodes(mover, first, *np, status);
    return 0;
}

static void tally_call(struct sim_tally *tally, size_t n, bool moves)
{
    uint64_t cost = CALL_NSEC + n * QUERY_PAGE_NSEC;

    tally->cpu_nsec += cost;
    if (moves) {
        tally->n_moves++;
        return;
    }
    tally->query_nsec += cost;
    tally->n_queried += n;
    tally->n_queries++;
}

long sim_move_pages(void *self, pid_t pid, size_t n, void *const *pages, const int *nodes,
                    int *status, int flags)
{
    struct sim_machine *machine = self;
    struct mover mover = {
        .machine = machine, .process = sim_machine_find(machine, pid), .flags = flags};
    int r = 0;

    tally_call(&machine->tally, n, nodes != NULL);
    if (!mover.process)
        return -ESRCH;
    for (size_t i = 0, taken; i < n && !r; i += taken) {
        taken = n - i;
        r = mover_take(&mover, &pages[i], nodes ? &nodes[i] : NULL, &status[i], &taken);
    }
    return r;
}
