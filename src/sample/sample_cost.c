/*
 * The steps between readings of the clock are a few dozen nanoseconds, and those with a sample in
 * between stand out. There are other interrupts too; the median of the largest steps, as many as
 * there were samples, tells a sample from those few.
 */
#include "sample/sample_cost.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sample/perf/perf_sample.h"
#include "util/cleanup.h"
#include "util/nsec.h"

#define RATE_HZ 2000
#define PERIOD_NSEC (30 * NSEC_PER_MSEC)
#define READINGS_MAX 500000
#define RING_PAGES 8 /* twice what is sampled */

static int descending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a > b ? -1 : a < b;
}

uint64_t sample_cost_of(const uint64_t *times, size_t n, size_t n_samples, uint64_t *scratch)
{
    uint64_t median, sample;

    if (n < 2 || n_samples == 0 || n_samples >= n / 2)
        return 0;
    for (size_t i = 0; i + 1 < n; i++)
        scratch[i] = times[i + 1] - times[i];
    qsort(scratch, n - 1, sizeof *scratch, descending);
    median = scratch[(n - 1) / 2];
    sample = scratch[n_samples / 2];
    return sample - median;
}

static size_t read_clock(uint64_t *times)
{
    uint64_t start = nsec_now();
    size_t n = 0;

    do
        times[n] = nsec_now();
    while (times[n++] < start + PERIOD_NSEC && n < READINGS_MAX);
    return n;
}

uint64_t sample_cost_measure(void)
{
    CLEANUP(freep) uint64_t *times = calloc(2 * READINGS_MAX, sizeof *times);
    CLEANUP(fd_closep) int fd = -1;
    size_t bytes = (1 + RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    struct perf_event_attr attr;
    uint64_t count = 0;
    void *map;
    size_t n;

    if (!times)
        return 0;
    perf_sample_attr(&attr, RATE_HZ);
    fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return 0;
    /* Without a ring nothing is written and a sample costs less. */
    map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return 0;
    n = read_clock(times);
    munmap(map, bytes);
    if (read(fd, &count, sizeof count) != sizeof count)
        return 0;
    return sample_cost_of(times, n, (size_t)(count * RATE_HZ / NSEC_PER_SEC), times + READINGS_MAX);
}
