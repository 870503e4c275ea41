/*
 * What a scan filter saves and what it misses: none, and those of the kernel's first attempt, of
 * Linux 6.12 and of numabd, over the loads of the autonuma benchmark and a server, on simulated
 * machines. `-s SEED` plays others. Scenarios (tests/sim/sim-filters.c) hold numabd to it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/trial.h"

/* Of "AutoNUMA cost" as published: for each page whose entry is changed by a scan. */
#define ARM_PAGE_COST 7e-6

static const enum scan_filter_kind filters[SIM_TRIAL_FILTERS] = {
    SCAN_FILTER_NONE, SCAN_FILTER_RFC4, SCAN_FILTER_KERNEL, SCAN_FILTER_NUMABD};

static void print_head(const char *what)
{
    printf("\n%s\n%-12s %-7s %9s %7s %9s %7s %6s %9s %9s %10s %8s %8s\n", what, "load", "filter",
           "scanned", "of all", "missed", "waits", "never", "placed", "queried", "query", "judging",
           "armed");
}

static double gib(uint64_t bytes)
{
    return (double)bytes / (double)(1 << 30);
}

static double share(uint64_t part, uint64_t all)
{
    return all ? 100.0 * (double)part / (double)all : 0;
}

static void print_placed(const struct sim_trial_result *result)
{
    char text[2][16] = {"-", ""};

    for (int i = 0; i < 1 + result->has_second; i++)
        snprintf(text[i], sizeof text[i], result->placed[i] ? "%s%u" : "%snever", i ? "+" : "",
                 result->placed[i]);
    if (result->ratio <= 0)
        strcpy(text[0], "-");
    printf(" %5s%-5s", text[0], text[1]);
}

static void print_row(const struct sim_trial *trial, const struct sim_trial_result *result)
{
    const struct sim_coverage_sums *sums = &result->sums;
    unsigned n_open = sums->n_waiting + sums->n_missed;

    printf("%-12s %-7s %9.1f %5.1f %% %7.2f %% %6u%s %6u", sim_trial_load_name(trial->load),
           sim_trial_filter_name(trial->filter), gib(sums->scanned_bytes),
           share(sums->scanned_bytes, sums->all_bytes),
           share(sums->missed_bytes, sums->touched_bytes), sums->longest_wait, n_open ? "+" : " ",
           sums->n_never);
    print_placed(result);
    printf(" %9.0f %7.2f ms %5.1f us %8.1f\n", (double)result->n_queried / result->n_passes,
           (double)result->query_nsec / result->n_passes / 1e6, (double)result->judge_nsec / 1e3,
           ARM_PAGE_COST * (double)(sums->scanned_bytes / SIM_PAGE_BYTES));
    fflush(stdout);
}

static void print_load(unsigned load, bool armed, uint64_t seed)
{
    for (size_t i = 0; i < SIM_TRIAL_FILTERS; i++) {
        const struct sim_trial trial = {
            .load = load, .filter = filters[i], .armed = armed, .seed = seed};
        struct sim_trial_result result;

        sim_trial_run(&trial, &result);
        print_row(&trial, &result);
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = 1;
    int option;

    while ((option = getopt(argc, argv, "s:")) != -1) {
        if (option != 's')
            return 2;
        seed = strtoull(optarg, NULL, 10);
    }
    printf("seed %llu\n", (unsigned long long)seed);
    print_head("Accesses are seen everywhere, as by a timer");
    for (unsigned load = 0; load < SIM_TRIAL_LOADS; load++)
        print_load(load, false, seed);
    print_head("Accesses are seen only where the last pass scanned, as hint faults are");
    print_load(SIM_LOAD_NUMA01, true, seed);
    return 0;
}
