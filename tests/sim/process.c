#include "sim/process.h"

#include "sim/fail.h"
#include "util/array.h"

#define FIRST_ADDR UINT64_C(0x100000000000)
/* Between mappings, so that no two are ever taken for one, and each begins at a huge page. */
#define GAP_BYTES (SIM_CHUNK_PAGES * SIM_PAGE_BYTES)

struct sim_process *sim_process_new(pid_t pid, const char *comm)
{
    struct sim_process *process = sim_calloc(1, sizeof *process);

    *process = (struct sim_process){
        .pid = pid, .start_ticks = 1000 + (uint64_t)pid, .comm = comm, .end = FIRST_ADDR};
    return process;
}

struct sim_process *sim_process_free(struct sim_process *process)
{
    if (!process)
        return NULL;
    for (size_t i = 0; i < process->n_threads; i++) {
        free(process->threads[i]->uses);
        free(process->threads[i]);
    }
    free(process->threads);
    free(process->vmas);
    free(process);
    return NULL;
}

size_t sim_process_map(struct sim_process *process, struct sim_object *object)
{
    uint64_t start = (process->end + 2 * GAP_BYTES - 1) / GAP_BYTES * GAP_BYTES;

    SIM_NEED(ARRAY_RESERVE(process->vmas, process->vmas_cap, process->n_vmas + 1) == 0);
    process->vmas[process->n_vmas] = (struct sim_vma){
        .start = start,
        .object = object,
        .perms = object->shared ? "rw-s" : "rw-p",
        .policy = "default",
        .n_mapped = object->n_pages,
    };
    process->end = start + object->n_pages * SIM_PAGE_BYTES;
    object->n_mappers++;
    return process->n_vmas++;
}

void sim_process_remap(struct sim_process *process)
{
    struct sim_vma *vma = &process->vmas[process->n_vmas - 1];

    vma->start = process->end + GAP_BYTES;
    process->end = vma->start + vma->object->n_pages * SIM_PAGE_BYTES;
}

void sim_process_touch(struct sim_process *process, size_t vma, uint64_t first, uint64_t n)
{
    process->vmas[vma].first_mapped = first;
    process->vmas[vma].n_mapped = n;
}

bool sim_vma_maps(const struct sim_vma *vma, uint64_t page)
{
    return page >= vma->first_mapped && page - vma->first_mapped < vma->n_mapped;
}

struct sim_vma *sim_process_find_vma(struct sim_process *process, uint64_t addr)
{
    size_t low = 0, high = process->n_vmas;

    while (low < high) {
        size_t middle = (low + high) / 2;
        struct sim_vma *vma = &process->vmas[middle];

        if (addr < vma->start)
            high = middle;
        else if (addr >= vma->start + vma->object->n_pages * SIM_PAGE_BYTES)
            low = middle + 1;
        else
            return vma;
    }
    return NULL;
}

uint64_t sim_process_n_present(const struct sim_process *process)
{
    uint64_t n = 0;

    for (size_t i = 0; i < process->n_vmas; i++) {
        uint64_t present = sim_object_n_present(process->vmas[i].object);

        n += present < process->vmas[i].n_mapped ? present : process->vmas[i].n_mapped;
    }
    return n;
}

struct sim_thread *sim_process_add_thread(struct sim_process *process)
{
    struct sim_thread *thread = sim_calloc(1, sizeof *thread);

    *thread = (struct sim_thread){
        .tid = process->pid + (pid_t)process->n_threads,
        .process = process,
        .cpu = -1,
    };
    SIM_NEED(ARRAY_RESERVE(process->threads, process->threads_cap, process->n_threads + 1) == 0);
    process->threads[process->n_threads++] = thread;
    return thread;
}

void sim_thread_use(struct sim_thread *thread, size_t vma, uint64_t first, uint64_t n_pages,
                    double weight)
{
    SIM_NEED(vma < thread->process->n_vmas && n_pages > 0);
    SIM_NEED(first + n_pages <= thread->process->vmas[vma].object->n_pages);
    SIM_NEED(ARRAY_RESERVE(thread->uses, thread->cap, thread->n_uses + 1) == 0);
    thread->uses[thread->n_uses++] =
        (struct sim_use){.vma = vma, .first = first, .n_pages = n_pages, .weight = weight};
    thread->weight += weight;
}

void sim_thread_drop_uses(struct sim_thread *thread)
{
    thread->n_uses = 0;
    thread->weight = 0;
}
