#define _GNU_SOURCE
#include "thread.h"

#include <numa.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "access.h"
#include "fail.h"
#include "memory.h"

struct thread {
    const struct team *team;
    const struct member *member;
    struct counters *counters;
    uintptr_t generation; /* that every word before the current chunk carries, in this sweep */
};

static void pin(const struct member *member)
{
    struct bitmask *mask = numa_allocate_cpumask();

    numa_bitmask_setbit(mask, (unsigned int)member->cpu.id);
    if (numa_sched_setaffinity(0, mask) < 0)
        fail("cannot pin a thread to CPU %d: %s", member->cpu.id, strerror(errno));
    numa_bitmask_free(mask);
}

/* The last one wakes whoever waits for all: the monitor, and the other processes. */
static void arrive(const struct team *team, atomic_uint *counter)
{
    if (atomic_fetch_add(counter, 1) + 1 == team->n_members)
        kill(team->shared->monitor, SIGUSR2);
}

static void wait_for_go(const struct shared *shared)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    while (!atomic_load(&shared->go))
        nanosleep(&pause, NULL);
}

/* Memory that several threads write keeps one generation: nobody knows who wrote last. */
static uintptr_t next_generation(const struct thread *thread)
{
    const struct options *options = thread->team->options;

    if (options->workload->shared || options->access == ACCESS_READ)
        return thread->generation;
    return thread->generation + 1;
}

static void do_chunk(struct thread *thread, const struct sweep *sweep, size_t offset)
{
    const struct member *member = thread->member;
    uintptr_t *word = (uintptr_t *)(member->base + offset);
    const uintptr_t *end = word + TEAM_CHUNK_BYTES / sizeof(*word);
    size_t node = machine_here(thread->team->machine);
    size_t errors;

    if (thread->team->options->verify) {
        errors = access_checked(sweep, word, end);
        if (errors > 0)
            atomic_fetch_add_explicit(&thread->counters->errors, errors, memory_order_relaxed);
    } else {
        access_plain(sweep, word, end);
    }
    atomic_store_explicit(&thread->counters->node, node, memory_order_relaxed);
    atomic_fetch_add_explicit(&thread->counters->chunks[node], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&thread->counters->n_chunks, 1, memory_order_relaxed);
}

/* Threads that share their memory begin at different places. */
static size_t first_offset(const struct thread *thread)
{
    const struct member *member = thread->member;
    size_t part = (member->end - member->start) / thread->team->per_process;

    if (!thread->team->options->workload->shared)
        return member->start;
    return member->start + member->index * (part / TEAM_CHUNK_BYTES * TEAM_CHUNK_BYTES);
}

/* Returns where it was interrupted, or the end of the memory. */
static size_t do_sweep(struct thread *thread, size_t first)
{
    const struct member *member = thread->member;
    const struct sweep sweep = {.kind = thread->team->options->access,
                                .expected = thread->generation,
                                .next = next_generation(thread)};
    size_t bytes = member->end - member->start;

    for (size_t done = 0; done < bytes; done += TEAM_CHUNK_BYTES) {
        size_t offset = member->start + (first - member->start + done) % bytes;

        if (atomic_load_explicit(&thread->team->shared->stop, memory_order_relaxed))
            return offset;
        do_chunk(thread, &sweep, offset);
    }
    thread->generation = sweep.next;
    return member->end;
}

/* Words before REACHED carry the generation of the interrupted sweep, the others the one before. */
static void final_check(struct thread *thread, size_t reached)
{
    const struct member *member = thread->member;
    uintptr_t newest = reached == member->end ? thread->generation : next_generation(thread);
    const uintptr_t *start = (const uintptr_t *)(member->base + member->start);
    const uintptr_t *middle = (const uintptr_t *)(member->base + reached);
    const uintptr_t *end = (const uintptr_t *)(member->base + member->end);

    atomic_fetch_add(&thread->counters->errors,
                     do_check(start, middle, newest) + do_check(middle, end, thread->generation));
}

static void work(struct thread *thread)
{
    unsigned long passes = thread->team->options->passes;
    size_t first = first_offset(thread), reached = thread->member->end;

    for (unsigned long pass = 0; passes == 0 || pass < passes; pass++) {
        reached = do_sweep(thread, first);
        if (atomic_load_explicit(&thread->team->shared->stop, memory_order_relaxed))
            break;
    }
    if (thread->team->options->verify)
        final_check(thread, reached);
}

static void *run(void *argument)
{
    struct thread *thread = argument;
    const struct team *team = thread->team;
    char name[16];

    snprintf(name, sizeof(name), "bench-%u.%u", thread->member->process, thread->member->index);
    pthread_setname_np(pthread_self(), name);
    if (team->options->pin)
        pin(thread->member);
    memory_populate(team, thread->member);
    atomic_store(&thread->counters->node, machine_here(team->machine));
    arrive(team, &team->shared->populated);
    wait_for_go(team->shared);
    if (team->options->hold_page && thread->member->process == 0 && thread->member->index == 0)
        memory_hold_page(thread->member);
    work(thread);
    arrive(team, &team->shared->finished);
    free(thread);
    return NULL;
}

void thread_start(const struct team *team, const struct member *member, struct counters *counters)
{
    struct thread *thread = malloc(sizeof(*thread));
    pthread_t id;
    int error;

    if (thread == NULL)
        fail("out of memory");
    *thread = (struct thread){.team = team, .member = member, .counters = counters};
    error = pthread_create(&id, NULL, run, thread);
    if (error != 0)
        fail("cannot start a thread: %s", strerror(error));
    pthread_detach(id);
}
