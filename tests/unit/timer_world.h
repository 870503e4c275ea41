#pragma once
/*
 * The timer source on the fake kernel with one CPU, and the model of one process: its code, some
 * pages of which cannot be read, and what the sink got.
 */
#include "ring-memory.h"

#include <semaphore.h>

#include "fake_host.h"
#include "fake_perf.h"
#include "numabd/sample.h"

#define PAGE UINT64_C(4096)
#define CODE_START UINT64_C(0x400000)
#define CODE_PAGES 4
#define TIMER_WORLD_PID 4711

/* mov (%rdi),%rax; hlt */
static const uint8_t one_access[] = {0x48, 0x8b, 0x07, 0xf4};

struct timer_world {
    uint8_t code[CODE_PAGES * PAGE];
    bool unreadable[CODE_PAGES];
    ssize_t refuse; /* negative: what reading answers */
    unsigned n_reads;
    bool blocks; /* reading waits */
    sem_t entered, leave;

    pid_t wanted; /* -1: everybody */
    struct access accesses[64];
    size_t n_accesses;

    struct fake_perf perf;
    struct fake_host files; /* of the scope */
    struct host host;
    struct host_ops host_ops;
    struct worker_pool *pool;
    struct source source;
};

/* With requests that run in the dispatch, or in a thread. */
void timer_world_open(struct timer_world *world, bool threads);
void timer_world_close(struct timer_world *world);

/* Writes code at an address. */
void timer_world_code(struct timer_world *world, uint64_t at, const uint8_t *bytes, size_t size);
/* A round with the process as the only target, at the rate. */
void timer_world_round(struct timer_world *world, unsigned rate_hz);
/* Puts a record of any kind into the ring; a sample gets the event's id. */
void timer_world_write(struct timer_world *world, const void *record, size_t size);
/* Puts a sample into the ring. */
void timer_world_sample(struct timer_world *world, pid_t pid, uint64_t ip);
void timer_world_drain(struct timer_world *world);
/* Waits for one request of a pool with threads. */
void timer_world_dispatch_one(struct timer_world *world);
struct sample_counts timer_world_counts(const struct timer_world *world);
