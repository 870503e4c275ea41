/*
 * The mem_events source as a whole, on events that this kernel has: a sysfs tree calls the software
 * page fault event `mem-stores`. Without a PMU the counters do not open, so that giving up demands
 * is tried as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "numabd/sample.h"
#include "tree.h"
#include "util/array.h"
#include "util/nsec.h"

#define DEVICES "sys/bus/event_source/devices/"
#define N_PAGES 256

static const struct tree_file software_as_pmu[] = {
    {DEVICES "cpu/type", "1\n"}, /* PERF_TYPE_SOFTWARE */
    {DEVICES "cpu/caps/max_precise", "2\n"},
    {DEVICES "cpu/format/event", "config:0-7\n"},
    {DEVICES "cpu/events/mem-stores", "event=0x2\n"}, /* PERF_COUNT_SW_PAGE_FAULTS */
};

/* Loads as on Sapphire Rapids, behind a leader that only counts (PERF_COUNT_SW_CONTEXT_SWITCHES).
 */
static const struct tree_file with_leader[] = {
    {DEVICES "cpu/type", "1\n"},
    {DEVICES "cpu/format/event", "config:0-7\n"},
    {DEVICES "cpu/events/mem-loads-aux", "event=0x3\n"},
    {DEVICES "cpu/events/mem-loads", "event=0x2\n"},
};

static const struct tree_file unknown_pmu[] = {
    {DEVICES "cpu/type", "4000000000\n"},
    {DEVICES "cpu/format/event", "config:0-7\n"},
    {DEVICES "cpu/events/mem-stores", "event=0x2\n"},
};

struct fixture {
    struct tree tree;
    struct host host;
    struct topology *topology;
    struct source_options options;
    struct source source;
    struct source_reason reason;
    enum access_kind kind; /* of all accesses */
    uint8_t *start;
    size_t n_inside, n_outside;
};

static bool wants(void *userdata, pid_t pid)
{
    (void)userdata;
    return pid == getpid();
}

static void push(void *userdata, const struct access *accesses, size_t n)
{
    struct fixture *fixture = userdata;

    for (size_t i = 0; i < n; i++) {
        const uintptr_t start = (uintptr_t)fixture->start;

        assert_int_equal(accesses[i].pid, getpid());
        assert_int_equal(accesses[i].source, ACCESS_SOURCE_MEM_EVENTS);
        assert_int_equal(accesses[i].kind, fixture->kind);
        if (accesses[i].addr >= start && accesses[i].addr < start + N_PAGES * 4096)
            fixture->n_inside++;
        else
            fixture->n_outside++;
    }
}

static int start(struct fixture *fixture, const struct tree_file *files, size_t n)
{
    memset(fixture, 0, sizeof *fixture);
    tree_init(&fixture->tree);
    tree_add(&fixture->tree, files, n);
    fixture->host = host_root(fixture->tree.root);
    assert_int_equal(topology_new(&fixture->topology, "/"), 0);
    fixture->options = (struct source_options){
        .rate_hz = 1000,
        .scope = SAMPLE_SCOPE_THREAD,
        .n_cpu_ids = fixture->topology->n_cpu_ids,
        .epoll_fd = -1,
        .topology = fixture->topology,
        .host = &fixture->host,
        .sink = {push, fixture},
        .filter = {wants, NULL},
    };
    return mem_events_new(&fixture->source, &fixture->options, &fixture->reason);
}

static void stop(struct fixture *fixture)
{
    source_deinit(&fixture->source);
    topology_free(fixture->topology);
    tree_deinit(&fixture->tree);
}

static void do_round(struct fixture *fixture)
{
    const struct sample_target target = {
        .pid = getpid(), .rss_bytes = 1 << 26, .n_threads = 1, .rate_hz = 1000};
    const struct sample_round round = {.now = nsec_now(), .targets = &target, .n_targets = 1};

    assert_int_equal(fixture->source.ops->round(fixture->source.self, &round, &fixture->reason), 0);
}

static void map_pages(struct fixture *fixture)
{
    fixture->start =
        mmap(NULL, N_PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(fixture->start != MAP_FAILED);
    madvise(fixture->start, N_PAGES * 4096, MADV_NOHUGEPAGE);
}

/* The event is sampled by frequency, so it takes some faults until one is. */
static void touch_until_sampled(struct fixture *fixture)
{
    for (unsigned i = 0; fixture->n_inside == 0; i++) {
        assert_true(i < 10000); /* a hang, not a deadline */
        for (size_t page = 0; page < N_PAGES; page++)
            *(volatile uint8_t *)(fixture->start + page * 4096) = 1;
        assert_int_equal(madvise(fixture->start, N_PAGES * 4096, MADV_DONTNEED), 0);
        assert_int_equal(fixture->source.ops->drain(fixture->source.self), 0);
        usleep(1000);
    }
}

static void sample_a_target(const struct tree_file *files, size_t n, enum access_kind kind,
                            const char *name)
{
    const struct sample_counts *counts;
    struct fixture fixture;
    char text[256] = "";
    struct cpu_use use;

    if (start(&fixture, files, n)) {
        print_message("SKIP: %s\n", fixture.reason.text);
        stop(&fixture);
        skip();
    }
    fixture.kind = kind;
    do_round(&fixture);
    map_pages(&fixture);
    touch_until_sampled(&fixture);
    fixture.source.ops->describe(fixture.source.self, text, sizeof text);
    counts = fixture.source.ops->counts(fixture.source.self);
    print_message("%s: %llu samples, %zu inside, %zu outside\n", text,
                  (unsigned long long)counts->n_samples, fixture.n_inside, fixture.n_outside);
    assert_non_null(strstr(text, name));
    assert_int_equal(counts->n_accesses, fixture.n_inside + fixture.n_outside);
    if (strstr(text, "no cycle counts"))
        assert_int_equal(fixture.source.ops->measure(
                             fixture.source.self, &(struct sample_target){.pid = getpid()}, &use),
                         SOURCE_UNMEASURED);
    munmap(fixture.start, N_PAGES * 4096);
    stop(&fixture);
}

static void test_stores_of_a_target(void **state)
{
    (void)state;
    sample_a_target(software_as_pmu, ARRAY_LENGTH(software_as_pmu), ACCESS_WRITE, "cpu mem-stores");
}

static void test_loads_behind_a_leader(void **state)
{
    (void)state;
    sample_a_target(with_leader, ARRAY_LENGTH(with_leader), ACCESS_READ, "cpu mem-loads");
}

static void test_nothing_opens(void **state)
{
    struct fixture fixture;

    (void)state;
    assert_int_equal(start(&fixture, unknown_pmu, ARRAY_LENGTH(unknown_pmu)), SOURCE_UNAVAILABLE);
    print_message("%s\n", fixture.reason.text);
    assert_non_null(strstr(fixture.reason.text, "cpu mem-stores: perf_event_open"));
    assert_null(strchr(fixture.reason.text, '\n'));
    assert_null(fixture.source.self);
    stop(&fixture);
}

static void test_no_pmu(void **state)
{
    struct fixture fixture;

    (void)state;
    assert_int_equal(start(&fixture, NULL, 0), SOURCE_UNAVAILABLE);
    assert_non_null(strstr(fixture.reason.text, "no PMU"));
    stop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stores_of_a_target),
        cmocka_unit_test(test_loads_behind_a_leader),
        cmocka_unit_test(test_nothing_opens),
        cmocka_unit_test(test_no_pmu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
