/*
 * Page fault events of this kernel, read by the source's own attributes and decoder: every first
 * touch of a page is told with its address, also where the kernel touches it for the process.
 * Skipped, with the error, where perf refuses the events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sample/fault/fault_probe.h"
#include "sample/fault/fault_record.h"
#include "sample/perf/perf_ring.h"
#include "sample/proc_usage.h"
#include "util/cleanup.h"
#include "util/nsec.h"
#include "util/procfs.h"

#define DATA_PAGES ((size_t)64)
#define N_PAGES ((size_t)256)

/* One event for this thread; the real scope has its own tests. */
struct perf_scope {
    struct perf_event_attr attr;
    int fd;
    struct perf_event_mmap_page *map;
    size_t page_bytes;
    struct perf_scope_counts counts;
};

static int live_open(struct perf_scope **scopep, const struct perf_scope_options *options,
                     struct source_reason *reason)
{
    (void)reason;
    *scopep = calloc(1, sizeof **scopep);
    assert_non_null(*scopep);
    (*scopep)->attr = options->events[0].attr;
    (*scopep)->fd = -1;
    (*scopep)->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    return 0;
}

static struct perf_scope *live_close(struct perf_scope *scope)
{
    if (scope->map)
        munmap(scope->map, (DATA_PAGES + 1) * scope->page_bytes);
    fd_close(scope->fd);
    free(scope);
    return NULL;
}

static int live_round(struct perf_scope *scope, const struct sample_round *round,
                      struct source_reason *reason)
{
    void *map;

    if (scope->map || round->n_targets == 0)
        return 0;
    assert_int_equal(round->n_targets, 1);
    scope->fd = (int)syscall(SYS_perf_event_open, &scope->attr, round->targets[0].pid, -1, -1,
                             PERF_FLAG_FD_CLOEXEC);
    if (scope->fd < 0) {
        snprintf(reason->text, sizeof reason->text, "perf_event_open: %s", strerror(errno));
        return SOURCE_UNAVAILABLE;
    }
    map = mmap(NULL, (DATA_PAGES + 1) * scope->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
               scope->fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    scope->map = map;
    return 0;
}

struct reader {
    void (*sample)(void *userdata, size_t event, uint64_t period,
                   const struct perf_event_header *record);
    void *userdata;
};

static void on_sample(void *userdata, const struct perf_event_header *record)
{
    const struct reader *reader = userdata;

    reader->sample(reader->userdata, 0, 1, record);
}

static void live_read(struct perf_scope *scope,
                      void (*sample)(void *userdata, size_t event, uint64_t period,
                                     const struct perf_event_header *record),
                      void *userdata)
{
    struct reader reader = {sample, userdata};
    struct ring_counts counts = {0};
    struct ring ring;

    if (!scope->map)
        return;
    ring = (struct ring){
        .data = (const uint8_t *)scope->map + scope->page_bytes,
        .size = DATA_PAGES * scope->page_bytes,
        .head = (const uint64_t *)&scope->map->data_head,
        .tail = (uint64_t *)&scope->map->data_tail,
    };
    ring_read(&ring, &counts, on_sample, &reader);
    assert_int_equal(counts.n_corrupt, 0);
    assert_int_equal(counts.n_unknown, 0);
}

static const struct perf_scope_counts *live_counts(struct perf_scope *scope)
{
    return &scope->counts;
}

static const struct write_fault_events live_events = {
    .open = live_open,
    .close = live_close,
    .round = live_round,
    .read = live_read,
    .counts = live_counts,
};

static const struct source_options options = {.rate_hz = 250};

static void test_probe_sees_our_own_pages(void **state)
{
    struct source_reason reason = {.text = ""};
    int r = fault_probe(&options, &live_events, &reason);

    (void)state;
    if (r == SOURCE_UNAVAILABLE && strncmp(reason.text, "perf_event_open", 15) == 0) {
        print_message("skipped: %s\n", reason.text);
        skip();
    }
    if (r)
        fail_msg("%d: %s", r, reason.text);
}

static int deaf_round(struct perf_scope *scope, const struct sample_round *round,
                      struct source_reason *reason)
{
    (void)scope, (void)round, (void)reason;
    return 0;
}

static void deaf_read(struct perf_scope *scope,
                      void (*sample)(void *userdata, size_t event, uint64_t period,
                                     const struct perf_event_header *record),
                      void *userdata)
{
    (void)scope, (void)sample, (void)userdata;
}

static void test_probe_that_sees_nothing(void **state)
{
    struct write_fault_events deaf = live_events;
    struct source_reason reason = {.text = ""};

    (void)state;
    deaf.round = deaf_round;
    deaf.read = deaf_read;
    assert_int_equal(fault_probe(&options, &deaf, &reason), SOURCE_UNAVAILABLE);
    assert_non_null(strstr(reason.text, "page-faults-min"));
}

struct touched {
    uint8_t *map;
    size_t page_bytes;
    unsigned n_seen[N_PAGES];
    uint64_t begin, end;
};

static void on_touch(void *userdata, size_t event, uint64_t period,
                     const struct perf_event_header *record)
{
    struct touched *touched = userdata;
    struct fault fault;
    size_t at;

    (void)event, (void)period;
    assert_int_equal(fault_record_pid(record), getpid());
    if (fault_record_decode(record, &fault))
        return;
    at = fault.addr - (uintptr_t)touched->map;
    if (at >= N_PAGES * touched->page_bytes)
        return;
    touched->n_seen[at / touched->page_bytes]++;
    assert_int_equal(fault.tid, getpid());
    assert_int_equal(at % touched->page_bytes, 8);
    assert_true(fault.when_nsec >= touched->begin && fault.when_nsec <= touched->end);
    assert_true(fault.cpu >= 0);
}

/* The kernel writes the odd pages: read(2) into them. */
static void touch_all(const struct touched *touched, int zero_fd)
{
    for (size_t i = 0; i < N_PAGES; i++) {
        uint8_t *at = touched->map + i * touched->page_bytes + 8;

        if (i % 2)
            assert_int_equal(read(zero_fd, at, 1), 1);
        else
            *(volatile uint8_t *)at = 1;
    }
}

static void test_each_first_touch_is_told_once(void **state)
{
    const struct sample_target self = {.pid = getpid(), .n_threads = 1, .rate_hz = 250};
    const struct sample_round round = {.targets = &self, .n_targets = 1, .sampling_budget = 0.01};
    CLEANUP(fd_closep) int zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    struct touched touched = {.page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
    struct source_reason reason = {.text = ""};
    struct perf_scope *scope;
    size_t bytes = N_PAGES * touched.page_bytes;

    (void)state;
    assert_true(zero_fd >= 0);
    touched.map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(touched.map, MAP_FAILED);
    (void)madvise(touched.map, bytes, MADV_NOHUGEPAGE);
    assert_int_equal(fault_events_open(&options, &live_events, &scope, &reason), 0);
    if (live_events.round(scope, &round, &reason)) {
        live_close(scope);
        munmap(touched.map, bytes);
        print_message("skipped: %s\n", reason.text);
        skip();
    }
    touched.begin = nsec_now();
    touch_all(&touched, zero_fd);
    touched.end = nsec_now();
    live_read(scope, on_touch, &touched);
    for (size_t i = 0; i < N_PAGES; i++)
        assert_int_equal(touched.n_seen[i], 1);
    touch_all(&touched, zero_fd);
    live_read(scope, on_touch, &touched);
    for (size_t i = 0; i < N_PAGES; i++)
        assert_int_equal(touched.n_seen[i], 1); /* pages that are there do not fault */
    live_close(scope);
    munmap(touched.map, bytes);
}

#define WALK_BYTES ((size_t)4 << 20)
#define PATIENCE_SEC 120 /* a hang, not a deadline */

struct walk {
    pid_t child;
    uint8_t *map;
    uint64_t start_ticks;
    size_t n_inside, n_outside;
    double weight_sec;
};

/* Its pages fault at each round, with soft-dirty bits or without. */
static void child_run(uint8_t *map)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        (void)madvise(map, WALK_BYTES, MADV_DONTNEED);
        for (size_t at = 0; at < WALK_BYTES; at += 4096)
            map[at] = 1;
        usleep(10000);
    }
}

static void walk_push(void *userdata, const struct access *accesses, size_t n)
{
    struct walk *walk = userdata;

    for (size_t i = 0; i < n; i++) {
        assert_int_equal(accesses[i].pid, walk->child);
        assert_int_equal(accesses[i].tid, walk->child);
        walk->weight_sec += accesses[i].weight_sec;
        if (accesses[i].addr - (uintptr_t)walk->map < WALK_BYTES)
            walk->n_inside++;
        else
            walk->n_outside++;
    }
}

static bool walk_wants(void *userdata, pid_t pid)
{
    return pid == ((const struct walk *)userdata)->child;
}

static uint64_t start_ticks_of(pid_t pid)
{
    CLEANUP(freep) char *text = NULL;
    struct proc_usage usage;
    char path[64];
    size_t size;

    snprintf(path, sizeof path, "proc/%d/stat", (int)pid);
    assert_int_equal(procfs_read("", path, &text, &size), 0);
    assert_int_equal(proc_usage_parse(text, &usage), 0);
    return usage.start_ticks;
}

static void walk_start(struct walk *walk)
{
    void *map = mmap(NULL, WALK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(map, MAP_FAILED);
    (void)madvise(map, WALK_BYTES, MADV_NOHUGEPAGE);
    *walk = (struct walk){.map = map, .child = fork()};
    assert_return_code(walk->child, 0);
    if (walk->child == 0)
        child_run(walk->map);
    walk->start_ticks = start_ticks_of(walk->child);
}

static void walk_stop(struct walk *walk)
{
    kill(walk->child, SIGKILL);
    waitpid(walk->child, NULL, 0);
    munmap(walk->map, WALK_BYTES);
}

/* Return: 0, or SOURCE_UNAVAILABLE. */
static int walk_sample(const struct walk *walk, const struct source *source,
                       struct worker_pool *pool, struct source_reason *reason)
{
    const struct sample_target target = {.pid = walk->child,
                                         .start_ticks = walk->start_ticks,
                                         .rss_bytes = WALK_BYTES,
                                         .n_threads = 1,
                                         .rate_hz = 250,
                                         .allows_faults = true};
    time_t begin = time(NULL);
    int r = 0;

    while (!r && walk->n_inside == 0) {
        struct sample_round round = {
            .now = nsec_now(), .targets = &target, .n_targets = 1, .sampling_budget = 0.01};

        assert_true(time(NULL) - begin < PATIENCE_SEC);
        r = source->ops->round(source->self, &round, reason);
        for (unsigned i = 0; !r && i < 10; i++) {
            worker_pool_dispatch(pool, 0);
            assert_int_equal(source->ops->drain(source->self), 0);
            usleep(20000);
        }
    }
    return r;
}

/* The whole source on a live process, by the files of the live host. */
static void test_a_live_process(void **state)
{
    const struct host host = host_live();
    struct write_fault_seams seams = {
        .events = &live_events, .clock = clear_clock_live(), .fault_sec = 1e-6};
    struct source_options source_options = {.rate_hz = 250, .host = &host, .epoll_fd = -1};
    struct source_reason reason = {.text = ""};
    struct source source = {0};
    struct walk walk;
    char text[256];
    int r;

    (void)state;
    if (access("/proc/self/clear_refs", W_OK) < 0) {
        print_message("skipped: /proc/self/clear_refs: %s\n", strerror(errno));
        skip();
    }
    walk_start(&walk);
    source_options.sink = (struct access_sink){.push = walk_push, .userdata = &walk};
    source_options.filter = (struct sample_filter){walk_wants, &walk};
    assert_int_equal(worker_pool_new_inline(&source_options.pool), 0);
    assert_int_equal(write_fault_new_from_seams(&source, &source_options, &seams, &reason), 0);
    r = walk_sample(&walk, &source, source_options.pool, &reason);
    source.ops->describe(source.self, text, sizeof text);
    source_deinit(&source);
    worker_pool_free(source_options.pool);
    walk_stop(&walk);
    if (r) {
        print_message("skipped: %s\n", reason.text);
        skip();
    }
    print_message("%zu inside, %zu outside, %.3f s; %s\n", walk.n_inside, walk.n_outside,
                  walk.weight_sec, text);
    assert_true(walk.n_inside >= WALK_BYTES / (size_t)sysconf(_SC_PAGESIZE));
    assert_true(walk.n_outside < walk.n_inside / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probe_sees_our_own_pages),
        cmocka_unit_test(test_probe_that_sees_nothing),
        cmocka_unit_test(test_each_first_touch_is_told_once),
        cmocka_unit_test(test_a_live_process),
    };

    return cmocka_run_group_tests_name("fault live", tests, NULL, NULL);
}
