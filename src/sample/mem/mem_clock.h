#pragma once
/*
 * Memory clock: how long the core cycles last in which hardware tells latencies.
 */
#include "numabd/host.h"

/*
 * Seconds per core cycle of a CPU at its base clock, from cpufreq/base_frequency, else
 * cpufreq/cpuinfo_max_freq, else the first "cpu MHz" of /proc/cpuinfo, else MEM_CLOCK_DEFAULT_HZ.
 * Above 0.
 */
#define MEM_CLOCK_DEFAULT_HZ 2e9
double mem_clock_cycle_sec(const struct host *host, int cpu);
