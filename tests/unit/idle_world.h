#pragma once
/*
 * The model of a machine with idle-page tracking, as host: page frames, processes that map them,
 * the bitmap with the kernel's habits, and all that can go wrong. It has no lock, except where it
 * says.
 *
 * numabd's own memory (the self-test's) is mapped to the frames from IDLE_WORLD_OWN on; a page of
 * it counts as accessed when its first byte changes.
 */
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/host.h"

#define IDLE_WORLD_FRAMES 4096
#define IDLE_WORLD_OWN 2048 /* first frame of numabd's own memory */
#define IDLE_WORLD_PAGE UINT64_C(4096)

struct idle_world_frame {
    bool used, lru, ksm, idle, young;
    uint64_t head; /* of its folio; itself for a small page */
    const volatile unsigned char *own;
    unsigned char own_byte; /* when the bit was set or read last */
};

struct idle_world_page {
    pid_t pid;
    uint64_t addr, pfn;
    bool swapped;
};

struct idle_world {
    struct host host; /* for the code under test */
    struct idle_world_frame frames[IDLE_WORLD_FRAMES];
    struct idle_world_page pages[1024];
    size_t n_pages;
    uint64_t own_start; /* set by the first look at an own page */

    /* Refusals: negative errno or 0. */
    int bitmap_error, flags_error, pagemap_error;
    size_t bitmap_calls_good; /* calls before bitmap_error holds */
    bool hidden;              /* frames read as 0 */
    bool gone;                /* every process has */
    unsigned epoch;           /* +1 with each exec: pagemaps that are open read as empty */
    bool never_sets;          /* arming has no effect */
    bool never_young;         /* accesses are not seen */
    bool always_young;        /* each look at a bit clears it, but for the one right after arming */

    /* Called once, before the next call of that kind takes effect. */
    void (*before_write)(struct idle_world *world);
    void (*before_lookup)(struct idle_world *world);
    bool blocks; /* looking up waits */
    sem_t entered, leave;

    size_t n_writes, n_reads, n_lookups;
    uint64_t bits_written; /* how many */
};

void idle_world_init(struct idle_world *world);
void idle_world_deinit(struct idle_world *world);

/* Maps n pages at addr to n frames from pfn on: small pages on the LRU. */
void idle_world_map(struct idle_world *world, pid_t pid, uint64_t addr, uint64_t pfn, size_t n);
/* Makes one folio of n frames. */
void idle_world_join(struct idle_world *world, uint64_t pfn, size_t n);
/* And small pages again; idle bits are inherited. */
void idle_world_split(struct idle_world *world, uint64_t pfn, size_t n);
void idle_world_touch(struct idle_world *world, pid_t pid, uint64_t addr);
/* Moves a small page to another frame, idle bit and all; the old frame is free then. */
void idle_world_migrate(struct idle_world *world, pid_t pid, uint64_t addr, uint64_t pfn);
struct idle_world_page *idle_world_page(struct idle_world *world, pid_t pid, uint64_t addr);
