/*
 * What sampling costs: a memory-bound process runs with the timer source on and off in turns, on
 * one CPU, so that both halves of a pair meet the same machine. Prints medians; judges nothing.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "numabd/sample.h"
#include "sample/sample_cost.h"
#include "util/nsec.h"
#include "util/worker.h"

#define N_PAIRS 21
#define SLICE_NSEC (400 * NSEC_PER_MSEC)
#define DRAIN_NSEC (100 * NSEC_PER_MSEC)
#define N_LINES ((size_t)1 << 20) /* of 64 bytes: 64 MiB, beyond any cache here */

struct line {
    uint32_t next;
    char rest[60];
};

struct bench {
    volatile uint64_t *n_steps; /* by the child */
    pid_t child;
    uint64_t n_accesses;
};

/* One random cycle through all lines: each load waits for the one before. */
static void chain(struct line *lines)
{
    uint32_t *order = malloc(N_LINES * sizeof *order);
    uint64_t random = 88172645463325252ULL;

    if (!order)
        _exit(1);
    for (size_t i = 0; i < N_LINES; i++)
        order[i] = (uint32_t)i;
    for (size_t i = N_LINES - 1; i > 0; i--) {
        uint32_t swap = order[i];
        size_t j;

        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        j = random % (i + 1);
        order[i] = order[j];
        order[j] = swap;
    }
    for (size_t i = 0; i < N_LINES; i++)
        lines[order[i]].next = order[(i + 1) % N_LINES];
    free(order);
}

static void work(volatile uint64_t *n_steps)
{
    struct line *lines = aligned_alloc(64, N_LINES * sizeof *lines);
    uint32_t at = 0;

    if (!lines)
        _exit(1);
    chain(lines);
    for (;;) {
        for (int i = 0; i < 1000; i++)
            at = lines[at].next;
        *n_steps += 1000 + (at == N_LINES);
    }
}

static void pin(int cpu)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    (void)sched_setaffinity(0, sizeof cpus, &cpus);
}

static void start(struct bench *bench)
{
    bench->n_steps = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bench->child = fork();
    if (bench->child == 0) {
        pin(0);
        work(bench->n_steps);
    }
    pin(1);
    while (*bench->n_steps == 0)
        usleep(10000);
}

static void push(void *userdata, const struct access *accesses, size_t n)
{
    struct bench *bench = userdata;

    (void)accesses;
    bench->n_accesses += n;
}

static bool wants(void *userdata, pid_t pid)
{
    return ((struct bench *)userdata)->child == pid;
}

/* CPU time of the child. */
static uint64_t child_nsec(const struct bench *bench)
{
    clockid_t clock;

    return clock_getcpuclockid(bench->child, &clock) ? 0 : nsec_of_clock(clock);
}

static void drain(const struct source *source, struct worker_pool *pool)
{
    (void)source->ops->drain(source->self);
    usleep(DRAIN_NSEC / NSEC_PER_USEC);
    worker_pool_dispatch(pool, 0);
}

/* Steps per second of CPU time. */
static double slice(const struct bench *bench, const struct source *source,
                    struct worker_pool *pool)
{
    uint64_t begin = nsec_now(), cpu = child_nsec(bench), steps = *bench->n_steps;

    while (nsec_now() < begin + SLICE_NSEC) {
        if (source)
            drain(source, pool);
        else
            usleep(DRAIN_NSEC / NSEC_PER_USEC);
    }
    return (double)(*bench->n_steps - steps) / nsec_to_sec(child_nsec(bench) - cpu);
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static int follow(const struct source *source, const struct bench *bench, unsigned rate_hz)
{
    const struct sample_target target = {
        .pid = bench->child, .n_threads = 1, .rate_hz = rate_hz, .rss_bytes = 64 << 20};
    const struct sample_round round = {.now = nsec_now(), .targets = &target, .n_targets = 1};
    struct source_reason reason = {""};

    return source->ops->round ? source->ops->round(source->self, &round, &reason) : 0;
}

/* One pair: without, then with. Return: the part that sampling took, or negative. */
static double pair(struct bench *bench, unsigned rate_hz, uint64_t *own_nsec, uint64_t *n_samples)
{
    struct host host = host_live();
    struct worker_pool *pool = NULL;
    struct source source = {0};
    struct source_reason reason = {""};
    const struct source_options options = {
        .rate_hz = rate_hz,
        .scope = SAMPLE_SCOPE_THREAD,
        .n_cpu_ids = 1,
        .epoll_fd = -1,
        .host = &host,
        .sink = {.push = push, .userdata = bench},
        .filter = {.wants = wants, .userdata = bench},
    };
    struct source_options with_pool = options;
    double off, on;
    uint64_t own;

    if (worker_pool_new(&pool, 1) < 0)
        return -1;
    with_pool.pool = pool;
    if (timer_new(&source, &with_pool, &reason) || follow(&source, bench, rate_hz)) {
        fprintf(stderr, "no timer: %s\n", reason.text);
        return -1;
    }
    own = nsec_of_clock(CLOCK_PROCESS_CPUTIME_ID);
    on = slice(bench, &source, pool);
    *own_nsec += nsec_of_clock(CLOCK_PROCESS_CPUTIME_ID) - own;
    *n_samples += source.ops->counts(source.self)->n_samples;
    worker_pool_free(pool);
    source_deinit(&source);
    off = slice(bench, NULL, NULL);
    return 1 - on / off;
}

static int run(struct bench *bench, unsigned rate_hz)
{
    double costs[N_PAIRS];
    uint64_t own_nsec = 0, n_samples = 0;

    for (int i = 0; i < N_PAIRS; i++) {
        costs[i] = pair(bench, rate_hz, &own_nsec, &n_samples);
        if (costs[i] <= -1)
            return 1;
    }
    qsort(costs, N_PAIRS, sizeof *costs, by_value);
    printf("timer at %u Hz: the target loses %.2f %% (median of %d pairs, quartiles %.2f to %.2f);"
           " numabd needs %.1f us a sample (%lu samples)\n",
           rate_hz, 100 * costs[N_PAIRS / 2], N_PAIRS, 100 * costs[N_PAIRS / 4],
           100 * costs[3 * N_PAIRS / 4], n_samples ? (double)own_nsec / 1e3 / (double)n_samples : 0,
           (unsigned long)n_samples);
    return 0;
}

int main(void)
{
    struct bench bench = {0};
    int r = 0;

    start(&bench);
    printf("a sample takes %.1f us of the sampled thread (sampling_budget 1 %% allows %.0f Hz)\n",
           (double)sample_cost_measure() / 1e3, 1e7 / ((double)sample_cost_measure() + 1));
    for (unsigned rate_hz = 250; rate_hz <= 4000 && !r; rate_hz *= 4)
        r = run(&bench, rate_hz);
    kill(bench.child, SIGKILL);
    waitpid(bench.child, NULL, 0);
    return r;
}
