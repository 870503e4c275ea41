/*
 * Each memory backend of the command line is a run of exactly its size, of its kind, and, where it
 * has one, of its path. QEMU's own files are called qemu_back_mem.ID.XXXXXX (older) or
 * qemu_back_mem._objects_ID.XXXXXX, which tells them apart.
 *
 * Where several backends fit the same runs (two nodes of equal size), they are as many, and were
 * mapped in the order of the command line. The kernel takes the highest gap that fits, below
 * what is there already, or, with the legacy layout, the lowest one above it; which of both is
 * told by the interpreter, which was mapped before. So the first backend lies nearest to the
 * interpreter. With runs on both sides of it, nothing is certain.
 *
 * One backend of a node that cannot be found makes all memory the memory of all vCPUs: shared looks
 * like shared and stays, while a wrong node would be moved the wrong way.
 *
 * Without a command line that says anything (Cloud Hypervisor, Firecracker, crosvm), the guest's
 * memory is each run of anonymous memory, memfd or hugetlbfs of at least 32 MiB and of 1/64 of the
 * largest. That leaves out thread stacks (8 MiB) and malloc's arenas (64 MiB, of which they map
 * what they use), and keeps the small piece below or above the hole for devices under 4 GiB.
 */
#include "sample/kvm/vmm_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sample/kvm/vmm_runs.h"
#include "util/array.h"
#include "util/cleanup.h"

#define GUEST_RUN_MIN ((uint64_t)32 << 20)
#define GUEST_RUN_SHARE 64

void vmm_memory_deinit(struct vmm_memory *memory)
{
    free(memory->ranges);
    *memory = (struct vmm_memory){0};
}

static int memory_add(struct vmm_memory *memory, const struct vmm_run *run, int node)
{
    if (ARRAY_RESERVE(memory->ranges, memory->cap, memory->n_ranges + 1) < 0)
        return -ENOMEM;
    memory->ranges[memory->n_ranges++] =
        (struct vmm_range){.start = run->start, .end = run->end, .node = node};
    return 0;
}

static uint64_t run_bytes(const struct vmm_run *run)
{
    return run->end - run->start;
}

/* Is it QEMU's own file in a folder, and of another backend? */
static bool run_is_of_other(const struct vmm_run *run, const char *id)
{
    static const char *const patterns[] = {"/qemu_back_mem.", "/qemu_back_mem._objects_"};

    if (!vmm_run_name_holds(run, patterns[0]))
        return false;
    for (size_t i = 0; i < ARRAY_LENGTH(patterns); i++) {
        CLEANUP(freep) char *name = NULL;

        if (asprintf(&name, "%s%s.", patterns[i], id) < 0)
            return name = NULL, true;
        if (vmm_run_name_holds(run, name))
            return false;
    }
    return true;
}

/* "/dev/hugepages" holds "/dev/hugepages/x" and not "/dev/hugepages1G/x". */
static bool run_is_below(const struct vmm_run *run, const char *path)
{
    size_t size = strlen(path);

    while (size > 1 && path[size - 1] == '/')
        size--;
    return run->name_size >= size && memcmp(run->name, path, size) == 0 &&
           (run->name_size == size || run->name[size] == '/' || run->name[size] == ' ');
}

static bool run_is_of(const struct vmm_run *run, const struct qemu_backend *backend)
{
    switch (backend->kind) {
    case QEMU_BACKEND_RAM: /* with share=on newer QEMU makes a memfd of it */
        return run->kind == VMM_RUN_ANONYMOUS || run->kind == VMM_RUN_MEMFD;
    case QEMU_BACKEND_MEMFD:
        return run->kind == VMM_RUN_MEMFD;
    case QEMU_BACKEND_FILE:
        return backend->path && run_is_below(run, backend->path) &&
               !run_is_of_other(run, backend->id);
    }
    return false;
}

static bool run_fits(const struct vmm_runs *runs, size_t first, const struct qemu_backend *backend,
                     struct vmm_run *run)
{
    return vmm_runs_join(runs, first, backend->bytes, run) && run_is_of(run, backend);
}

/* The runs that fit a backend, and the backends that fit the first of them. */
struct fit {
    uint64_t first_start, last_start;
    size_t n_runs, n_backends;
    size_t rank; /* of these backends, so many stand before this one */
};

static struct fit fit_of(const struct vmm_runs *runs, const struct qemu_args *args, size_t backend)
{
    struct fit fit = {0};
    struct vmm_run run;
    size_t first = 0;

    for (size_t i = 0; i < runs->n; i++) {
        if (!run_fits(runs, i, &args->backends[backend], &run))
            continue;
        if (fit.n_runs++ == 0)
            first = i, fit.first_start = run.start;
        fit.last_start = run.start;
    }
    for (size_t i = 0; i < args->n_backends && fit.n_runs; i++) {
        bool fits = run_fits(runs, first, &args->backends[i], &run);

        fit.n_backends += fits;
        fit.rank += fits && i < backend;
    }
    return fit;
}

/* The n-th run that fits. */
static bool fit_nth(const struct vmm_runs *runs, const struct qemu_backend *backend, size_t n,
                    struct vmm_run *run)
{
    for (size_t i = 0; i < runs->n; i++)
        if (run_fits(runs, i, backend, run) && n-- == 0)
            return true;
    return false;
}

/* Return: false when it is not there, or cannot be told from others. */
static bool backend_run(const struct vmm_runs *runs, const struct qemu_args *args, size_t backend,
                        struct vmm_run *run)
{
    struct fit fit = fit_of(runs, args, backend);
    size_t nth = 0;

    if (fit.n_runs == 0 || fit.n_runs != fit.n_backends)
        return false;
    if (fit.n_runs > 1) {
        if (!runs->interpreter)
            return false;
        if (fit.last_start < runs->interpreter)
            nth = fit.n_runs - 1 - fit.rank;
        else if (fit.first_start > runs->interpreter)
            nth = fit.rank;
        else
            return false;
    }
    return fit_nth(runs, &args->backends[backend], nth, run);
}

static bool memory_overlaps(const struct vmm_memory *memory, const struct vmm_run *run)
{
    for (size_t i = 0; i < memory->n_ranges; i++)
        if (memory->ranges[i].start < run->end && run->start < memory->ranges[i].end)
            return true;
    return false;
}

/* Return: 0, MEMORY_UNCERTAIN (*memory may hold something), or -ENOMEM. */
enum {
    MEMORY_UNCERTAIN = 1
};
static int memory_find_backends(struct vmm_memory *memory, const struct qemu_args *args,
                                const struct vmm_runs *runs)
{
    for (size_t i = 0; i < args->n_backends; i++) {
        struct vmm_run run;
        int node = args->backends[i].node;
        bool found = backend_run(runs, args, i, &run);
        int r;

        /* Of no node beside those that have one: a DIMM or NVDIMM, which may be a device. */
        if (!found && node < 0 && args->n_nodes > 0)
            continue;
        if (!found || memory_overlaps(memory, &run))
            return MEMORY_UNCERTAIN;
        r = memory_add(memory, &run, args->vague ? -1 : node);
        if (r)
            return r;
    }
    return memory->n_ranges > 0 ? 0 : MEMORY_UNCERTAIN;
}

/* A mapped disk image is no guest memory; files in RAM are, and they are deleted at once or below
 * /dev. */
static bool run_may_be_guest(const struct vmm_run *run)
{
    return run->kind != VMM_RUN_FILE ||
           (run->shared &&
            (vmm_run_name_begins(run, "/dev/hugepages") || vmm_run_name_begins(run, "/dev/shm/") ||
             vmm_run_name_holds(run, "/qemu_back_mem.")));
}

static int memory_find_largest(struct vmm_memory *memory, const struct vmm_runs *runs)
{
    uint64_t min = GUEST_RUN_MIN;
    int r = 0;

    for (size_t i = 0; i < runs->n; i++)
        if (run_may_be_guest(&runs->items[i]) && run_bytes(&runs->items[i]) / GUEST_RUN_SHARE > min)
            min = run_bytes(&runs->items[i]) / GUEST_RUN_SHARE;
    for (size_t i = 0; i < runs->n && !r; i++)
        if (run_may_be_guest(&runs->items[i]) && run_bytes(&runs->items[i]) >= min)
            r = memory_add(memory, &runs->items[i], -1);
    return r;
}

int vmm_memory_find(struct vmm_memory *memory, const struct qemu_args *args, const char *maps,
                    size_t size)
{
    CLEANUP(vmm_runs_deinit) struct vmm_runs runs = {0};
    int r;

    r = vmm_runs_parse(&runs, maps, size);
    if (!r)
        r = memory_find_backends(memory, args, &runs);
    if (r == MEMORY_UNCERTAIN) {
        memory->n_ranges = 0;
        r = memory_find_largest(memory, &runs);
    }
    return r;
}

bool vmm_memory_has_node(const struct vmm_memory *memory, int node)
{
    for (size_t i = 0; i < memory->n_ranges; i++)
        if (memory->ranges[i].node == node)
            return true;
    return false;
}
