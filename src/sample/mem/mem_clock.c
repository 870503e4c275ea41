/*
 * Latencies are told in core cycles, whose length changes with every turbo step. The base clock is
 * used for all: turbo is at most about twice as fast, so a weight is at most twice too heavy, the
 * same for all accesses of a machine; and what a sample can stand for is capped in real time
 * (mem_weight.h). The TSC's rate would serve as well, but no file tells it.
 */
#include "sample/mem/mem_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/scan.h"

/* Outside it a file is wrong. */
#define CLOCK_MIN_HZ 1e8
#define CLOCK_MAX_HZ 2e10

#define CPUINFO_HEAD_BYTES 4096 /* the first CPU's block is about 1.5 KiB */

static double plausible(double hz)
{
    return hz >= CLOCK_MIN_HZ && hz <= CLOCK_MAX_HZ ? hz : 0;
}

/* A cpufreq file, in kHz. Return: Hz, or 0. */
static double read_cpufreq(const struct host *host, int cpu, const char *name)
{
    CLEANUP(freep) char *text = NULL;
    uint64_t khz = 0;
    size_t size = 0;
    char path[96];

    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, name);
    if (host->ops->read_file(host->self, path, 32, &text, &size))
        return 0;
    scan_decimal(&(struct scan){text, text + size}, UINT32_MAX, &khz);
    return plausible((double)khz * 1e3);
}

/* "cpu MHz\t\t: 2596.144" on x86. Return: Hz, or 0. */
static double read_cpuinfo(const struct host *host)
{
    CLEANUP(freep) char *text = NULL;
    const char *line, *value;
    size_t size = 0;

    if (host->ops->read_file(host->self, "proc/cpuinfo", CPUINFO_HEAD_BYTES, &text, &size))
        return 0;
    line = strstr(text, "cpu MHz");
    value = line ? strchr(line, ':') : NULL;
    return value ? plausible(strtod(value + 1, NULL) * 1e6) : 0;
}

double mem_clock_cycle_sec(const struct host *host, int cpu)
{
    double hz = read_cpufreq(host, cpu, "base_frequency");

    if (hz == 0)
        hz = read_cpufreq(host, cpu, "cpuinfo_max_freq");
    if (hz == 0)
        hz = read_cpuinfo(host);
    return 1 / (hz > 0 ? hz : MEM_CLOCK_DEFAULT_HZ);
}
