/*
 * What a round costs that follows a process of 65,530 VMAs and 1,024 threads (many_vmas), which the
 * unmodified pipeline reads from the live /proc on a model of two nodes. Samples are made up: most
 * of them in the few VMAs that each thread uses most, the others anywhere in its part. Nothing
 * moves (observe). Times are CPU time on this machine; "slice" is the longest that the loop did not
 * listen.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/limits.h"
#include "pipeline_state.h"
#include "util/array.h"
#include "util/nsec.h"
#include "util/procfs.h"

#define PROGRAM "build/bin/many_vmas"
#define N_THREADS 1024
#define N_PARTS 16
#define N_HOT 8
#define N_ROUNDS 60
#define N_SAMPLES 1000 /* a round: 250 Hz on each of four CPUs */
#define HOT_OF_16 15
#define ROUND_NSEC NSEC_PER_SEC
#define VMA_BYTES 8192
#define SAMPLE_SEC 0.004

struct part {
    pid_t tid;
    uint64_t start, end;
};

struct round_cost {
    uint64_t push, round, answers, slice, workers;
};

struct bench {
    pid_t pid;
    FILE *said;
    struct part parts[N_PARTS];
    struct round_cost costs[N_ROUNDS];
    struct pipeline *pipeline;
    struct worker_pool *pool;
    uint64_t now, random;
};

extern char **environ;

static void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static uint64_t own_nsec(void)
{
    return nsec_of_clock(CLOCK_THREAD_CPUTIME_ID);
}

static void start_process(struct bench *bench)
{
    char program[] = PROGRAM, seconds[] = "600", *argv[] = {program, seconds, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC))
        fail("pipe2");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (posix_spawn(&bench->pid, PROGRAM, &actions, NULL, argv, environ))
        fail(PROGRAM);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    bench->said = fdopen(ends[0], "r");
}

/* "part 3 thread 4711 node 1 memory 0x7f0000000000 0x7f0002000000" */
static void read_parts(struct bench *bench)
{
    char line[256];
    unsigned i;
    struct part part;
    size_t n = 0;

    while (n < N_PARTS && fgets(line, sizeof line, bench->said))
        if (sscanf(line, "part %u thread %d node %*d memory %lx %lx", &i, &part.tid, &part.start,
                   &part.end) == 4 &&
            i < N_PARTS) {
            bench->parts[i] = part;
            n++;
        }
    if (n < N_PARTS)
        fail(PROGRAM);
}

static void end_process(struct bench *bench)
{
    kill(bench->pid, SIGKILL);
    waitpid(bench->pid, NULL, 0);
    fclose(bench->said);
}

/* The one process that there is, whatever else runs on this machine. */
static int give_process(void *self, pid_t pid, struct process *process)
{
    const struct bench *bench = self;

    if (pid != bench->pid)
        return DISCOVER_GONE;
    *process = (struct process){
        .pid = pid, .start_ticks = 1, .rss_bytes = (uint64_t)512 << 20, .n_threads = N_THREADS};
    snprintf(process->comm, sizeof process->comm, "many_vmas");
    return 0;
}

static int give_list(void *self, struct process_list *list)
{
    const struct bench *bench = self;

    if (ARRAY_RESERVE(list->items, list->cap, list->n_items + 1) < 0)
        return -ENOMEM;
    return give_process(self, bench->pid, &list->items[list->n_items++]);
}

static int give_detail(void *self, struct process *process)
{
    (void)self, (void)process;
    return 0;
}

static int give_nodes(void *self, pid_t pid, char **textp)
{
    (void)self, (void)pid;
    *textp = strdup("0-1");
    return *textp ? 0 : -ENOMEM;
}

static int give_ref(void *self, struct pidref *ref, pid_t pid, uint64_t start_ticks)
{
    (void)self;
    *ref = (struct pidref){.pid = pid, .start_ticks = start_ticks, .fd = -1};
    return 0;
}

static const struct procs_ops procs_ops = {
    .list = give_list,
    .read_one = give_process,
    .read_detail = give_detail,
    .read_mems_allowed = give_nodes,
    .open_ref = give_ref,
};

static uint64_t random_below(struct bench *bench, uint64_t n)
{
    bench->random ^= bench->random << 13;
    bench->random ^= bench->random >> 7;
    bench->random ^= bench->random << 17;
    return bench->random % n;
}

static void push_one(struct bench *bench, const struct access_sink *sink)
{
    size_t i = random_below(bench, N_PARTS);
    const struct part *part = &bench->parts[i];
    bool hot = random_below(bench, 16) < HOT_OF_16;
    uint64_t bytes = part->end - part->start, n_vmas = bytes / VMA_BYTES;
    uint64_t vma =
        hot ? random_below(bench, N_HOT) * (n_vmas / N_HOT) : random_below(bench, n_vmas);
    const struct access access = {
        .when_nsec = bench->now += ROUND_NSEC / N_SAMPLES,
        .pid = bench->pid,
        .tid = part->tid,
        .cpu = (int)(i % 2),
        .addr = part->start + vma * VMA_BYTES + random_below(bench, VMA_BYTES / 64) * 64,
        .weight_sec = SAMPLE_SEC,
        .source = ACCESS_SOURCE_TIMER,
    };

    sink->push(sink->userdata, &access, 1);
}

static void push_some(struct bench *bench, unsigned n)
{
    const struct access_sink sink = pipeline_sink(bench->pipeline);

    for (unsigned i = 0; i < n; i++)
        push_one(bench, &sink);
}

static void note_slice(struct round_cost *cost, uint64_t slice)
{
    if (slice > cost->slice)
        cost->slice = slice;
}

static size_t take_answer(struct bench *bench, struct round_cost *cost)
{
    uint64_t since = own_nsec(), spent;
    size_t n = worker_pool_dispatch(bench->pool, 1);

    spent = own_nsec() - since;
    cost->answers += spent;
    note_slice(cost, spent);
    return n;
}

/* Each answer apart: the loop hears calls after a few of them at the latest. */
static void take_answers(struct bench *bench, struct round_cost *cost)
{
    while (worker_pool_pending(bench->pool, 0))
        usleep(100);
    while (take_answer(bench, cost) > 0)
        ;
}

static void run_round(struct bench *bench, unsigned n_samples, struct round_cost *cost)
{
    uint64_t all = nsec_of_clock(CLOCK_PROCESS_CPUTIME_ID), since = own_nsec(), own = since;

    push_some(bench, n_samples);
    cost->push = own_nsec() - since;
    since = own_nsec();
    if (pipeline_round(bench->pipeline, bench->now, 0) < 0)
        fail("pipeline_round");
    cost->round = own_nsec() - since;
    note_slice(cost, cost->round);
    take_answers(bench, cost);
    own = own_nsec() - own;
    all = nsec_of_clock(CLOCK_PROCESS_CPUTIME_ID) - all;
    cost->workers = all > own ? all - own : 0;
}

static int by_size(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return *a < *b ? -1 : *a > *b;
}

/* One of the costs, by its place in the struct. */
static void print_cost(const struct bench *bench, const char *name, size_t place)
{
    uint64_t values[N_ROUNDS];

    for (size_t i = 0; i < N_ROUNDS; i++)
        memcpy(&values[i], (const char *)&bench->costs[i] + place, sizeof values[i]);
    qsort(values, N_ROUNDS, sizeof *values, by_size);
    printf("%-22s %8.2f ms %8.2f ms\n", name, (double)values[N_ROUNDS / 2] / 1e6,
           (double)values[N_ROUNDS - 1] / 1e6);
}

static void print_costs(const struct bench *bench)
{
    printf("%-22s %11s %11s\n", "CPU time of a round", "median", "largest");
    print_cost(bench, "  samples", offsetof(struct round_cost, push));
    print_cost(bench, "  round", offsetof(struct round_cost, round));
    print_cost(bench, "  answers", offsetof(struct round_cost, answers));
    print_cost(bench, "  workers", offsetof(struct round_cost, workers));
    print_cost(bench, "longest slice", offsetof(struct round_cost, slice));
}

/* A line of our own status in KiB. */
static unsigned long own_status(const char *name)
{
    CLEANUP(freep) char *text = NULL;
    const char *line = NULL;
    size_t size;

    if (!procfs_read("/", "proc/self/status", &text, &size))
        line = strstr(text, name);
    if (!line)
        fail("status");
    return strtoul(line + strlen(name), NULL, 10);
}

static size_t allocated(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static void print_memory(const struct bench *bench, size_t before, size_t after_maps)
{
    const struct space *space = attribute_find(bench->pipeline->attribute, bench->pid);
    size_t n_vmas = space->vmas.n_items, n_ranges = HASH_COUNT(space->ranges);

    printf("%zu VMAs: %zu bytes each; %zu ranges: %zu bytes each\n", n_vmas,
           (after_maps - before) / n_vmas, n_ranges, (allocated() - after_maps) / (n_ranges + 1));
    printf("memory at most %lu KiB, at the end %lu KiB\n", own_status("VmHWM:"),
           own_status("VmRSS:"));
}

static void say_nothing(void *userdata, const char *line)
{
    (void)userdata, (void)line;
}

static void new_pipeline(struct bench *bench, struct topology *topology, const struct host *host,
                         const struct procs *procs)
{
    struct pipeline_options options = {.topology = topology,
                                       .procs = procs,
                                       .host = host,
                                       .pool = bench->pool,
                                       .self_pid = getpid(),
                                       .now = bench->now,
                                       .log = say_nothing};

    if (config_new_default(&options.config) < 0)
        fail("config");
    options.config->observe = true;
    if (pipeline_new(&bench->pipeline, &options) < 0)
        fail("pipeline_new");
}

static bool knows_all(const struct bench *bench)
{
    const struct space *space = attribute_find(bench->pipeline->attribute, bench->pid);

    return space && space->totals_known;
}

static void run(struct bench *bench)
{
    struct round_cost first = {0};
    size_t before = allocated(), after_maps;

    /* Hardly a sample until maps and numa_maps are known. */
    while (!knows_all(bench)) {
        bench->now += ROUND_NSEC;
        run_round(bench, 1, &first);
    }
    after_maps = allocated();
    for (int i = 0; i < N_ROUNDS; i++)
        run_round(bench, N_SAMPLES, &bench->costs[i]);
    print_costs(bench);
    print_memory(bench, before, after_maps);
}

int main(void)
{
    struct node nodes[2] = {{.online = true, .has_cpus = true, .has_memory = true},
                            {.online = true, .has_cpus = true, .has_memory = true}};
    int cpu_node[2] = {0, 1};
    bool isolated[2] = {false, false};
    uint8_t distances[4] = {10, 21, 21, 10};
    struct topology topology = {.n_node_ids = 2,
                                .n_cpu_ids = 2,
                                .n_memory_nodes = 2,
                                .nodes = nodes,
                                .cpu_node = cpu_node,
                                .cpu_isolated = isolated,
                                .distances = distances};
    struct bench bench = {.now = nsec_now(), .random = UINT64_C(88172645463325252)};
    const struct procs procs = {.ops = &procs_ops, .self = &bench};
    const struct host host = host_live();

    for (int i = 0; i < 2; i++)
        nodes[i].total_bytes = nodes[i].free_bytes = UINT64_C(64) << 30;
    /* So that all memory is counted. */
    mallopt(M_ARENA_MAX, 1);
    limits_return_memory();
    start_process(&bench);
    read_parts(&bench);
    if (worker_pool_new(&bench.pool, pipeline_n_lanes(&topology)) < 0)
        fail("worker_pool_new");
    new_pipeline(&bench, &topology, &host, &procs);
    run(&bench);
    worker_pool_free(bench.pool);
    pipeline_free(bench.pipeline);
    end_process(&bench);
    return 0;
}
