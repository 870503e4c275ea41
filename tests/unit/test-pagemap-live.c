/* The running kernel's PAGEMAP_SCAN, on another process. Skipped where there is none (before 6.7).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attribute/pagemap.h"
#include "attribute/ranges.h"
#include "attribute/requests.h"
#include "space_rig.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/nsec.h"

#define PAGE ((size_t)4096)
#define HUGE ((size_t)2 << 20)
#define SEC NSEC_PER_SEC

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

/* A process with memory at the same address as this one's, which fill() has made. */
struct bed {
    pid_t pid;
    char *memory; /* aligned to 2 MiB */
    struct host host;
    struct pagemap pagemap;
};

static void *map_aligned(size_t bytes)
{
    char *memory = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_true(memory != MAP_FAILED);
    return memory + (HUGE - (uintptr_t)memory % HUGE) % HUGE;
}

/* The child fills and waits for its end. */
static void bed_init(struct bed *bed, size_t bytes, void (*fill)(char *memory))
{
    int ready[2];
    char byte;

    *bed = (struct bed){.memory = map_aligned(bytes), .host = host_live()};
    assert_int_equal(pipe(ready), 0);
    bed->pid = fork();
    if (!bed->pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fill(bed->memory);
        (void)!write(ready[1], "r", 1);
        for (;;)
            pause();
    }
    assert_true(bed->pid > 0);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    pagemap_init(&bed->pagemap, &bed->host, bed->pid);
}

static void bed_deinit(struct bed *bed)
{
    pagemap_deinit(&bed->pagemap);
    kill(bed->pid, SIGKILL);
    waitpid(bed->pid, NULL, 0);
}

/* Reads pages [start, end) of the memory; skips the test where that cannot be done. */
static void bed_read(struct bed *bed, size_t start, size_t end)
{
    int r = pagemap_read(&bed->pagemap, (uintptr_t)bed->memory + start * PAGE,
                         (uintptr_t)bed->memory + end * PAGE);

    if (r == PAGEMAP_ABSENT || r == PAGEMAP_DENIED) {
        print_message("PAGEMAP_SCAN: %s: not tried\n",
                      r == PAGEMAP_ABSENT ? "this kernel has none (Linux 6.7)" : "not allowed");
        bed_deinit(bed);
        skip();
    }
    assert_int_equal(r, 0);
}

/* Kinds of a page of the memory that was read; 0: not shown. */
static uint64_t kinds_of(const struct bed *bed, size_t page)
{
    uint64_t addr = (uintptr_t)bed->memory + page * PAGE;
    struct page_runs runs = pagemap_cut(&bed->pagemap, addr, addr + PAGE);

    return runs.n_items ? runs.items[0].kinds : 0;
}

enum {
    WRITTEN = 3,
    ZERO = 5,
    CLOSED = 7, /* written, then PROT_NONE */
    SECRET = 9,
    UNMAPPED = 11,
    HUGE_AT = 512
};

static void put_secret(char *at)
{
    CLEANUP(fd_closep) int fd = (int)syscall(SYS_memfd_secret, 0);

    if (fd < 0 || ftruncate(fd, (off_t)PAGE) < 0)
        return;
    if (mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == (void *)at)
        *at = 1;
}

static void fill_kinds(char *memory)
{
    madvise(memory, HUGE, MADV_NOHUGEPAGE);
    madvise(memory + HUGE, HUGE, MADV_HUGEPAGE);
    memory[WRITTEN * PAGE] = 1;
    (void)*(volatile char *)&memory[ZERO * PAGE];
    memory[CLOSED * PAGE] = 1;
    mprotect(&memory[CLOSED * PAGE], PAGE, PROT_NONE);
    put_secret(&memory[SECRET * PAGE]);
    munmap(&memory[UNMAPPED * PAGE], PAGE);
    memory[HUGE] = 1;
}

static void each_kind_of_page_is_shown_for_what_it_is(void **state)
{
    struct bed bed;
    uint64_t huge, secret;

    (void)state;
    bed_init(&bed, 2 * HUGE, fill_kinds);
    bed_read(&bed, 0, 1024);
    assert_int_equal(kinds_of(&bed, WRITTEN), PAGE_PRESENT);
    assert_int_equal(kinds_of(&bed, WRITTEN + 1), 0);
    assert_int_equal(kinds_of(&bed, ZERO), PAGE_PRESENT | PAGE_ZERO);
    assert_int_equal(kinds_of(&bed, CLOSED), PAGE_PRESENT);
    assert_int_equal(kinds_of(&bed, UNMAPPED), 0);
    secret = kinds_of(&bed, SECRET);
    assert_true(secret == PAGE_PRESENT || secret == 0); /* 0: no memfd_secret here */
    huge = kinds_of(&bed, HUGE_AT + 100);
    print_message("huge page: kinds %llx, secret page: %llx\n", (unsigned long long)huge,
                  (unsigned long long)secret);
    /* Without transparent huge pages, or none free: a base page alone. */
    assert_true(huge == (PAGE_PRESENT | PAGE_HUGE) || huge == 0);
    bed_deinit(&bed);
}

static void fill_many(char *memory)
{
    madvise(memory, 4 * HUGE, MADV_NOHUGEPAGE);
    for (size_t page = 0; page < 2048; page += 2)
        memory[page * PAGE] = 1;
}

static void more_runs_than_one_call_gives_are_all_found(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, 4 * HUGE, fill_many);
    bed_read(&bed, 0, 2048);
    assert_int_equal(bed.pagemap.n_runs, 1024);
    assert_true(bed.pagemap.n_calls >= 2);
    for (size_t page = 0; page < 2048; page++)
        assert_int_equal(kinds_of(&bed, page), page % 2 ? 0 : PAGE_PRESENT);
    bed_deinit(&bed);
}

static void a_process_that_has_ended_is_a_matter_of_the_moment(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, HUGE, fill_many);
    bed_read(&bed, 0, 512);
    kill(bed.pid, SIGKILL);
    waitpid(bed.pid, NULL, 0);
    pagemap_deinit(&bed.pagemap);
    pagemap_init(&bed.pagemap, &bed.host, bed.pid);
    assert_int_equal(
        pagemap_read(&bed.pagemap, (uintptr_t)bed.memory, (uintptr_t)bed.memory + HUGE),
        PAGEMAP_FAILED);
    pagemap_deinit(&bed.pagemap);
}

/* 1 GiB, of which the lower half has each 100th page and the upper half 1 % of its huge pages. */
#define GIB_RANGES 512

static void fill_sparse(char *memory)
{
    madvise(memory, GIB_RANGES / 2 * HUGE, MADV_NOHUGEPAGE);
    madvise(memory + GIB_RANGES / 2 * HUGE, GIB_RANGES / 2 * HUGE, MADV_HUGEPAGE);
    for (size_t page = 0; page < GIB_RANGES / 2 * 512; page += 100)
        memory[page * PAGE] = 1;
    for (size_t i = GIB_RANGES / 2; i < GIB_RANGES; i += 100)
        memset(memory + i * HUGE, 1, HUGE);
}

static void fill_small(char *memory)
{
    madvise(memory, 64 * HUGE, MADV_NOHUGEPAGE);
    memset(memory, 1, 64 * HUGE);
}

static void fill_huge(char *memory)
{
    madvise(memory, 64 * HUGE, MADV_HUGEPAGE);
    memset(memory, 1, 64 * HUGE);
}

/* What 16 rounds of queries take. */
struct bill {
    struct residency_counts counts;
    size_t n_known; /* ranges, in the last round */
};

static const struct work_ops ops = {
    .name = "test", .run = residency_request_run, .free = residency_request_free};

static bool run_round(const struct bed *bed, struct space *space, uint64_t now, struct bill *bill)
{
    struct residency_request *residency = NULL;
    int r = residency_request_new(&residency, space, &bed->host, now, &ops, NULL);

    assert_int_equal(r, 0);
    residency->request.pid = bed->pid;
    residency_request_run(&residency->request.work);
    r = residency->request.r;
    residency_request_note(residency, space, &bill->counts);
    assert_int_equal(residency_request_apply(residency, space), 0);
    residency_request_free(&residency->request.work);
    return r >= 0;
}

static bool run_rounds(const struct bed *bed, size_t n_ranges, bool look, struct bill *bill)
{
    struct space *space;
    char maps[128];
    bool works = true;

    *bill = (struct bill){.n_known = 0};
    snprintf(maps, sizeof maps, "%zx-%zx rw-p 0 0:0 0 \n", (size_t)bed->memory,
             (size_t)bed->memory + n_ranges * HUGE);
    space = space_rig_new(maps);
    space->no_pagemap = !look;
    for (size_t i = 0; i < n_ranges; i++)
        space_rig_add(space, 1, 0, (uintptr_t)bed->memory + i * HUGE, 1);
    for (uint64_t round = 1; round <= 16 && works; round++)
        works = run_round(bed, space, round * 30 * SEC, bill);
    for (size_t i = 0; i < n_ranges; i++) {
        const struct range *range = space_find_range(space, (uintptr_t)bed->memory + i * HUGE);

        bill->n_known += range && range_resident_share(range, 0) >= 0;
    }
    space_free(space);
    return works;
}

/* Both ways on one process; prints calls and addresses for each GiB and round. */
static void compare(const char *name, size_t n_ranges, void (*fill)(char *memory),
                    struct bill *with, struct bill *without)
{
    double rounds_gib = 16.0 * (double)n_ranges / 512;
    struct bed bed;

    bed_init(&bed, n_ranges * HUGE, fill);
    bed_read(&bed, 0, 1);
    if (!run_rounds(&bed, n_ranges, false, without)) {
        print_message("move_pages is refused here: not tried\n");
        bed_deinit(&bed);
        skip();
    }
    run_rounds(&bed, n_ranges, true, with);
    bed_deinit(&bed);
    print_message("%s, per GiB and round: without %.0f addresses, %.0f found, %zu of %zu ranges "
                  "known; with %.1f scans, %.0f addresses, %.0f found, %zu known\n",
                  name, (double)without->counts.n_asked / rounds_gib,
                  (double)without->counts.n_found / rounds_gib, without->n_known, n_ranges,
                  (double)with->counts.n_scans / rounds_gib,
                  (double)with->counts.n_asked / rounds_gib,
                  (double)with->counts.n_found / rounds_gib, with->n_known);
}

static void sparse_memory_costs_few_addresses_and_all_of_them_tell(void **state)
{
    struct bill with, without;

    (void)state;
    compare("1 % touched", GIB_RANGES, fill_sparse, &with, &without);
    assert_true(with.n_known >=
                GIB_RANGES / 2 + 3); /* all small ones, the huge ones that are there */
    assert_true(with.counts.n_asked < without.counts.n_asked / 4);
    assert_true(with.counts.n_found >= with.counts.n_asked * 99 / 100);
    assert_true(without.counts.n_found < without.counts.n_asked / 10);
}

static void dense_small_pages_cost_a_look_in_sixteen(void **state)
{
    struct bill with, without;

    (void)state;
    compare("all small", 64, fill_small, &with, &without);
    assert_int_equal(with.counts.n_asked, without.counts.n_asked);
    assert_true(with.counts.n_scans <= 4);
    assert_int_equal(with.n_known, 64);
}

static void dense_huge_pages_cost_an_address_each(void **state)
{
    struct bill with, without;

    (void)state;
    compare("all huge", 64, fill_huge, &with, &without);
    assert_true(with.counts.n_asked <= without.counts.n_asked);
    assert_int_equal(with.n_known, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_page_is_shown_for_what_it_is),
        cmocka_unit_test(more_runs_than_one_call_gives_are_all_found),
        cmocka_unit_test(a_process_that_has_ended_is_a_matter_of_the_moment),
        cmocka_unit_test(sparse_memory_costs_few_addresses_and_all_of_them_tell),
        cmocka_unit_test(dense_small_pages_cost_a_look_in_sixteen),
        cmocka_unit_test(dense_huge_pages_cost_an_address_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
