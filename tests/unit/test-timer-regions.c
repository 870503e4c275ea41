/*
 * Timer samples of a real program on this machine, from perf's records to accesses:
 * build/bin/regions touches three regions in many ways, 70, 20 and 10 % of the time, and one not at
 * all. Skipped where the kernel refuses the event.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample/perf/perf_ring.h"
#include "sample/perf/perf_sample.h"
#include "sample/timer/timer_resolve.h"
#include "util/array.h"
#include "util/cleanup.h"

#define RATE_HZ 2000
#define DATA_PAGES 64
#define SAMPLES_ENOUGH 4000
#define PATIENCE_SEC 60 /* a hang, not a deadline */
#define N_REGIONS 4
#define UNTOUCHED (N_REGIONS - 1)

struct region {
    unsigned percent;
    uint64_t start, end;
};

/* The program, and its samples until they are resolved. */
struct rig {
    pid_t pid;
    struct region regions[N_REGIONS]; /* the most used first */
    int fd;
    struct perf_event_mmap_page *map;
    struct timer_sample *samples;
    size_t n_samples, cap;
    struct code_shelf *shelf;
    struct timer_result result;
};

static void program_path(char path[PATH_MAX])
{
    char self[PATH_MAX] = "";

    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    assert_true(snprintf(path, PATH_MAX, "%.*s/../bin/regions", PATH_MAX - 32, dirname(self)) > 0);
}

static void program_start(struct rig *rig)
{
    char path[PATH_MAX];
    CLEANUP(fclosep) FILE *out = NULL;
    int ends[2];

    program_path(path);
    assert_return_code(access(path, X_OK), errno);
    assert_return_code(pipe(ends), errno);
    rig->pid = fork();
    assert_return_code(rig->pid, errno);
    if (rig->pid == 0) {
        dup2(ends[1], 1);
        execl(path, path, "3600", (char *)NULL); /* killed before, and when this test ends */
        _exit(127);
    }
    close(ends[1]);
    out = fdopen(ends[0], "r");
    for (size_t i = 0; i < N_REGIONS; i++) {
        unsigned long long start, end;

        assert_int_equal(fscanf(out, "%u %llx %llx", &rig->regions[i].percent, &start, &end), 3);
        rig->regions[i].start = start;
        rig->regions[i].end = end;
    }
}

/* Return: 0 or a negative errno. */
static int event_open(struct rig *rig)
{
    struct perf_event_attr attr;
    void *map;

    perf_sample_attr(&attr, RATE_HZ);
    rig->fd = (int)syscall(SYS_perf_event_open, &attr, rig->pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (rig->fd < 0)
        return -errno;
    map = mmap(NULL, (DATA_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
               MAP_SHARED, rig->fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    rig->map = map;
    return 0;
}

static void rig_close(struct rig *rig)
{
    kill(rig->pid, SIGKILL);
    waitpid(rig->pid, NULL, 0);
    if (rig->map)
        munmap(rig->map, (DATA_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE));
    fd_close(rig->fd);
    free(rig->samples);
    code_shelf_unref(rig->shelf);
    timer_result_deinit(&rig->result);
}

static void rig_open(struct rig *rig)
{
    int r;

    *rig = (struct rig){.fd = -1, .shelf = code_shelf_new()};
    assert_non_null(rig->shelf);
#ifndef __x86_64__
    print_message("skipped: the timer decodes x86-64 code only\n");
    skip();
#endif
    program_start(rig);
    r = event_open(rig);
    if (r < 0) {
        print_message("skipped: perf_event_open: %s\n", strerror(-r));
        rig_close(rig);
        skip();
    }
}

static void rig_on_record(void *userdata, const struct perf_event_header *record)
{
    struct rig *rig = userdata;

    assert_int_equal(ARRAY_RESERVE(rig->samples, rig->cap, rig->n_samples + 1), 0);
    if (perf_sample_decode(record, &rig->samples[rig->n_samples]) == 0 &&
        rig->samples[rig->n_samples].abi != PERF_SAMPLE_REGS_ABI_NONE)
        rig->n_samples++;
}

static void rig_sample(struct rig *rig)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct ring ring = {
        .data = (const uint8_t *)rig->map + page_bytes,
        .size = DATA_PAGES * page_bytes,
        .head = (const uint64_t *)&rig->map->data_head,
        .tail = (uint64_t *)&rig->map->data_tail,
    };
    struct ring_counts counts = {0};
    time_t begin = time(NULL);

    while (rig->n_samples < SAMPLES_ENOUGH) {
        assert_true(time(NULL) - begin < PATIENCE_SEC);
        usleep(20000);
        ring_read(&ring, &counts, rig_on_record, rig);
    }
}

/* Which region; N_REGIONS for none of them. */
static size_t region_of(const struct rig *rig, uint64_t addr)
{
    size_t i = 0;

    while (i < N_REGIONS && (addr < rig->regions[i].start || addr >= rig->regions[i].end))
        i++;
    return i;
}

static bool is_mapped(pid_t pid, uint64_t addr)
{
    char path[64], line[512];
    CLEANUP(fclosep) FILE *file = NULL;
    unsigned long long start, end;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%llx-%llx", &start, &end) == 2 && addr >= start && addr < end)
            return true;
    return false;
}

/* What the accesses weigh, in samples. */
struct weights {
    double regions[N_REGIONS + 1]; /* the last: elsewhere */
    double unmapped, sum;
};

static struct weights weights_of(const struct rig *rig)
{
    struct weights weights = {.sum = 0};

    for (size_t i = 0; i < rig->result.n_accesses; i++) {
        const struct access *access = &rig->result.accesses[i];
        size_t region = region_of(rig, access->addr);
        double weight = access->weight_sec * RATE_HZ;

        weights.regions[region] += weight;
        weights.sum += weight;
        if (region == N_REGIONS && !is_mapped(rig->pid, access->addr))
            weights.unmapped += weight;
    }
    return weights;
}

static void rig_resolve(struct rig *rig, bool backward)
{
    const struct host host = host_live();

    assert_int_equal(timer_resolve(&host, rig->pid, rig->samples, rig->n_samples, backward,
                                   rig->shelf, &rig->result),
                     0);
}

/* Both ways of decoding see the same samples. */
static void check(struct rig *rig, bool backward)
{
    struct weights weights;
    double n = (double)rig->n_samples;

    timer_result_deinit(&rig->result);
    rig_resolve(rig, backward);
    weights = weights_of(rig);
    print_message("%s: %zu samples, %llu without an address, %llu decoded, %zu accesses\n",
                  backward ? "backward too" : "forward only", rig->n_samples,
                  (unsigned long long)rig->result.n_unresolved,
                  (unsigned long long)rig->result.n_decoded, rig->result.n_accesses);
    print_message("weights in %%: 70: %.1f, 20: %.1f, 10: %.1f, 0: %.2f, elsewhere %.1f, "
                  "unmapped %.2f\n",
                  100 * weights.regions[0] / weights.sum, 100 * weights.regions[1] / weights.sum,
                  100 * weights.regions[2] / weights.sum, 100 * weights.regions[3] / weights.sum,
                  100 * weights.regions[4] / weights.sum, 100 * weights.unmapped / weights.sum);
    assert_true((double)rig->result.n_unresolved < 0.2 * n);
    assert_true(weights.sum > 0.999 * (n - (double)rig->result.n_unresolved));
    assert_true(weights.regions[0] > weights.regions[1]);
    assert_true(weights.regions[1] > weights.regions[2]);
    assert_true(weights.regions[2] > 0);
    assert_true(weights.regions[UNTOUCHED] < 0.01 * weights.sum);
    assert_true(weights.unmapped < 0.01 * weights.sum);
}

static void test_regions_by_use(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig);
    rig_sample(&rig);
    check(&rig, false);
    check(&rig, true);
    /* a second time all code is known */
    rig.result.n_decoded = 0;
    rig_resolve(&rig, true);
    assert_int_equal(rig.result.n_decoded, 0);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regions_by_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
