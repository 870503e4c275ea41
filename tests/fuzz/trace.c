/*
 * The trace format: an accepted record lies within limits; what is written from it can be read, and
 * is written alike once more.
 */
#include "fuzz.h"
#include "sample/trace/trace_read.h"
#include "sample/trace/trace_write.h"
#include "util/cleanup.h"
#include "util/procfs.h"

#define PAGE_BYTES UINT64_C(4096)
#define CALL_PAGES_MAX 4096 /* as a call of move_pages has at most */

static void check_ranges(const struct trace_record *record)
{
    FUZZ_CHECK(record->cpus.n_ranges <= TRACE_RUNS_MAX);
    for (size_t i = 0; i < record->cpus.n_ranges; i++) {
        const struct trace_ids *ids = &record->cpus.ranges[i];

        FUZZ_CHECK(ids->first >= 0 && ids->first <= ids->last && ids->last < TRACE_CPU_MAX);
    }
}

static void check_machine(const struct trace_record *record)
{
    uint64_t page_bytes = record->machine.page_bytes;

    FUZZ_CHECK(page_bytes >= 512 && !(page_bytes & (page_bytes - 1)));
    FUZZ_CHECK(record->machine.n_node_ids >= 1);
    FUZZ_CHECK(record->machine.n_node_ids <= TOPOLOGY_NODE_MAX);
    FUZZ_CHECK(record->machine.n_cpu_ids >= 0 && record->machine.n_cpu_ids <= TRACE_CPU_MAX);
}

static void check_node(const struct trace_record *record)
{
    FUZZ_CHECK(record->node.id >= 0 && record->node.id < TOPOLOGY_NODE_MAX);
    FUZZ_CHECK(record->node.n_distances >= 1);
    FUZZ_CHECK(record->node.n_distances <= TOPOLOGY_NODE_MAX);
    for (size_t i = 0; i < record->node.n_distances; i++)
        FUZZ_CHECK(record->node.distances[i] > 0);
}

static void check_runs(const struct trace_record *record)
{
    FUZZ_CHECK(record->pages.n_runs <= TRACE_RUNS_MAX);
    for (size_t i = 0; i < record->pages.n_runs; i++) {
        const struct trace_run *run = &record->pages.runs[i];

        FUZZ_CHECK(run->n >= 1 && run->n <= TRACE_RUN_PAGES_MAX && run->stride_pages >= 1);
        FUZZ_CHECK(run->node >= 0 && run->node < TOPOLOGY_NODE_MAX);
        FUZZ_CHECK(run->status < TOPOLOGY_NODE_MAX);
        FUZZ_CHECK(run->status >= -4095 || run->status == TRACE_UNWRITTEN);
    }
}

static void check_access(const struct access *access)
{
    FUZZ_CHECK(access->pid >= 0 && access->tid >= 0);
    FUZZ_CHECK(access->weight_sec >= 0 && access->weight_sec <= 86400);
    FUZZ_CHECK(access->kind <= ACCESS_TOUCH && access->source < ACCESS_SOURCE_COUNT);
    FUZZ_CHECK(access->locality <= ACCESS_LOCALITY_REMOTE);
}

static void check_record(const struct trace_record *record)
{
    switch (record->kind) {
    case TRACE_MACHINE:
        check_machine(record);
        break;
    case TRACE_NODE:
        check_node(record);
        break;
    case TRACE_CPUS:
    case TRACE_ISOLATED:
        check_ranges(record);
        break;
    case TRACE_PAGES:
    case TRACE_MOVE:
        check_runs(record);
        break;
    case TRACE_ACCESS:
        check_access(&record->access);
        break;
    default:
        FUZZ_CHECK(record->kind < TRACE_KIND_COUNT);
    }
}

/* The pages of a call. `nodes` and `status` are as long as `pages`. Return: how many. */
static size_t expand_runs(const struct trace_record *record, void **pages, int *nodes, int *status)
{
    size_t n = 0;

    for (size_t i = 0; i < record->pages.n_runs; i++) {
        const struct trace_run *run = &record->pages.runs[i];

        for (uint64_t k = 0; k < run->n && n < CALL_PAGES_MAX; k++, n++) {
            pages[n] = (void *)(uintptr_t)(run->addr + k * run->stride_pages * PAGE_BYTES);
            nodes[n] = run->node;
            status[n] = run->status;
        }
    }
    return n;
}

static void write_call(struct trace_writer *writer, const struct trace_record *record)
{
    void *pages[CALL_PAGES_MAX];
    int nodes[CALL_PAGES_MAX], status[CALL_PAGES_MAX];
    const struct trace_call call = {
        .pid = record->pid,
        .result = record->pages.result,
        .cpu_nsec = record->pages.cpu_nsec,
        .page_bytes = PAGE_BYTES,
        .n = expand_runs(record, pages, nodes, status),
        .pages = pages,
        .nodes = record->kind == TRACE_MOVE ? nodes : NULL,
        .status = status,
    };

    trace_write_call(writer, &call);
}

static void write_file(struct trace_writer *writer, const struct trace_record *record)
{
    CLEANUP(freep) char *text = NULL;

    FUZZ_CHECK(memchr(record->file.path, '\0', sizeof record->file.path));
    FUZZ_CHECK(record->file.result >= -4095 && record->file.result <= PROCFS_DENIED);
    FUZZ_CHECK(trace_text_decode(record, &text) == 0);
    if (record->file.same)
        trace_write_same(writer, record->file.path, record->file.cpu_nsec);
    else
        trace_write_file(writer, record->file.path, record->file.result, record->file.cpu_nsec,
                         text, record->file.size);
}

static void write_detail(struct trace_writer *writer, const struct trace_record *record)
{
    struct process process = {
        .pid = record->pid, .uid_known = record->detail.uid_known, .uid = record->detail.uid};
    CLEANUP(freep) char *comm = NULL;

    FUZZ_CHECK(trace_word_decode(&record->detail.comm, &comm) == 0);
    FUZZ_CHECK(trace_word_decode(&record->detail.exe, &process.exe) == 0);
    FUZZ_CHECK(trace_word_decode(&record->detail.cgroup, &process.cgroup) == 0);
    snprintf(process.comm, sizeof process.comm, "%s", comm ? comm : "");
    trace_write_detail(writer, &process);
    process_deinit(&process);
}

static void write_mems(struct trace_writer *writer, const struct trace_record *record)
{
    CLEANUP(freep) char *list = NULL;

    FUZZ_CHECK(trace_word_decode(&record->mems, &list) == 0);
    trace_write_mems(writer, record->pid, list);
}

static void write_late(struct trace_writer *writer, const struct trace_record *record)
{
    CLEANUP(freep) char *name = NULL;

    FUZZ_CHECK(trace_word_decode(&record->late, &name) == 0);
    trace_write_late(writer, record->pid, name);
}

static void write_room(struct trace_writer *writer, const struct trace_record *record)
{
    const struct node node = {
        .free_bytes = record->room.free_bytes,
        .reserve_bytes = record->room.reserve_bytes,
        .inactive_file_bytes = record->room.inactive_file_bytes,
    };

    trace_write_room(writer, record->room.node, &node);
}

/* Those of the machine are left out: they are written from a topology. */
static void write_record(struct trace_writer *writer, const struct trace_record *record)
{
    switch (record->kind) {
    case TRACE_ROOM:
        write_room(writer, record);
        break;
    case TRACE_PROCESS:
        trace_write_process(writer, &record->process);
        break;
    case TRACE_DETAIL:
        write_detail(writer, record);
        break;
    case TRACE_MEMS:
        write_mems(writer, record);
        break;
    case TRACE_GONE:
        trace_write_gone(writer, record->pid);
        break;
    case TRACE_FILE:
        write_file(writer, record);
        break;
    case TRACE_PAGES:
    case TRACE_MOVE:
        write_call(writer, record);
        break;
    case TRACE_ACCESS:
        trace_write_access(writer, &record->access);
        break;
    case TRACE_LATE:
        write_late(writer, record);
        break;
    case TRACE_RETURNED:
        trace_write_returned(writer, record->pid);
        break;
    case TRACE_LOST:
        trace_write_lost(writer, record->n_lost);
        break;
    case TRACE_ROUND:
        trace_write_round(writer, record->now_nsec);
        break;
    default:
        break;
    }
}

/* Reads a trace and writes its records to a new one. Return: as the last trace_read. */
static int copy(const char *text, size_t size, char **copyp, size_t *sizep)
{
    struct trace_writer writer = {.file = open_memstream(copyp, sizep)};
    struct trace_reader reader;
    struct trace_record record;
    int r = trace_reader_init(&reader, text, size);

    FUZZ_CHECK(writer.file);
    trace_write_version(&writer);
    while (!r && !(r = trace_read(&reader, &record))) {
        check_record(&record);
        write_record(&writer, &record);
    }
    FUZZ_CHECK(r == TRACE_END || r == TRACE_CUT || r == TRACE_BAD);
    FUZZ_CHECK(r == TRACE_END || reader.what);
    fclose(writer.file);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(freep) char *once = NULL, *twice = NULL;
    size_t once_size, twice_size;

    (void)copy((const char *)data, size, &once, &once_size);
    FUZZ_CHECK(copy(once, once_size, &twice, &twice_size) == TRACE_END);
    FUZZ_CHECK(once_size == twice_size && !memcmp(once, twice, once_size));
    return 0;
}
