#include "sim/decided.h"

#include "attribute/groups.h"
#include "pipeline_state.h"

/* What the smallest range or group around addr that is confirmed says; -1: nothing is. */
static int claim_at(const struct space *space, const struct vma *vma, uint64_t addr)
{
    uint64_t start, end;
    const struct range *range;

    range_bounds(vma, addr, &start, &end);
    range = space_find_range(space, start);
    if (range && range_evidence(range) == REASON_NONE)
        return range->claim.node;
    for (unsigned level = 0; level < GROUP_LEVELS; level++) {
        group_bounds(vma, addr, level, &start, &end);
        HASH_FIND(hh, space->groups[level], &start, sizeof start, range);
        if (range && range->claim.shared)
            return -1;
        if (range && range_evidence(range) == REASON_NONE)
            return range->claim.node;
    }
    return -1;
}

/* Chunks looked at of one use: every one up to 256 MiB, then a part of them. */
#define LOOKED_AT_MAX 128

struct sums {
    double right, wrong, all; /* pages */
};

static void sums_add_use(struct sums *sums, const struct sim_run *run,
                         const struct sim_thread *thread, const struct sim_use *use)
{
    const struct space *space = attribute_find(run->pipeline->attribute, thread->process->pid);
    uint64_t start = thread->process->vmas[use->vma].start;
    const struct vma *vma = space ? space_find_vma(space, start) : NULL;
    int node = sim_machine_thread_node(&run->machine, thread);
    uint64_t n_chunks = (use->n_pages + SIM_CHUNK_PAGES - 1) / SIM_CHUNK_PAGES;
    uint64_t step = SIM_CHUNK_PAGES * ((n_chunks + LOOKED_AT_MAX - 1) / LOOKED_AT_MAX);

    sums->all += (double)use->n_pages;
    for (uint64_t page = 0; vma && page < use->n_pages; page += step) {
        uint64_t left = use->n_pages - page;
        double n = (double)(left < step ? left : step);
        int claim = claim_at(space, vma, start + (use->first + page) * SIM_PAGE_BYTES);

        sums->right += claim == node ? n : 0;
        sums->wrong += claim >= 0 && claim != node ? n : 0;
    }
}

double sim_decided_share(const struct sim_run *run, double *wrongp)
{
    struct sums sums = {0};

    for (int cpu = 0; cpu < run->machine.n_cpus; cpu++)
        for (size_t i = 0; i < run->machine.cpus[cpu].n_threads; i++) {
            const struct sim_thread *thread = run->machine.cpus[cpu].threads[i];

            for (size_t use = 0; use < thread->n_uses; use++)
                sums_add_use(&sums, run, thread, &thread->uses[use]);
        }
    *wrongp = sums.all > 0 ? sums.wrong / sums.all : 0;
    return sums.all > 0 ? sums.right / sums.all : 0;
}
