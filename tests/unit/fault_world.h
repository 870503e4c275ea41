#pragma once
/*
 * The write_fault source in a model: processes whose pages have soft-dirty bits and fault, /proc
 * files that tell of them, a clock that only clears move, and the perf events of page faults.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample/fault/fault_record.h"
#include "sample/fault/write_fault.h"
#include "sample/scope/perf_scope.h"
#include "util/nsec.h"
#include "util/procfs.h"

#define WORLD_PROCESSES 40
#define WORLD_PAGES 512
#define WORLD_RECORDS 65536
#define WORLD_PAGE_BYTES UINT64_C(4096)
#define WORLD_MEMORY UINT64_C(0x7f0000000000)
#define WORLD_FAULT_SEC 1e-6
#define WORLD_BUDGET 0.01

struct fault_process {
    pid_t pid;
    uint64_t told_ticks; /* the start time that rounds tell; /proc shows start_ticks */
    uint64_t start_ticks, minor_faults, cpu_ticks, rss_pages;
    uint64_t code_start, stack_start;
    pid_t tracer;
    const char *link; /* one more open file, NULL: none */
    unsigned n_links; /* of /dev/null before it */
    int stat_r, status_r, links_r, link_r, open_r;
    bool first_closed; /* between the listing and the look */
    bool gone;
    bool allowed;
    bool is_target;
    bool soft_dirty[WORLD_PAGES];
    unsigned n_cleared;
};

struct fault_record_bytes {
    struct perf_event_header header;
    uint64_t id, ip;
    uint32_t pid, tid;
    uint64_t time, addr;
    uint32_t cpu, reserved;
};

struct fault_world {
    struct fault_process processes[WORLD_PROCESSES];
    size_t n_processes;
    uint64_t now, cpu;
    uint64_t page_nsec; /* of a clear */
    /* between the check and the write */
    void (*before_write)(struct fault_world *world, struct fault_process *process);

    sem_t entered, leave; /* for hooks that block */

    bool wanted;
    struct access *accesses;
    size_t n_accesses;

    struct host host;
    struct worker_pool *pool;
    struct source source;
    struct source_reason reason;
};

/* The scope behind the source; there is one at a time. */
struct perf_scope {
    struct perf_scope_counts counts;
    pid_t covered[WORLD_PROCESSES];
    size_t n_covered, n_covered_max;
    struct fault_record_bytes *records;
    size_t n_records;
    int round_r;
    bool fixed_period;
    unsigned rate_hz;
};

/* What is behind the functions of perf_scope.h, which know no world. */
static struct perf_scope *world_scope;

static int world_scope_open(struct perf_scope **scopep, const struct perf_scope_options *options,
                            struct source_reason *reason)
{
    (void)reason;
    assert_int_equal(options->n_events, 1);
    assert_int_equal(options->events[0].attr.sample_period, 1);
    assert_false(options->events[0].attr.freq);
    assert_false(options->events[0].attr.exclude_kernel);
    *scopep = calloc(1, sizeof **scopep);
    assert_non_null(*scopep);
    (*scopep)->records = calloc(WORLD_RECORDS, sizeof *(*scopep)->records);
    (*scopep)->fixed_period = options->events[0].fixed_period;
    world_scope = *scopep;
    return 0;
}

static struct perf_scope *world_scope_close(struct perf_scope *scope)
{
    if (!scope)
        return NULL;
    free(scope->records);
    free(scope);
    return world_scope = NULL;
}

static int world_scope_round(struct perf_scope *scope, const struct sample_round *round,
                             struct source_reason *reason)
{
    scope->n_covered = 0;
    for (size_t i = 0; i < round->n_targets; i++)
        scope->covered[scope->n_covered++] = round->targets[i].pid;
    if (scope->n_covered > scope->n_covered_max)
        scope->n_covered_max = scope->n_covered;
    if (scope->round_r)
        snprintf(reason->text, sizeof reason->text, "no events");
    return scope->round_r;
}

static void world_scope_read(struct perf_scope *scope,
                             void (*sample)(void *userdata, size_t event, uint64_t period,
                                            const struct perf_event_header *record),
                             void *userdata)
{
    for (size_t i = 0; i < scope->n_records; i++)
        sample(userdata, 0, 1, &scope->records[i].header);
    scope->n_records = 0;
}

static const struct perf_scope_counts *world_scope_counts(struct perf_scope *scope)
{
    return &scope->counts;
}

static struct fault_process *world_find(struct fault_world *world, pid_t pid)
{
    for (size_t i = 0; i < world->n_processes; i++)
        if (world->processes[i].pid == pid && !world->processes[i].gone)
            return &world->processes[i];
    return NULL;
}

static struct fault_process *world_find_path(struct fault_world *world, const char *path,
                                             char name[32])
{
    int pid;

    assert_int_equal(sscanf(path, "proc/%d/%31s", &pid, name), 2);
    return world_find(world, pid);
}

static int world_read_file(void *self, const char *path, size_t limit, char **bufp, size_t *sizep)
{
    char name[32];
    struct fault_process *process = world_find_path(self, path, name);
    int size;

    (void)limit;
    if (!process)
        return PROCFS_GONE;
    if (strcmp(name, "status") == 0) {
        if (process->status_r)
            return process->status_r;
        size = asprintf(bufp, "Name:\tmodel\nTracerPid:\t%d\nUid:\t0\n", (int)process->tracer);
    } else {
        assert_string_equal(name, "stat");
        if (process->stat_r)
            return process->stat_r;
        size = asprintf(
            bufp,
            "%d (a) S (b) S 1 1 1 0 -1 4194560 %llu 0 0 0 %llu 0 0 0 20 0 1 0 %llu "
            "1000 %llu 18446744073709551615 %llu 0 %llu 0 0 0\n",
            (int)process->pid, (unsigned long long)process->minor_faults,
            (unsigned long long)process->cpu_ticks, (unsigned long long)process->start_ticks,
            (unsigned long long)process->rss_pages, (unsigned long long)process->code_start,
            (unsigned long long)process->stack_start);
    }
    assert_true(size > 0);
    *sizep = (size_t)size;
    return 0;
}

/* Files 0 to n_links - 1 are plain ones, n_links is the telling one. */
static int world_list_folder(void *self, const char *path, size_t limit,
                             bool (*visit)(void *userdata, const char *name), void *userdata)
{
    char name[32], file[16];
    struct fault_process *process = world_find_path(self, path, name);

    assert_string_equal(name, "fd");
    if (!process)
        return PROCFS_GONE;
    if (process->links_r)
        return process->links_r;
    for (unsigned i = 0; i < process->n_links + !!process->link && i < limit; i++) {
        snprintf(file, sizeof file, "%u", i);
        if (!visit(userdata, file))
            return 0;
    }
    return 0;
}

static int world_read_link(void *self, const char *path, char *text, size_t size)
{
    char name[32];
    struct fault_process *process = world_find_path(self, path, name);
    unsigned file;

    assert_int_equal(sscanf(name, "fd/%u", &file), 1);
    if (process && process->link_r)
        return process->link_r;
    if (!process || (process->first_closed && file == 0))
        return PROCFS_GONE;
    snprintf(text, size, "%s", file < process->n_links ? "/dev/null" : process->link);
    return 0;
}

/* The process is the one that was there when the file was opened. */
static int world_write_file(void *self, const char *path, const char *text,
                            bool (*check)(void *userdata), void *userdata)
{
    char name[32];
    struct fault_process *process = world_find_path(self, path, name);
    struct fault_world *world = self;

    assert_string_equal(name, "clear_refs");
    assert_string_equal(text, "4");
    if (!process)
        return PROCFS_GONE;
    if (process->open_r)
        return process->open_r;
    if (!check(userdata))
        return HOST_DECLINED;
    if (world->before_write)
        world->before_write(world, process);
    if (process->gone)
        return PROCFS_GONE;
    memset(process->soft_dirty, 0, sizeof process->soft_dirty);
    process->n_cleared++;
    world->cpu += process->rss_pages * world->page_nsec;
    world->now += process->rss_pages * world->page_nsec;
    return 0;
}

static uint64_t world_clock_now(void *userdata)
{
    return ((struct fault_world *)userdata)->now;
}

static uint64_t world_clock_cpu(void *userdata)
{
    return ((struct fault_world *)userdata)->cpu;
}

static void world_push(void *userdata, const struct access *accesses, size_t n)
{
    struct fault_world *world = userdata;

    world->accesses = reallocarray(world->accesses, world->n_accesses + n, sizeof *world->accesses);
    assert_non_null(world->accesses);
    memcpy(world->accesses + world->n_accesses, accesses, n * sizeof *accesses);
    world->n_accesses += n;
}

static bool world_wants(void *userdata, pid_t pid)
{
    struct fault_world *world = userdata;

    return world->wanted && world_find(world, pid);
}

/* With requests that run in the dispatch, or in a thread. */
static void world_open_with(struct fault_world *world, bool threads)
{
    static const struct host_ops ops = {
        .read_file = world_read_file,
        .list_folder = world_list_folder,
        .read_link = world_read_link,
        .write_file = world_write_file,
    };
    static const struct write_fault_events events = {
        .open = world_scope_open,
        .close = world_scope_close,
        .round = world_scope_round,
        .read = world_scope_read,
        .counts = world_scope_counts,
    };
    const struct write_fault_seams seams = {
        .events = &events,
        .clock = {world_clock_now, world_clock_cpu, world},
        .fault_sec = WORLD_FAULT_SEC,
    };
    struct source_options options = {
        .rate_hz = 250,
        .host = &world->host,
        .sink = {world_push, world},
        .filter = {world_wants, world},
        .epoll_fd = -1,
    };

    *world = (struct fault_world){.now = 1000 * NSEC_PER_SEC, .page_nsec = 100, .wanted = true};
    world->host = (struct host){.ops = &ops, .self = world, .page_bytes = WORLD_PAGE_BYTES};
    assert_int_equal(
        threads ? worker_pool_new(&world->pool, 1) : worker_pool_new_inline(&world->pool), 0);
    options.pool = world->pool;
    assert_int_equal(write_fault_new_from_seams(&world->source, &options, &seams, &world->reason),
                     0);
    assert_true(world_scope->fixed_period);
}

static void world_open(struct fault_world *world)
{
    world_open_with(world, false);
}

static void world_close(struct fault_world *world)
{
    source_deinit(&world->source);
    world->pool = worker_pool_free(world->pool);
    free(world->accesses);
}

/* An allowed target of `rss_pages`, all of them written long ago. */
static struct fault_process *world_add(struct fault_world *world, pid_t pid, uint64_t rss_pages)
{
    struct fault_process *process = &world->processes[world->n_processes++];

    assert_true(world->n_processes <= WORLD_PROCESSES);
    *process = (struct fault_process){
        .pid = pid,
        .told_ticks = 7000 + (uint64_t)pid,
        .start_ticks = 7000 + (uint64_t)pid,
        .rss_pages = rss_pages,
        .code_start = 0x400000,
        .stack_start = 0x7ffc0000,
        .n_links = 3,
        .allowed = true,
        .is_target = true,
    };
    memset(process->soft_dirty, 1, sizeof process->soft_dirty);
    return process;
}

static bool world_is_covered(pid_t pid)
{
    for (size_t i = 0; i < world_scope->n_covered; i++)
        if (world_scope->covered[i] == pid)
            return true;
    return false;
}

static void world_record(const struct fault_world *world, pid_t pid, pid_t tid, uint64_t addr)
{
    assert_true(world_scope->n_records < WORLD_RECORDS);
    world_scope->records[world_scope->n_records++] = (struct fault_record_bytes){
        .header = {.type = PERF_RECORD_SAMPLE, .size = sizeof(struct fault_record_bytes)},
        .ip = 0x401000,
        .pid = (uint32_t)pid,
        .tid = (uint32_t)tid,
        .time = world->now,
        .addr = addr,
        .cpu = 1,
    };
}

/* A thread writes to a page: it faults if it was not written since the last clear. */
static void world_write(struct fault_world *world, struct fault_process *process, pid_t tid,
                        size_t page)
{
    if (process->soft_dirty[page])
        return;
    process->soft_dirty[page] = true;
    process->minor_faults++;
    if (world_is_covered(process->pid))
        world_record(world, process->pid, tid, WORLD_MEMORY + page * WORLD_PAGE_BYTES + 8);
}

/* One round of all targets, `nsec` after the last one. What requests submit is done too. */
static int world_round(struct fault_world *world, uint64_t nsec)
{
    struct sample_target targets[WORLD_PROCESSES];
    struct sample_round round = {.targets = targets, .sampling_budget = WORLD_BUDGET};
    int r;

    world->now += nsec;
    round.now = world->now;
    for (size_t i = 0; i < world->n_processes; i++) {
        const struct fault_process *process = &world->processes[i];

        if (process->is_target && !process->gone)
            targets[round.n_targets++] = (struct sample_target){
                .pid = process->pid,
                .start_ticks = process->told_ticks,
                .rss_bytes = process->rss_pages * WORLD_PAGE_BYTES,
                .n_threads = 1,
                .rate_hz = 250,
                .allows_faults = process->allowed,
            };
    }
    r = world->source.ops->round(world->source.self, &round, &world->reason);
    while (worker_pool_dispatch(world->pool, 0) > 0)
        ;
    return r;
}

static struct sample_counts world_counts(const struct fault_world *world)
{
    return *world->source.ops->counts(world->source.self);
}

static void world_describe(const struct fault_world *world, char text[512])
{
    world->source.ops->describe(world->source.self, text, 512);
}
