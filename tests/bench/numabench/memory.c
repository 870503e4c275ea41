#define _GNU_SOURCE
#include "memory.h"

#include <fcntl.h>
#include <numa.h>
#include <numaif.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "access.h"
#include "fail.h"

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/* Shared memory is touched first by its threads in turn, in pieces of this size. */
#define PIECE_BYTES HUGE_PAGE_BYTES

uintptr_t memory_map(size_t bytes, bool huge)
{
    uintptr_t start, aligned;
    void *memory = mmap(NULL, bytes + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        fail_errno("cannot map the memory");
    start = (uintptr_t)memory;
    aligned = (start + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    if (aligned > start)
        munmap(memory, aligned - start);
    if (aligned < start + HUGE_PAGE_BYTES)
        munmap((void *)(aligned + bytes), start + HUGE_PAGE_BYTES - aligned);
    if (madvise((void *)aligned, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) < 0 &&
        (huge || errno != EINVAL))
        fail_errno("cannot choose the page size");
    return aligned;
}

void memory_check_placement(const struct options *options, const struct machine *machine)
{
    size_t node = 0;

    if (options->placement == PLACEMENT_NODE) {
        node = machine_find(machine, options->node);
        if (node == machine->n_nodes || !machine->nodes[node].memory)
            fail("node %d has no memory that we may use", options->node);
    }
    if (options->placement == PLACEMENT_INVERSE_BIND)
        for (size_t cpu = 0; cpu < machine->n_cpus; cpu++)
            if (machine_opposite(machine, machine->cpus[cpu].node) == machine->n_nodes)
                fail("inverse-bind needs two nodes with CPUs and memory");
    if (options->placement == PLACEMENT_HARD_BIND)
        for (size_t cpu = 0; cpu < machine->n_cpus; cpu++)
            if (!machine->nodes[machine->cpus[cpu].node].memory)
                fail("hard-bind: node %d has no memory that we may use",
                     machine->nodes[machine->cpus[cpu].node].id);
}

/* Node id that MEMBER's pages are to begin on, or -1 for wherever it runs. */
static int wanted_node(const struct team *team, const struct member *member)
{
    const struct machine *machine = team->machine;

    switch (team->options->placement) {
    case PLACEMENT_FIRST_TOUCH:
        return -1;
    case PLACEMENT_NODE:
        return team->options->node;
    case PLACEMENT_HARD_BIND:
        return machine->nodes[member->cpu.node].id;
    case PLACEMENT_INVERSE_BIND:
        return machine->nodes[machine_opposite(machine, member->cpu.node)].id;
    }
    return -1;
}

static void bind_piece(uintptr_t start, size_t bytes, int node)
{
    struct bitmask *mask = numa_allocate_nodemask();

    numa_bitmask_setbit(mask, (unsigned int)node);
    if (mbind((void *)start, bytes, MPOL_BIND, mask->maskp, mask->size + 1, 0) < 0)
        fail("cannot bind memory to node %d: %s", node, strerror(errno));
    numa_bitmask_free(mask);
}

static void populate_piece(const struct team *team, const struct member *member, size_t start,
                           size_t end, int node)
{
    uintptr_t *word = (uintptr_t *)(member->base + start);

    if (team->options->placement == PLACEMENT_HARD_BIND)
        bind_piece(member->base + start, end - start, node);
    do_write(word, (uintptr_t *)(member->base + end), 0);
}

/*
 * A full node must be an error, not a test that measures something else. MPOL_BIND would call the
 * OOM killer, so the thread only prefers the node, and looks where its first and last pages went.
 */
static void check_piece(const struct member *member, size_t start, size_t end, int node)
{
    void *pages[2] = {(void *)(member->base + start), (void *)(member->base + end - 4096)};
    int status[2];

    if (numa_move_pages(0, 2, pages, NULL, status, 0) < 0)
        fail_errno("move_pages");
    if (status[0] != node || status[1] != node)
        fail("node %d has not enough free memory", node);
}

void memory_populate(const struct team *team, const struct member *member)
{
    int node = wanted_node(team, member);
    size_t step = PIECE_BYTES * team->per_process;

    if (node >= 0)
        numa_set_preferred(node);
    if (team->options->workload->shared) {
        for (size_t start = member->index * PIECE_BYTES; start < member->end; start += step) {
            size_t end = start + PIECE_BYTES < member->end ? start + PIECE_BYTES : member->end;

            populate_piece(team, member, start, end, node);
            if (node >= 0)
                check_piece(member, start, end, node);
        }
    } else {
        populate_piece(team, member, member->start, member->end, node);
        if (node >= 0)
            check_piece(member, member->start, member->end, node);
    }
    if (node >= 0 && set_mempolicy(MPOL_DEFAULT, NULL, 0) < 0)
        fail_errno("set_mempolicy");
}

void memory_hold_page(const struct member *member)
{
    struct iovec page = {
        .iov_base = (void *)(member->base + (member->start + member->end) / 2 / 4096 * 4096),
        .iov_len = 4096,
    };
    int ends[2];

    /* The pipe is never read and stays open: its reference to the page lasts as long as we do. */
    if (pipe2(ends, O_CLOEXEC) < 0)
        fail_errno("pipe");
    if (vmsplice(ends[1], &page, 1, 0) != (ssize_t)page.iov_len)
        fail_errno("vmsplice");
    printf("numabench held page %p\n", page.iov_base);
    fflush(stdout);
}
