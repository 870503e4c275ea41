/*
 * The world of a replayed trace: whatever a trace tells, in whatever order, its topology fits
 * itself, and processes, files and pages are answered within limits.
 */
#include "fuzz.h"
#include "numabd/discover.h"
#include "sample/trace/replay_world.h"
#include "util/cleanup.h"
#include "util/procfs.h"

#define N_RECORDS_MAX 200
#define N_PAGES 64
#define CALL_PAGES_MAX 4096 /* more would need much memory: a block of 3 kB for each page */

static void check_topology(const struct topology *topology)
{
    int n_memory_nodes = 0;

    FUZZ_CHECK(topology->n_node_ids >= 1 && topology->n_node_ids <= TOPOLOGY_NODE_MAX);
    for (int node = 0; node < topology->n_node_ids; node++) {
        n_memory_nodes += topology->nodes[node].has_memory;
        FUZZ_CHECK(topology->nodes[node].online || !topology->nodes[node].has_memory);
        FUZZ_CHECK(!topology->nodes[node].has_cpus || topology->nodes[node].online);
        FUZZ_CHECK(topology_distance(topology, node, 0) > 0);
    }
    FUZZ_CHECK(n_memory_nodes == topology->n_memory_nodes);
    for (int cpu = 0; cpu < topology->n_cpu_ids; cpu++) {
        int node = topology_cpu_node(topology, cpu);

        FUZZ_CHECK(node < topology->n_node_ids && (node < 0 || topology->nodes[node].has_cpus));
    }
}

static void check_file(const struct host *host, const char *path, size_t limit)
{
    CLEANUP(freep) char *text = NULL;
    size_t size = 0;
    int r = host->ops->read_file(host->self, path, limit, &text, &size);

    FUZZ_CHECK(r <= PROCFS_DENIED && (r == 0) == (text != NULL));
    if (text)
        FUZZ_CHECK(size <= limit && text[size] == '\0');
}

static void check_maps(const struct host *host, pid_t pid)
{
    CLEANUP(freep) char *text = NULL;
    size_t size = 0;
    int fd = -1, r = host->ops->read_maps(host->self, pid, &fd, &text, &size);

    FUZZ_CHECK(fd == -1);
    FUZZ_CHECK(r <= PROCFS_DENIED && (r == 0) == (text != NULL));
    if (text)
        FUZZ_CHECK(text[size] == '\0');
}

static void check_files(const struct host *host, pid_t pid)
{
    char path[64];

    check_maps(host, pid);
    snprintf(path, sizeof path, "proc/%d/numa_maps", pid);
    check_file(host, path, SIZE_MAX / 4);
    check_file(host, path, 5);
}

static void check_pages(const struct host *host, pid_t pid, uint64_t addr)
{
    void *pages[N_PAGES];
    int nodes[N_PAGES] = {0}, status[N_PAGES];

    for (size_t i = 0; i < N_PAGES; i++)
        pages[i] = (void *)(uintptr_t)(addr + i * host->page_bytes);
    for (int moves = 0; moves < 2; moves++) {
        long r =
            host->ops->move_pages(host->self, pid, N_PAGES, pages, moves ? nodes : NULL, status, 0);

        FUZZ_CHECK(r <= N_PAGES);
        for (size_t i = 0; i < N_PAGES && r == 0; i++)
            FUZZ_CHECK(status[i] < TOPOLOGY_NODE_MAX && status[i] >= -4095);
    }
}

static void check_processes(const struct procs *procs)
{
    struct process_list list = {0};

    FUZZ_CHECK(procs->ops->list(procs->self, &list) == 0);
    for (size_t i = 0; i < list.n_items; i++) {
        struct process *process = &list.items[i];
        CLEANUP(freep) char *mems = NULL;

        FUZZ_CHECK(process->pid > 0);
        FUZZ_CHECK(memchr(process->comm, '\0', sizeof process->comm));
        FUZZ_CHECK(procs->ops->read_detail(procs->self, process) <= DISCOVER_DENIED);
        FUZZ_CHECK(procs->ops->read_mems_allowed(procs->self, process->pid, &mems) <=
                   DISCOVER_DENIED);
    }
    process_list_deinit(&list);
}

static void check_answers(const struct replay_world *world, const struct trace_record *record)
{
    const struct host *host = replay_world_host(world);

    check_files(host, record->pid);
    if ((record->kind == TRACE_PAGES || record->kind == TRACE_MOVE) && record->pages.n_runs)
        check_pages(host, record->pid, record->pages.runs[0].addr);
}

static size_t count_pages(const struct trace_record *record)
{
    size_t n = 0;

    if (record->kind == TRACE_PAGES || record->kind == TRACE_MOVE)
        for (size_t i = 0; i < record->pages.n_runs; i++)
            n += record->pages.runs[i].n;
    return n;
}

static void check_record(struct replay_world *world, const struct trace_record *record)
{
    const char *what = NULL;
    int r = replay_world_tell(world, record, &what);

    FUZZ_CHECK(r == 0 || (r == REPLAY_UNSOUND && what));
    if (count_pages(record) <= CALL_PAGES_MAX)
        FUZZ_CHECK(replay_world_answer(world, record) == 0);
    if (!replay_world_topology(world))
        return;
    check_answers(world, record);
    if (record->kind == TRACE_ROUND)
        check_processes(replay_world_procs(world));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(replay_world_freep) struct replay_world *world = NULL;
    struct trace_reader reader;
    struct trace_record record;

    if (trace_reader_init(&reader, (const char *)data, size))
        return 0;
    FUZZ_CHECK(replay_world_new(&world) == 0);
    for (int n = 0; n < N_RECORDS_MAX && trace_read(&reader, &record) == 0; n++)
        check_record(world, &record);
    if (replay_world_topology(world)) {
        check_topology(replay_world_topology(world));
        check_processes(replay_world_procs(world));
    }
    return 0;
}
