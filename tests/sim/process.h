#pragma once
/*
 * Processes: mappings of objects, and threads that use parts of them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sim/object.h"

struct sim_vma {
    uint64_t start;
    struct sim_object *object; /* mapped as a whole; a private one is the process's */
    const char *perms;         /* as in maps */
    const char *policy;        /* as in numa_maps */
    /* Pages in the process's page table; all that are present, unless set. */
    uint64_t first_mapped, n_mapped;
};

/* A part of one mapping that a thread touches, evenly at random. */
struct sim_use {
    size_t vma;
    uint64_t first, n_pages;
    double weight; /* share of the thread's accesses, among those of its uses */
};

struct sim_thread {
    pid_t tid;
    struct sim_process *process;
    const char *policy; /* of its own; NULL: none */
    bool pinned;
    int cpu;     /* whose turn it waits for or has; -1: asleep */
    size_t turn; /* its place among the threads of the CPU */
    struct sim_use *uses;
    size_t n_uses, cap;
    double weight; /* of all uses */
};

struct sim_process {
    pid_t pid;
    uint64_t start_ticks;
    const char *comm;
    const char *mems_allowed; /* NULL: all */
    bool ended;
    bool spared;          /* none of its pages may ever be moved */
    struct sim_vma *vmas; /* ascending */
    size_t n_vmas, vmas_cap;
    uint64_t end; /* of the last one */
    struct sim_thread **threads;
    size_t n_threads, threads_cap;
    unsigned asked_hz;  /* samples per second and CPU that numabd asked for */
    bool wanted;        /* by numabd, at the last drain */
    uint64_t n_samples; /* handed over */
};

struct sim_process *sim_process_new(pid_t pid, const char *comm);
struct sim_process *sim_process_free(struct sim_process *process);

/* Maps an object behind the mappings that are there. Return: the place of the mapping. */
size_t sim_process_map(struct sim_process *process, struct sim_object *object);
/* The last mapping goes to another address. */
void sim_process_remap(struct sim_process *process);
/* Only pages [first, first + n) of a mapping are in the page table. */
void sim_process_touch(struct sim_process *process, size_t vma, uint64_t first, uint64_t n);
/* Is this page of a mapping in the page table, if it is present at all? */
bool sim_vma_maps(const struct sim_vma *vma, uint64_t page);
/* The mapping around addr, NULL: none. */
struct sim_vma *sim_process_find_vma(struct sim_process *process, uint64_t addr);
uint64_t sim_process_n_present(const struct sim_process *process);

/* Asleep, and without memory. It stays the process's. */
struct sim_thread *sim_process_add_thread(struct sim_process *process);

void sim_thread_use(struct sim_thread *thread, size_t vma, uint64_t first, uint64_t n_pages,
                    double weight);
/* Uses nothing any more: the next phase begins. */
void sim_thread_drop_uses(struct sim_thread *thread);
