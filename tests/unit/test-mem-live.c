/*
 * The decoder of memory samples on records that a kernel wrote: no PMU is needed for a page fault
 * event with the same sample_type. What such an event cannot tell comes as perf's "not available".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sample/mem/mem_reader.h"
#include "sample/perf/perf_ring.h"
#include "util/array.h"
#include "util/nsec.h"

#define N_PAGES 64
#define N_RING_PAGES 8

static const struct mem_layout layouts[] = {
    {.weight_struct = true, .phys = true},
    {.weight_struct = true, .phys = false},
    {.weight_struct = false, .phys = true},
    {.weight_struct = false, .phys = false},
};

static const struct mem_event stores[] = {
    {.role = MEM_ROLE_STORES, .cycle_sec = 1e-9, .n_sharing = 1},
};

struct fixture {
    int fd;
    size_t page;
    struct perf_event_mmap_page *map;
    struct mem_reader reader;
    uint8_t *start, *end;
    bool seen[N_PAGES];
    uint64_t opened_nsec;
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
        const uintptr_t start = (uintptr_t)fixture->start, addr = accesses[i].addr;

        if (addr < start || addr >= (uintptr_t)fixture->end)
            continue;
        fixture->seen[(addr - start) / fixture->page] = true;
        assert_int_equal(accesses[i].pid, getpid());
        assert_int_equal(accesses[i].tid, gettid());
        assert_int_equal(accesses[i].kind, ACCESS_WRITE);
        assert_int_equal(accesses[i].locality, ACCESS_LOCALITY_UNKNOWN);
        assert_true(accesses[i].when_nsec >= fixture->opened_nsec &&
                    accesses[i].when_nsec <= nsec_now());
        assert_in_range(accesses[i].cpu, 0, sysconf(_SC_NPROCESSORS_CONF) - 1);
        assert_true(accesses[i].weight_sec > 0);
    }
}

static void open_event(struct fixture *fixture, struct mem_layout layout)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_PAGE_FAULTS,
        .sample_period = 1,
        .sample_type = mem_sample_type(layout),
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };

    fixture->opened_nsec = nsec_now();
    fixture->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fixture->fd < 0 && (errno == EACCES || errno == EPERM || errno == ENOSYS)) {
        print_message("SKIP: perf_event_open: %s\n", strerror(errno));
        skip();
    }
    assert_true(fixture->fd >= 0);
    fixture->map = mmap(NULL, (1 + N_RING_PAGES) * fixture->page, PROT_READ | PROT_WRITE,
                        MAP_SHARED, fixture->fd, 0);
    assert_true(fixture->map != MAP_FAILED);
}

static void on_sample(void *userdata, const struct perf_event_header *record)
{
    struct fixture *fixture = userdata;

    mem_reader_take(&fixture->reader, 0, record);
}

static void read_ring(struct fixture *fixture)
{
    const struct ring ring = {
        .data = (const uint8_t *)fixture->map + fixture->page,
        .size = N_RING_PAGES * fixture->page,
        .head = (const uint64_t *)&fixture->map->data_head,
        .tail = (uint64_t *)&fixture->map->data_tail,
    };
    struct ring_counts counts = {0};

    ring_read(&ring, &counts, on_sample, fixture);
    mem_reader_flush(&fixture->reader);
    assert_int_equal(counts.n_lost + counts.n_unknown + counts.n_corrupt, 0);
}

static void touch_pages(struct fixture *fixture)
{
    fixture->start = mmap(NULL, N_PAGES * fixture->page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(fixture->start != MAP_FAILED);
    fixture->end = fixture->start + N_PAGES * fixture->page;
    madvise(fixture->start, N_PAGES * fixture->page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < N_PAGES; i += 2)
        *(volatile uint8_t *)(fixture->start + i * fixture->page + 8) = 1;
}

/* Every page that was written is seen, and no other. */
static void run(struct mem_layout layout)
{
    struct fixture fixture = {.page = (size_t)sysconf(_SC_PAGESIZE)};

    open_event(&fixture, layout);
    fixture.reader = (struct mem_reader){
        .layout = layout,
        .events = stores,
        .n_events = ARRAY_LENGTH(stores),
        .filter = {wants, NULL},
        .sink = {push, &fixture},
    };
    assert_int_equal(mem_weights_new(&fixture.reader.weights, 1, 1024, NSEC_PER_MSEC), 0);
    assert_int_equal(mem_bound_new(&fixture.reader.bound), 0);
    touch_pages(&fixture);
    read_ring(&fixture);
    for (size_t i = 0; i < N_PAGES; i++)
        assert_int_equal(fixture.seen[i], i % 2 == 0);
    print_message("struct %d, phys %d: %llu samples, %llu without an address\n",
                  layout.weight_struct, layout.phys,
                  (unsigned long long)fixture.reader.counts.n_samples,
                  (unsigned long long)fixture.reader.counts.n_unresolved);
    assert_int_equal(fixture.reader.counts.n_unresolved, 0);
    mem_weights_free(fixture.reader.weights);
    mem_bound_free(fixture.reader.bound);
    munmap(fixture.start, N_PAGES * fixture.page);
    munmap(fixture.map, (1 + N_RING_PAGES) * fixture.page);
    close(fixture.fd);
}

static void test_page_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(layouts); i++)
        run(layouts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
