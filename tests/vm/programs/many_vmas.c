/*
 * many_vmas SECONDS: a process with as many VMAs as vm.max_map_count allows, and 1,024 threads.
 * Memory of 8 KiB each is readable and writable in turns, so that no two neighbours become one VMA.
 * 16 threads work, each in a part of its own (4,096 VMAs): most of the time in a few of them
 * ("hot"), and round and round through all. The others sleep, and wake in turns, once in some
 * seconds, to look at one page. The workers run on all nodes with CPUs in turns, their parts lie on
 * the next.
 *
 * Prints "N VMAs, N threads, pid N", one line for each worker, "part N thread N node N memory START
 * END", and then, each second, "N s  passes N  remote X %" of the hot memory. Each page has a mark
 * of its own; at the end, also when SIGTERM comes earlier, it says "whole remote X %" of all memory
 * and "N VMAs, N pages damaged".
 */
#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define N_THREADS 1024 /* the first one included */
#define N_WORKERS 16
#define N_SLEEPERS (N_THREADS - N_WORKERS - 1)
#define N_HOT 8 /* VMAs of each worker */
#define N_VMAS_MAX ((size_t)65536)
#define PART_VMAS (N_VMAS_MAX / N_WORKERS)
#define PAGE_BYTES ((size_t)4096)
#define VMA_BYTES (2 * PAGE_BYTES)
#define PART_BYTES (PART_VMAS * VMA_BYTES)
#define LINE_BYTES 64
#define STACK_BYTES ((size_t)32 << 10)
#define HOT_TURNS 64 /* through the hot ones, for one step through the rest of the part */
#define COLD_STEP 16 /* VMAs */
#define NAP_SEC 8    /* of a sleeper */

struct worker {
    char *part;
    unsigned long n_passes, n_cold;
    pid_t tid;
    int node, home; /* where it runs, where its part lies at first */
};

struct process {
    char *memory;
    char *stacks;
    struct worker workers[N_WORKERS];
    pthread_barrier_t placed, begun; /* all threads wait for each other */
    atomic_bool over;
};

struct member {
    struct process *process;
    unsigned number; /* of the worker or sleeper */
};

static char *map(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

/* The nth node of those with CPUs, in turns. */
static int nth_node(unsigned n)
{
    struct bitmask *cpus = numa_allocate_cpumask();
    int nodes[64], n_nodes = 0;

    for (int node = 0; node <= numa_max_node() && n_nodes < 64; node++)
        if (!numa_node_to_cpus(node, cpus) && numa_bitmask_weight(cpus))
            nodes[n_nodes++] = node;
    numa_free_cpumask(cpus);
    return n_nodes ? nodes[n % (unsigned)n_nodes] : 0;
}

/* At the end of each page, where workers only read. */
static uint64_t *mark_of(char *page)
{
    return (uint64_t *)(page + PAGE_BYTES) - 1;
}

static void place_part(struct worker *worker)
{
    numa_set_preferred(worker->home);
    for (char *page = worker->part; page < worker->part + PART_BYTES; page += PAGE_BYTES)
        *mark_of(page) = (uintptr_t)page;
    set_mempolicy(MPOL_DEFAULT, NULL, 0);
}

static char *hot_vma(const struct worker *worker, unsigned n)
{
    return worker->part + n * (PART_BYTES / N_HOT);
}

/* Hot and cold memory alike: read only, since half of it cannot be written. */
static uint64_t read_lines(const char *memory, size_t bytes)
{
    uint64_t sum = 0;

    for (size_t at = 0; at < bytes; at += LINE_BYTES)
        sum += *(const volatile uint64_t *)(memory + at);
    return sum;
}

static void work_once(struct worker *worker)
{
    for (unsigned turn = 0; turn < HOT_TURNS; turn++)
        for (unsigned i = 0; i < N_HOT; i++)
            read_lines(hot_vma(worker, i), VMA_BYTES);
    for (unsigned i = 0; i < COLD_STEP; i++)
        read_lines(worker->part + worker->n_cold++ % PART_VMAS * VMA_BYTES, LINE_BYTES);
    worker->n_passes++;
}

/* The VMAs are split once all threads have their memory. */
static void wait_for_begin(struct process *process)
{
    pthread_barrier_wait(&process->placed);
    pthread_barrier_wait(&process->begun);
}

static void *worker_main(void *userdata)
{
    struct member *self = userdata;
    struct process *process = self->process;
    struct worker *worker = &process->workers[self->number];

    worker->tid = gettid();
    /* Whoever measures how fast others are does not want to see them wait for a CPU. */
    (void)setpriority(PRIO_PROCESS, 0, 19);
    numa_run_on_node(worker->node);
    place_part(worker);
    wait_for_begin(process);
    while (!atomic_load(&process->over))
        work_once(worker);
    return NULL;
}

static void *sleeper_main(void *userdata)
{
    const struct member *self = userdata;
    struct process *process = self->process;
    struct timespec nap = {.tv_sec = (time_t)(self->number * NAP_SEC / N_SLEEPERS)};

    nap.tv_nsec = (long)(self->number * NAP_SEC % N_SLEEPERS) * (1000000000L / N_SLEEPERS);
    wait_for_begin(process);
    while (!atomic_load(&process->over)) {
        nanosleep(&nap, NULL);
        read_lines(process->memory + self->number * 64 * VMA_BYTES, LINE_BYTES);
        nap = (struct timespec){.tv_sec = NAP_SEC};
    }
    return NULL;
}

/* On stacks of one mapping: each of its own would be two VMAs. */
static int start(struct process *process, void *(*run)(void *), unsigned number, unsigned stack)
{
    struct member *self = malloc(sizeof *self);
    pthread_attr_t attributes;
    pthread_t thread;
    int r;

    if (!self)
        return ENOMEM;
    *self = (struct member){.process = process, .number = number};
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, process->stacks + stack * STACK_BYTES, STACK_BYTES);
    r = pthread_create(&thread, &attributes, run, self);
    pthread_attr_destroy(&attributes);
    if (r)
        free(self);
    return r;
}

static int start_all(struct process *process)
{
    int r = 0;

    for (unsigned i = 0; i < N_WORKERS && !r; i++)
        r = start(process, worker_main, i, i);
    for (unsigned i = 0; i < N_SLEEPERS && !r; i++)
        r = start(process, sleeper_main, i, N_WORKERS + i);
    return r;
}

/* Once everything else is mapped: until the kernel refuses. */
static void split(const struct process *process)
{
    size_t at = VMA_BYTES, bytes = N_WORKERS * PART_BYTES;

    while (at < bytes && !mprotect(process->memory + at, VMA_BYTES, PROT_READ))
        at += 2 * VMA_BYTES;
}

static size_t count_vmas(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    size_t n = 0;
    int c;

    while (maps && (c = getc(maps)) != EOF)
        n += c == '\n';
    if (maps)
        fclose(maps);
    return n;
}

/* Counts the pages that do not lie on the node. Return: 0, or -1 when the kernel does not tell. */
static int count_away(char *memory, size_t bytes, int node, size_t *awayp, size_t *allp)
{
    void *pages[64];
    int nodes[64];
    size_t n = 0;

    for (size_t at = 0; at < bytes; at += PAGE_BYTES) {
        pages[n++] = memory + at;
        if (n < 64 && at + PAGE_BYTES < bytes)
            continue;
        if (move_pages(0, n, pages, NULL, nodes, 0))
            return -1;
        *allp += n;
        for (size_t i = 0; i < n; i++)
            *awayp += nodes[i] != node;
        n = 0;
    }
    return 0;
}

/* In percent; -1 when it is not known. */
static double remote_share(struct process *process, bool whole)
{
    size_t away = 0, all = 0;

    for (unsigned i = 0; i < N_WORKERS; i++) {
        struct worker *worker = &process->workers[i];

        for (unsigned hot = 0; hot < (whole ? 1 : N_HOT); hot++)
            if (count_away(hot_vma(worker, hot), whole ? PART_BYTES : VMA_BYTES, worker->node,
                           &away, &all))
                return -1;
    }
    return 100 * (double)away / (double)all;
}

static unsigned long count_passes(const struct process *process)
{
    unsigned long n = 0;

    for (unsigned i = 0; i < N_WORKERS; i++)
        n += process->workers[i].n_passes;
    return n;
}

static size_t count_damaged(struct process *process)
{
    size_t n = 0;

    for (size_t at = 0; at < N_WORKERS * PART_BYTES; at += PAGE_BYTES)
        n += *mark_of(process->memory + at) != (uintptr_t)(process->memory + at);
    return n;
}

static void introduce(struct process *process)
{
    printf("%zu VMAs, %d threads, pid %d\n", count_vmas(), N_THREADS, getpid());
    for (unsigned i = 0; i < N_WORKERS; i++) {
        const struct worker *worker = &process->workers[i];

        printf("part %u thread %d node %d memory %p %p\n", i, worker->tid, worker->node,
               (void *)worker->part, (void *)(worker->part + PART_BYTES));
    }
}

static void prepare_workers(struct process *process)
{
    for (unsigned i = 0; i < N_WORKERS; i++)
        process->workers[i] = (struct worker){
            .part = process->memory + i * PART_BYTES,
            .node = nth_node(i),
            .home = nth_node(i + 1),
        };
}

static void run(struct process *process, const sigset_t *end, int seconds)
{
    const struct timespec second = {.tv_sec = 1};

    for (int i = 1; i <= seconds; i++) {
        printf("%d s  passes %lu  remote %.1f %%\n", i, count_passes(process),
               remote_share(process, false));
        if (sigtimedwait(end, NULL, &second) > 0)
            break;
    }
    printf("whole remote %.1f %%\n", remote_share(process, true));
    atomic_store(&process->over, true);
    printf("%zu VMAs, %zu pages damaged\n", count_vmas(), count_damaged(process));
}

int main(int argc, char **argv)
{
    struct process process = {.over = false};
    sigset_t end;

    process.memory = map(N_WORKERS * PART_BYTES);
    process.stacks = map(N_THREADS * STACK_BYTES);
    if (argc != 2 || !process.memory || !process.stacks || numa_available() < 0)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    madvise(process.memory, N_WORKERS * PART_BYTES, MADV_NOHUGEPAGE);
    prepare_workers(&process);
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigprocmask(SIG_BLOCK, &end, NULL);
    pthread_barrier_init(&process.placed, NULL, N_THREADS);
    pthread_barrier_init(&process.begun, NULL, N_THREADS);
    if (start_all(&process)) {
        fprintf(stderr, "many_vmas: cannot start %d threads\n", N_THREADS);
        return 1;
    }
    pthread_barrier_wait(&process.placed);
    split(&process);
    introduce(&process);
    pthread_barrier_wait(&process.begun);
    run(&process, &end, atoi(argv[1]));
    return 0;
}
