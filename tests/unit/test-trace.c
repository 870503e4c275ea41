/*
 * The trace format: what is written is read again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sample/trace/trace_read.h"
#include "sample/trace/trace_write.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/procfs.h"

struct page {
    struct trace_writer writer;
    char *text;
    size_t size;
    struct trace_reader reader;
    struct trace_record record;
};

static void page_open(struct page *page)
{
    *page = (struct page){.text = NULL};
    page->writer.file = open_memstream(&page->text, &page->size);
    assert_non_null(page->writer.file);
    trace_write_version(&page->writer);
}

static void page_read(struct page *page)
{
    assert_int_equal(fclose(page->writer.file), 0);
    assert_int_equal(trace_reader_init(&page->reader, page->text, page->size), 0);
}

static const struct trace_record *page_next(struct page *page, enum trace_kind kind)
{
    assert_int_equal(trace_read(&page->reader, &page->record), 0);
    assert_string_equal(trace_kind_names[page->record.kind], trace_kind_names[kind]);
    return &page->record;
}

static void page_close(struct page *page)
{
    assert_int_equal(trace_read(&page->reader, &page->record), TRACE_END);
    free(page->text);
}

static void assert_word(const struct scan *word, const char *expected)
{
    CLEANUP(freep) char *text = NULL;

    assert_int_equal(trace_word_decode(word, &text), 0);
    if (expected)
        assert_string_equal(text, expected);
    else
        assert_null(text);
}

/* Nodes 0 and 2, CPUs 0-1 and 3 on node 0, 2 on node 2, 4 isolated and on no node. */
static void machine_comes_back(void **state)
{
    struct node nodes[] = {{.online = true, .total_bytes = 1 << 20},
                           {.online = false},
                           {.online = true, .total_bytes = 0}};
    int cpu_node[] = {0, 0, 2, 0, -1};
    bool isolated[] = {false, false, false, false, true};
    uint8_t distances[] = {10, 255, 21, 255, 255, 255, 21, 255, 10};
    const struct topology topology = {.n_node_ids = 3,
                                      .n_cpu_ids = 5,
                                      .nodes = nodes,
                                      .cpu_node = cpu_node,
                                      .cpu_isolated = isolated,
                                      .distances = distances};
    const struct trace_record *record;
    struct page page;

    (void)state;
    page_open(&page);
    trace_write_machine(&page.writer, &topology, 65536, 77, UINT64_MAX);
    page_read(&page);
    record = page_next(&page, TRACE_MACHINE);
    assert_int_equal(record->pid, 77);
    assert_int_equal(record->machine.page_bytes, 65536);
    assert_true(record->machine.now_nsec == UINT64_MAX);
    assert_int_equal(record->machine.n_node_ids, 3);
    assert_int_equal(record->machine.n_cpu_ids, 5);
    record = page_next(&page, TRACE_NODE);
    assert_int_equal(record->node.total_bytes, 1 << 20);
    assert_int_equal(record->node.n_distances, 3);
    assert_memory_equal(record->node.distances, distances, 3);
    record = page_next(&page, TRACE_CPUS);
    assert_int_equal(record->cpus.node, 0);
    assert_int_equal(record->cpus.n_ranges, 2);
    assert_int_equal(record->cpus.ranges[0].last, 1);
    assert_int_equal(record->cpus.ranges[1].first, 3);
    assert_int_equal(page_next(&page, TRACE_NODE)->node.id, 2);
    assert_int_equal(page_next(&page, TRACE_CPUS)->cpus.ranges[0].first, 2);
    assert_int_equal(page_next(&page, TRACE_ISOLATED)->cpus.ranges[0].last, 4);
    page_close(&page);
}

/* Every second CPU: one line holds 64 ranges. */
static void many_cpus_take_several_lines(void **state)
{
    enum {
        N = 400
    };
    struct node node = {.online = true};
    int cpu_node[N];
    bool isolated[N] = {false};
    uint8_t distance = 10;
    const struct topology topology = {.n_node_ids = 1,
                                      .n_cpu_ids = N,
                                      .nodes = &node,
                                      .cpu_node = cpu_node,
                                      .cpu_isolated = isolated,
                                      .distances = &distance};
    struct page page;
    size_t n = 0;

    (void)state;
    for (int cpu = 0; cpu < N; cpu++)
        cpu_node[cpu] = cpu % 2 - 1;
    page_open(&page);
    trace_write_machine(&page.writer, &topology, 4096, 77, 0);
    page_read(&page);
    page_next(&page, TRACE_MACHINE);
    page_next(&page, TRACE_NODE);
    while (n < N / 2)
        n += page_next(&page, TRACE_CPUS)->cpus.n_ranges;
    assert_int_equal(n, N / 2);
    page_close(&page);
}

static void processes_come_back(void **state)
{
    static char exe[] = "/opt/a b\\c\n\xff", cgroup[] = "";
    const struct process process = {.pid = 4711,
                                    .start_ticks = UINT64_MAX,
                                    .rss_bytes = 12,
                                    .n_threads = 3,
                                    .kernel_thread = true,
                                    .comm = "-",
                                    .uid = 4294967294,
                                    .uid_known = true,
                                    .exe = exe,
                                    .cgroup = cgroup};
    const struct process empty = {.pid = 1};
    const struct trace_record *record;
    struct page page;

    (void)state;
    page_open(&page);
    trace_write_process(&page.writer, &process);
    trace_write_process(&page.writer, &empty);
    trace_write_detail(&page.writer, &process);
    trace_write_detail(&page.writer, &empty);
    trace_write_mems(&page.writer, 4711, "0-1,8");
    trace_write_gone(&page.writer, 4711);
    page_read(&page);
    record = page_next(&page, TRACE_PROCESS);
    assert_int_equal(record->process.pid, 4711);
    assert_true(record->process.start_ticks == UINT64_MAX);
    assert_int_equal(record->process.rss_bytes, 12);
    assert_int_equal(record->process.n_threads, 3);
    assert_true(record->process.kernel_thread);
    assert_string_equal(record->process.comm, "-");
    assert_null(record->process.exe);
    assert_string_equal(page_next(&page, TRACE_PROCESS)->process.comm, "");
    record = page_next(&page, TRACE_DETAIL);
    assert_true(record->detail.uid_known && record->detail.uid == 4294967294);
    assert_word(&record->detail.comm, "-");
    assert_word(&record->detail.exe, exe);
    assert_word(&record->detail.cgroup, "");
    record = page_next(&page, TRACE_DETAIL);
    assert_false(record->detail.uid_known);
    assert_word(&record->detail.exe, NULL);
    assert_word(&page_next(&page, TRACE_MEMS)->mems, "0-1,8");
    assert_int_equal(page_next(&page, TRACE_GONE)->pid, 4711);
    page_close(&page);
}

static void assert_text_comes_back(const char *text, size_t size)
{
    struct page page;
    const struct trace_record *record;
    char *decoded = NULL;

    page_open(&page);
    trace_write_file(&page.writer, "proc/1/maps", 0, 99, text, size);
    trace_write_round(&page.writer, 5);
    page_read(&page);
    record = page_next(&page, TRACE_FILE);
    assert_string_equal(record->file.path, "proc/1/maps");
    assert_int_equal(record->file.result, 0);
    assert_false(record->file.same);
    assert_int_equal(record->file.cpu_nsec, 99);
    assert_int_equal(record->file.size, size);
    assert_int_equal(trace_text_decode(record, &decoded), 0);
    assert_memory_equal(decoded, text, size);
    assert_int_equal(decoded[size], '\0');
    free(decoded);
    assert_int_equal(page_next(&page, TRACE_ROUND)->now_nsec, 5);
    page_close(&page);
}

/* No newline at the end, tabs, escapes, NULs, and lines of more than fits into one. */
/* Who gave its program such a path made the whole trace unreadable: its line was too long. */
static void a_long_path_does_not_end_the_trace(void **state)
{
    CLEANUP(freep) char *exe = calloc(4096, 1);
    CLEANUP(freep) char *cgroup = calloc(4096, 1);
    struct process process = {.pid = 1, .exe = exe, .cgroup = cgroup};
    const struct trace_record *record;
    struct page page;

    (void)state;
    memset(exe, '\xc3', 4095);
    memset(cgroup, 'c', 4095);
    page_open(&page);
    trace_write_detail(&page.writer, &process);
    memset(exe + 2000, 0, 2095);
    memcpy(cgroup, exe, 4096);
    trace_write_detail(&page.writer, &process);
    page_read(&page);
    record = page_next(&page, TRACE_DETAIL);
    assert_word(&record->detail.exe, NULL);
    assert_int_equal(record->detail.cgroup.end - record->detail.cgroup.at, 4095);
    record = page_next(&page, TRACE_DETAIL);
    assert_word(&record->detail.exe, exe);
    assert_word(&record->detail.cgroup, exe);
    page_close(&page);
}

static void texts_come_back(void **state)
{
    static const char *const texts[] = {
        "",       "a\n",      "a",   "\n\n",    "\ta\n\tb",
        "a\\c\n", "a\\x41\n", "\\c", "a \n \n", "\x01\xff\x7f\n",
    };
    char *text = malloc(3 * TRACE_TEXT_MAX);

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        assert_text_comes_back(texts[i], strlen(texts[i]));
    assert_text_comes_back("\0a\0", 3);
    assert_non_null(text);
    for (size_t i = 0; i < 3 * TRACE_TEXT_MAX; i++)
        text[i] = (char)(i % 7 ? 0x80 : 'x');
    for (size_t size = TRACE_TEXT_MAX - 1; size <= TRACE_TEXT_MAX + 1; size++)
        assert_text_comes_back(text, size);
    assert_text_comes_back(text, 3 * TRACE_TEXT_MAX);
    text[TRACE_TEXT_MAX] = '\n';
    assert_text_comes_back(text, TRACE_TEXT_MAX + 1);
    free(text);
}

static void refusals_come_back(void **state)
{
    struct page page;

    (void)state;
    page_open(&page);
    trace_write_file(&page.writer, "proc/1/maps", PROCFS_GONE, 1, "", 0);
    trace_write_file(&page.writer, "proc/1/maps", PROCFS_DENIED, 1, "", 0);
    trace_write_file(&page.writer, "proc/1/maps", -EIO, 1, "", 0);
    trace_write_same(&page.writer, "proc/1/maps", 1);
    page_read(&page);
    assert_int_equal(page_next(&page, TRACE_FILE)->file.result, PROCFS_GONE);
    assert_int_equal(page_next(&page, TRACE_FILE)->file.result, PROCFS_DENIED);
    assert_int_equal(page_next(&page, TRACE_FILE)->file.result, -EIO);
    assert_false(page.record.file.same);
    assert_true(page_next(&page, TRACE_FILE)->file.same);
    page_close(&page);
}

/* Reads calls back into statuses, by address. */
static void assert_call_comes_back(const struct trace_call *call)
{
    const struct trace_record *record;
    enum trace_kind kind = call->nodes ? TRACE_MOVE : TRACE_PAGES;
    struct page page;
    size_t i = 0;

    page_open(&page);
    trace_write_call(&page.writer, call);
    page_read(&page);
    do {
        record = page_next(&page, kind);
        assert_int_equal(record->pid, call->pid);
        assert_int_equal(record->pages.result, call->result);
        assert_int_equal(record->pages.cpu_nsec, i ? 0 : call->cpu_nsec);
        for (size_t r = 0; r < record->pages.n_runs; r++) {
            const struct trace_run *run = &record->pages.runs[r];

            for (uint64_t n = 0; n < run->n; n++, i++) {
                assert_true(i < call->n);
                assert_true(run->addr + n * run->stride_pages * call->page_bytes ==
                            (uintptr_t)call->pages[i]);
                assert_int_equal(run->status, call->status[i]);
                if (call->nodes)
                    assert_int_equal(run->node, call->nodes[i]);
            }
        }
    } while (i < call->n);
    page_close(&page);
}

#define CALL_PAGES 10000

/* Runs, strides, refusals, unwritten statuses, one page twice, and more runs than a line holds. */
static void calls_come_back(void **state)
{
    static void *pages[CALL_PAGES];
    static int nodes[CALL_PAGES], status[CALL_PAGES];
    struct trace_call call = {.pid = 4711,
                              .cpu_nsec = 12345,
                              .page_bytes = 4096,
                              .n = CALL_PAGES,
                              .pages = pages,
                              .status = status};

    (void)state;
    for (size_t i = 0; i < CALL_PAGES; i++) {
        pages[i] = (void *)(uintptr_t)(0x7f0000000000 + i * 4096);
        nodes[i] = 1;
    }
    assert_call_comes_back(&call); /* longer than one run may be */
    for (size_t i = 0; i < 4000; i++)
        status[i] = i % 3 ? 1 : -ENOENT;
    for (size_t i = 4000; i < 6000; i++)
        pages[i] = (void *)(uintptr_t)(0x7f0100000000 + i * 32 * 4096);
    pages[6001] = pages[6000];
    pages[6003] = (void *)(uintptr_t)0x1234; /* backwards and inside a page */
    assert_call_comes_back(&call);
    call.nodes = nodes;
    call.result = 7;
    nodes[7000] = 0;
    for (size_t i = 7500; i < CALL_PAGES; i++)
        status[i] = TRACE_UNWRITTEN;
    assert_call_comes_back(&call);
}

/* From heap to stack: once they made a run with a stride that no reader took. */
static void pages_of_heap_and_stack_in_one_call_come_back(void **state)
{
    const uint64_t far = (uint64_t)TRACE_STRIDE_MAX * 4096;
    void *pages[] = {(void *)0x550000000000, (void *)0x7f0000000000,
                     (void *)(uintptr_t)(0x7f0000000000 + far),
                     (void *)(uintptr_t)(0x7f0000000000 + 2 * far + 4096)};
    const int status[ARRAY_LENGTH(pages)] = {0};
    const struct trace_call call = {.pid = 4711,
                                    .page_bytes = 4096,
                                    .n = ARRAY_LENGTH(pages),
                                    .pages = pages,
                                    .status = status};

    (void)state;
    assert_call_comes_back(&call);
}

static void a_refused_query_has_no_pages(void **state)
{
    void *address = NULL;
    int status = TRACE_UNWRITTEN;
    struct page page;

    (void)state;
    page_open(&page);
    trace_write_call(&page.writer, &(struct trace_call){.pid = 1,
                                                        .result = -EPERM,
                                                        .page_bytes = 4096,
                                                        .n = 1,
                                                        .pages = &address,
                                                        .status = &status});
    page_read(&page);
    assert_int_equal(page_next(&page, TRACE_PAGES)->pages.result, -EPERM);
    assert_int_equal(page.record.pages.n_runs, 0);
    page_close(&page);
}

static const struct access accesses[] = {
    {.when_nsec = 1000, .pid = 1, .tid = 2, .cpu = 3, .addr = 4, .weight_sec = 0.004},
    /* nothing but time and address has changed */
    {.when_nsec = 5000, .pid = 1, .tid = 2, .cpu = 3, .addr = 5, .weight_sec = 0.004},
    /* earlier, as rings of other CPUs give it */
    {.when_nsec = 4000, .pid = 1, .tid = 2, .cpu = 3, .addr = UINT64_MAX, .weight_sec = 0.004 / 3},
    {.when_nsec = UINT64_MAX,
     .pid = INT32_MAX,
     .tid = 0,
     .cpu = -1,
     .addr = 0,
     .weight_sec = 0,
     .kind = ACCESS_TOUCH,
     .source = ACCESS_SOURCE_IDLE_PAGE,
     .locality = ACCESS_LOCALITY_REMOTE},
    {.when_nsec = 1,
     .pid = 1,
     .weight_sec = 1e-9 / 7,
     .kind = ACCESS_READ_WRITE,
     .source = ACCESS_SOURCE_KVM,
     .locality = ACCESS_LOCALITY_CACHE},
    {.when_nsec = 1, .pid = 1, .source = ACCESS_SOURCE_WRITE_FAULT, .kind = ACCESS_WRITE},
    {.when_nsec = 1, .pid = 1, .source = ACCESS_SOURCE_TIMER, .locality = ACCESS_LOCALITY_LOCAL},
};

static void assert_same_access(const struct access *a, const struct access *b)
{
    assert_true(a->when_nsec == b->when_nsec);
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->tid, b->tid);
    assert_int_equal(a->cpu, b->cpu);
    assert_true(a->addr == b->addr);
    assert_true(a->weight_sec == b->weight_sec);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->source, b->source);
    assert_int_equal(a->locality, b->locality);
}

static void accesses_come_back(void **state)
{
    struct page page;

    (void)state;
    page_open(&page);
    for (size_t i = 0; i < ARRAY_LENGTH(accesses); i++)
        trace_write_access(&page.writer, &accesses[i]);
    page_read(&page);
    for (size_t i = 0; i < ARRAY_LENGTH(accesses); i++)
        assert_same_access(&page_next(&page, TRACE_ACCESS)->access, &accesses[i]);
    page_close(&page);
}

static void the_rest_comes_back(void **state)
{
    const struct node node = {.free_bytes = 1, .reserve_bytes = 2, .inactive_file_bytes = 3};
    struct page page;

    (void)state;
    page_open(&page);
    trace_write_room(&page.writer, 8, &node);
    trace_write_late(&page.writer, 4711, "numa maps");
    trace_write_returned(&page.writer, 4712);
    trace_write_lost(&page.writer, 4);
    trace_write_round(&page.writer, UINT64_MAX);
    page_read(&page);
    assert_int_equal(page_next(&page, TRACE_ROOM)->room.node, 8);
    assert_int_equal(page.record.room.free_bytes, 1);
    assert_int_equal(page.record.room.reserve_bytes, 2);
    assert_int_equal(page.record.room.inactive_file_bytes, 3);
    assert_int_equal(page_next(&page, TRACE_LATE)->pid, 4711);
    assert_word(&page.record.late, "numa maps");
    assert_int_equal(page_next(&page, TRACE_RETURNED)->pid, 4712);
    assert_int_equal(page_next(&page, TRACE_LOST)->n_lost, 4);
    assert_true(page_next(&page, TRACE_ROUND)->now_nsec == UINT64_MAX);
    page_close(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machine_comes_back),
        cmocka_unit_test(many_cpus_take_several_lines),
        cmocka_unit_test(processes_come_back),
        cmocka_unit_test(a_long_path_does_not_end_the_trace),
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(refusals_come_back),
        cmocka_unit_test(calls_come_back),
        cmocka_unit_test(pages_of_heap_and_stack_in_one_call_come_back),
        cmocka_unit_test(a_refused_query_has_no_pages),
        cmocka_unit_test(accesses_come_back),
        cmocka_unit_test(the_rest_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
