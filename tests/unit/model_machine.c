#include "model_machine.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/array.h"
#include "util/cleanup.h"
#include "util/nsec.h"

#define DEFAULT_RATE_HZ 250

void model_init(struct model *model, const struct model_shape *shape, uint64_t seed)
{
    *model = (struct model){
        .shape = *shape,
        .random = seed * 2 + 1,
        .now = 1000 * NSEC_PER_SEC,
        .rate_hz = DEFAULT_RATE_HZ,
    };
    for (int node = 0; node < shape->n_nodes; node++)
        model->free_pages[node] = (uint64_t)shape->memory_mib[node] * MODEL_MIB_PAGES;
}

static void process_free_memory(struct model *model, struct model_process *process)
{
    for (size_t i = 0; i < process->n_vmas; i++) {
        struct model_vma *vma = &process->vmas[i];

        if (vma->borrowed)
            continue;
        for (size_t page = 0; page < vma->n_pages; page++)
            if (vma->pages[page].at >= 0)
                model->free_pages[vma->pages[page].at]++;
        free(vma->pages);
    }
    process->n_vmas = 0;
    process->n_threads = 0;
}

void model_deinit(struct model *model)
{
    for (size_t i = 0; i < model->n_processes; i++) {
        struct model_process *process = model->processes[i];

        process_free_memory(model, process);
        fd_close(process->maps_fd);
        fd_close(process->ended_fd);
        free(process);
    }
    free(model->processes);
    free(model->calls);
}

/* xorshift64* (Vigna 2016) */
uint64_t model_random(struct model *model, uint64_t limit)
{
    model->random ^= model->random >> 12;
    model->random ^= model->random << 25;
    model->random ^= model->random >> 27;
    return (model->random * UINT64_C(2685821657736338717) >> 32) % limit;
}

struct model_process *model_add_process(struct model *model, pid_t pid, const char *comm)
{
    struct model_process *process = calloc(1, sizeof(*process));

    assert_non_null(process);
    assert_null(model_find(model, pid));
    *process = (struct model_process){
        .pid = pid,
        .start_ticks = 1000 + model->n_processes,
        .comm = comm,
        .maps_fd = -1,
        .ended_fd = eventfd(0, EFD_CLOEXEC),
    };
    assert_true(process->ended_fd >= 0);
    assert_int_equal(ARRAY_RESERVE(model->processes, model->processes_cap, model->n_processes + 1),
                     0);
    model->processes[model->n_processes++] = process;
    return process;
}

struct model_process *model_find(const struct model *model, pid_t pid)
{
    for (size_t i = 0; i < model->n_processes; i++)
        if (model->processes[i]->pid == pid && !model->processes[i]->ended)
            return model->processes[i];
    return NULL;
}

struct model_vma *model_add_vma(struct model *model, struct model_process *process, size_t n_pages,
                                int node)
{
    struct model_vma *vma = &process->vmas[process->n_vmas];

    assert_true(process->n_vmas < MODEL_VMAS);
    *vma = (struct model_vma){
        .start = MODEL_BASE + process->n_vmas * MODEL_VMA_STEP,
        .pages = calloc(n_pages, sizeof(*vma->pages)),
        .n_pages = n_pages,
        .perms = "rw-p",
        .policy = "default",
    };
    assert_non_null(vma->pages);
    assert_true(model->free_pages[node] >= n_pages);
    model->free_pages[node] -= n_pages;
    for (size_t page = 0; page < n_pages; page++)
        vma->pages[page].at = node;
    process->n_vmas++;
    return vma;
}

struct model_vma *model_add_shared(struct model_process *process, struct model_vma *of)
{
    struct model_vma *vma = &process->vmas[process->n_vmas];

    assert_true(process->n_vmas < MODEL_VMAS);
    of->perms = "rw-s";
    of->inode = of->start >> 12; /* no two mappings of a machine are shared here */
    for (size_t page = 0; page < of->n_pages; page++)
        of->pages[page].flags |= MODEL_PAGE_SHARED;
    *vma = *of;
    vma->start = MODEL_BASE + (8 + process->n_vmas) * MODEL_VMA_STEP;
    vma->borrowed = true;
    process->n_vmas++;
    return vma;
}

void model_set_huge(struct model_vma *vma)
{
    assert_int_equal(vma->n_pages % MODEL_HUGE_PAGES, 0);
    for (size_t page = 0; page < vma->n_pages; page++)
        vma->pages[page].flags |= MODEL_PAGE_HUGE;
}

/* Every copy of the fd reads as empty from now on. */
static void process_end_space(struct model_process *process)
{
    if (process->maps_fd >= 0)
        assert_int_equal(ftruncate(process->maps_fd, 0), 0);
    process->maps_fd = fd_close(process->maps_fd);
}

void model_kill(struct model *model, struct model_process *process)
{
    process->ended = true;
    process_end_space(process);
    process_free_memory(model, process);
    assert_int_equal(eventfd_write(process->ended_fd, 1), 0);
}

void model_exec(struct model *model, struct model_process *process, const char *comm)
{
    process_end_space(process);
    process_free_memory(model, process);
    process->comm = comm;
}

void model_add_workers(struct model_process *process, const int *cpus, size_t n)
{
    size_t part = process->vmas[0].n_pages / n;

    for (size_t i = 0; i < n; i++) {
        assert_true(process->n_threads < MODEL_THREADS);
        process->threads[process->n_threads++] = (struct model_thread){
            .tid = process->pid + (pid_t)i, .cpu = cpus[i], .first = i * part, .n_pages = part};
    }
}

void model_share_all(struct model_process *process)
{
    for (size_t i = 0; i < process->n_threads; i++) {
        process->threads[i].first = 0;
        process->threads[i].n_pages = process->vmas[0].n_pages;
    }
}

size_t model_pages_on(const struct model_process *process, int node)
{
    size_t n = 0;

    for (size_t i = 0; i < process->n_vmas; i++)
        for (size_t page = 0; page < process->vmas[i].n_pages; page++)
            n += process->vmas[i].pages[page].at == node;
    return n;
}

int model_remote_permyriad(const struct model *model, const struct model_process *process)
{
    double remote = 0;

    for (size_t i = 0; i < process->n_threads; i++) {
        const struct model_thread *thread = &process->threads[i];
        const struct model_page *pages = &process->vmas[thread->vma].pages[thread->first];
        size_t n = 0;

        for (size_t page = 0; page < thread->n_pages; page++)
            n += pages[page].at != model_cpu_node(model, thread->cpu);
        remote += (double)n / (double)thread->n_pages;
    }
    return (int)(10000 * remote / (double)process->n_threads + 0.5);
}

int model_cpu_node(const struct model *model, int cpu)
{
    unsigned first = 0;

    for (int node = 0; node < model->shape.n_nodes; node++) {
        first += model->shape.cpus[node];
        if (cpu >= 0 && (unsigned)cpu < first)
            return node;
    }
    return -1;
}

void model_log_call(struct model *model, enum model_call_kind kind, pid_t pid, size_t n, long r)
{
    assert_int_equal(ARRAY_RESERVE(model->calls, model->calls_cap, model->n_calls + 1), 0);
    model->calls[model->n_calls++] = (struct model_call){.kind = kind, .pid = pid, .n = n, .r = r};
}

size_t model_n_calls(const struct model *model, enum model_call_kind kind, pid_t pid)
{
    size_t n = 0;

    for (size_t i = 0; i < model->n_calls; i++)
        n += model->calls[i].kind == kind && model->calls[i].pid == pid;
    return n;
}
