/*
 * The timer source end to end on this machine: real perf, a real process that walks three regions.
 * Skipped, with the reason that the source gives, where the kernel refuses the events.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "numabd/host.h"
#include "numabd/sample.h"
#include "util/cleanup.h"
#include "util/nsec.h"

#define RATE_HZ 1000
#define REGION_BYTES ((size_t)1 << 20)
#define LINE_BYTES 64
#define SAMPLES_ENOUGH 500
#define SLOWER_HZ (RATE_HZ / 4)
#define SLOWER_ENOUGH 50
#define PATIENCE_SEC 120 /* a hang, not a deadline */

enum {
    READ_REGION,
    WRITE_REGION,
    BOTH_REGION,
    REGION_COUNT
};

struct live {
    pid_t child;
    uint8_t *regions[REGION_COUNT];
    bool wants; /* the child */
    struct access *accesses;
    size_t n_accesses, cap;
    struct host host;
    struct worker_pool *pool;
    struct source source;
};

#ifdef __x86_64__

/*
 * Three loops of known instructions, which no compiler and no sanitizer adds accesses to. The jump
 * ends the line, so that a sample inside the loop says nothing of what follows it.
 */
static void walk_read(uint8_t *at, uint8_t *end)
{
    __asm__ volatile(
        "1: mov (%[at]), %%rax\n add %[step], %[at]\n cmp %[end], %[at]\n jb 1b\n jmp 2f\n2:"
        : [at] "+r"(at)
        : [end] "r"(end), [step] "i"(LINE_BYTES)
        : "rax", "cc", "memory");
}

static void walk_write(uint8_t *at, uint8_t *end)
{
    __asm__ volatile(
        "1: mov %%rax, (%[at])\n add %[step], %[at]\n cmp %[end], %[at]\n jb 1b\n jmp 2f\n2:"
        : [at] "+r"(at)
        : [end] "r"(end), [step] "i"(LINE_BYTES)
        : "cc", "memory");
}

static void walk_both(uint8_t *at, uint8_t *end)
{
    __asm__ volatile(
        "1: addq $1, (%[at])\n add %[step], %[at]\n cmp %[end], %[at]\n jb 1b\n jmp 2f\n2:"
        : [at] "+r"(at)
        : [end] "r"(end), [step] "i"(LINE_BYTES)
        : "cc", "memory");
}

#else

static void walk_read(uint8_t *at, uint8_t *end)
{
    (void)at, (void)end;
}

static void walk_write(uint8_t *at, uint8_t *end)
{
    (void)at, (void)end;
}

static void walk_both(uint8_t *at, uint8_t *end)
{
    (void)at, (void)end;
}

#endif

/* 70 % of the walks read, 20 % write, 10 % do both, each in its region. */
static void child_run(const struct live *live)
{
    uint8_t *const *regions = live->regions;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        for (int i = 0; i < 7; i++)
            walk_read(regions[READ_REGION], regions[READ_REGION] + REGION_BYTES);
        for (int i = 0; i < 2; i++)
            walk_write(regions[WRITE_REGION], regions[WRITE_REGION] + REGION_BYTES);
        walk_both(regions[BOTH_REGION], regions[BOTH_REGION] + REGION_BYTES);
    }
}

static void live_push(void *userdata, const struct access *accesses, size_t n)
{
    struct live *live = userdata;

    live->accesses = reallocarray(live->accesses, live->n_accesses + n, sizeof *accesses);
    for (size_t i = 0; i < n; i++)
        live->accesses[live->n_accesses++] = accesses[i];
}

static bool live_wants(void *userdata, pid_t pid)
{
    const struct live *live = userdata;

    return live->wants && pid == live->child;
}

static void live_round(struct live *live, unsigned rate_hz)
{
    const struct sample_target target = {.pid = live->child, .n_threads = 1, .rate_hz = rate_hz};
    const struct sample_round round = {.now = nsec_now(), .targets = &target, .n_targets = 1};
    struct source_reason reason;

    assert_int_equal(live->source.ops->round(live->source.self, &round, &reason), 0);
}

/* Skips the test where there is nothing to test on. */
static void live_open(struct live *live, enum sample_scope scope, bool wants)
{
    struct source_options options = {
        .rate_hz = RATE_HZ,
        .scope = scope,
        .epoll_fd = -1,
        .n_cpu_ids = (int)sysconf(_SC_NPROCESSORS_CONF),
        .host = &live->host,
        .sink = {live_push, live},
        .filter = {live_wants, live},
    };
    struct source_reason reason;

    *live = (struct live){.wants = wants, .host = host_live()};
    assert_int_equal(worker_pool_new_inline(&live->pool), 0);
    options.pool = live->pool;
    if (timer_new(&live->source, &options, &reason) == SOURCE_UNAVAILABLE) {
        worker_pool_free(live->pool);
        print_message("skipped: %s\n", reason.text);
        skip();
    }
    for (int i = 0; i < REGION_COUNT; i++) {
        live->regions[i] = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        assert_ptr_not_equal(live->regions[i], MAP_FAILED);
    }
    live->child = fork();
    assert_return_code(live->child, 0);
    if (live->child == 0)
        child_run(live);
    live_round(live, RATE_HZ);
}

static void live_close(struct live *live)
{
    kill(live->child, SIGKILL);
    waitpid(live->child, NULL, 0);
    source_deinit(&live->source);
    live->pool = worker_pool_free(live->pool);
    for (int i = 0; i < REGION_COUNT; i++)
        munmap(live->regions[i], REGION_BYTES);
    free(live->accesses);
}

static const struct sample_counts *live_counts(const struct live *live)
{
    return live->source.ops->counts(live->source.self);
}

static void live_drain(struct live *live)
{
    usleep(20000);
    assert_int_equal(live->source.ops->drain(live->source.self), 0);
    worker_pool_dispatch(live->pool, 0);
}

/* Drains until `counter` has seen enough. */
static void live_sample(struct live *live, const uint64_t *counter)
{
    time_t begin = time(NULL);

    while (*counter < SAMPLES_ENOUGH) {
        assert_true(time(NULL) - begin < PATIENCE_SEC);
        live_drain(live);
    }
}

static bool is_mapped(pid_t pid, uint64_t addr)
{
    CLEANUP(freep) char *path = NULL, *line = NULL;
    CLEANUP(fclosep) FILE *file = NULL;
    unsigned long long start, end;
    bool found = false;
    size_t cap = 0;

    assert_true(asprintf(&path, "/proc/%d/maps", (int)pid) > 0);
    file = fopen(path, "re");
    assert_non_null(file);
    while (!found && getline(&line, &cap, file) > 0)
        found = sscanf(line, "%llx-%llx", &start, &end) == 2 && addr >= start && addr < end;
    return found;
}

static int region_of(const struct live *live, uint64_t addr)
{
    for (int i = 0; i < REGION_COUNT; i++)
        if (addr - (uint64_t)live->regions[i] < REGION_BYTES)
            return i;
    return REGION_COUNT;
}

static void check_accesses(const struct live *live)
{
    static const enum access_kind kinds[REGION_COUNT] = {
        [READ_REGION] = ACCESS_READ,
        [WRITE_REGION] = ACCESS_WRITE,
        [BOTH_REGION] = ACCESS_READ_WRITE,
    };
    size_t n[REGION_COUNT + 1] = {0};

    for (size_t i = 0; i < live->n_accesses; i++) {
        const struct access *access = &live->accesses[i];
        int region = region_of(live, access->addr);

        assert_int_equal(access->pid, live->child);
        assert_int_equal(access->tid, live->child);
        n[region]++;
        if (region == REGION_COUNT)
            assert_true(is_mapped(live->child, access->addr));
        else
            assert_int_equal(access->kind, kinds[region]);
    }
    print_message("%zu read, %zu write, %zu both, %zu elsewhere (mapped)\n", n[READ_REGION],
                  n[WRITE_REGION], n[BOTH_REGION], n[REGION_COUNT]);
    assert_true(n[READ_REGION] > n[WRITE_REGION]);
    assert_true(n[WRITE_REGION] > n[BOTH_REGION]);
    assert_true(n[BOTH_REGION] > 0);
    assert_true(n[REGION_COUNT] < live->n_accesses / 10);
}

static void check_scope(enum sample_scope scope)
{
    struct live live;
    const struct sample_counts *counts;
    uint64_t n_resolved;
    double weight_sec = 0;

    live_open(&live, scope, true);
    counts = live_counts(&live);
    live_sample(&live, &counts->n_accesses);
    n_resolved = counts->n_samples - counts->n_foreign - counts->n_unresolved;
    for (size_t i = 0; i < live.n_accesses; i++)
        weight_sec += live.accesses[i].weight_sec;
    print_message("%llu samples, %llu foreign, %llu unresolved, %llu lost\n",
                  (unsigned long long)counts->n_samples, (unsigned long long)counts->n_foreign,
                  (unsigned long long)counts->n_unresolved, (unsigned long long)counts->n_lost);
    assert_int_equal(counts->n_accesses, live.n_accesses);
    check_accesses(&live);
    /* each resolved sample stands for one period, however many addresses it gave */
    assert_true(weight_sec * RATE_HZ > 0.999 * (double)n_resolved);
    assert_true(weight_sec * RATE_HZ < 1.001 * (double)n_resolved);
    assert_true(n_resolved > counts->n_unresolved);
    live_close(&live);
}

static void test_accesses_fall_where_the_process_walks(void **state)
{
    (void)state;
    check_scope(SAMPLE_SCOPE_THREAD);
}

static void test_the_same_through_the_whole_system(void **state)
{
    (void)state;
    check_scope(SAMPLE_SCOPE_SYSTEM);
}

static void test_foreign_process_is_only_counted(void **state)
{
    struct live live;
    const struct sample_counts *counts;

    (void)state;
    live_open(&live, SAMPLE_SCOPE_SYSTEM, false);
    counts = live_counts(&live);
    live_sample(&live, &counts->n_foreign);
    assert_int_equal(counts->n_foreign, counts->n_samples);
    assert_int_equal(counts->n_accesses + counts->n_unresolved, 0);
    assert_int_equal(live.n_accesses, 0);
    live_close(&live);
}

struct spacing {
    size_t n;       /* neighbours in time on the same CPU */
    size_t n_short; /* closer than half way between both periods */
};

static struct spacing spacing_of(const struct live *live, size_t first)
{
    const uint64_t limit_nsec = (NSEC_PER_SEC / RATE_HZ + NSEC_PER_SEC / SLOWER_HZ) / 2;
    struct spacing spacing = {0};

    for (size_t i = first + 1; i < live->n_accesses; i++) {
        const struct access *before = &live->accesses[i - 1], *access = &live->accesses[i];

        if (access->cpu != before->cpu || access->when_nsec <= before->when_nsec)
            continue;
        spacing.n++;
        spacing.n_short += access->when_nsec - before->when_nsec < limit_nsec;
    }
    return spacing;
}

/* Named after the bug: a new `rate` was accepted on reload and changed nothing. */
static void test_rate_changes_while_it_samples(void **state)
{
    time_t begin = time(NULL);
    struct spacing before, after;
    struct live live;
    size_t first;

    (void)state;
    live_open(&live, SAMPLE_SCOPE_THREAD, true);
    live_sample(&live, &live_counts(&live)->n_accesses);
    live_round(&live, SLOWER_HZ);
    live_drain(&live); /* what waited has the old rate */
    first = live.n_accesses;
    before = spacing_of(&live, 0);
    while (live.n_accesses < first + SLOWER_ENOUGH) {
        assert_true(time(NULL) - begin < PATIENCE_SEC);
        live_drain(&live);
    }
    after = spacing_of(&live, first);
    print_message("close neighbours: %zu of %zu, then %zu of %zu\n", before.n_short, before.n,
                  after.n_short, after.n);
    assert_true(2 * before.n_short > before.n);
    assert_true(2 * after.n_short < after.n);
    for (size_t i = first; i < live.n_accesses; i++) /* one or two addresses a sample */
        assert_true(live.accesses[i].weight_sec > 1.0 / RATE_HZ);
    live_close(&live);
}

static ssize_t refuse_to_read(void *self, pid_t pid, const struct iovec *local,
                              const struct iovec *remote, size_t n)
{
    (void)self, (void)pid, (void)local, (void)remote, (void)n;
    return -EPERM;
}

/* Named after the bug: behind a filter it sampled, resolved nothing, and doctor called it ok. */
static void test_without_code_it_is_unavailable(void **state)
{
    struct host_ops ops = *host_live().ops;
    struct host host = {.ops = &ops, .page_bytes = 4096};
    const struct source_options options = {
        .rate_hz = RATE_HZ,
        .epoll_fd = -1,
        .n_cpu_ids = (int)sysconf(_SC_NPROCESSORS_CONF),
        .host = &host,
    };
    struct source source = {0};
    struct source_reason reason = {""};

    (void)state;
    ops.read_memory = refuse_to_read;
    assert_int_equal(timer_new(&source, &options, &reason), SOURCE_UNAVAILABLE);
    assert_non_null(strstr(reason.text, "process_vm_readv"));
    assert_null(source.ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accesses_fall_where_the_process_walks),
        cmocka_unit_test(test_the_same_through_the_whole_system),
        cmocka_unit_test(test_foreign_process_is_only_counted),
        cmocka_unit_test(test_rate_changes_while_it_samples),
        cmocka_unit_test(test_without_code_it_is_unavailable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
