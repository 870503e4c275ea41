#pragma once
/*
 * AutoNUMA: what balancing did, counted under the names that Linux uses for its own in
 * /proc/vmstat, and the cost that is published for it, so that both can be compared. Pure.
 */
#include <stdint.h>

/*
 * Cost of an event. They are not documented; fitted to published results, they reproduce 20 printed
 * values of "AutoNUMA cost" (RFC "sched/numa: Enhance vma scanning", January 2023) within 0.02 %.
 * The unit is that of the model in Linux' commit 03c5a6e16322: relative costs, no time.
 */
#define AUTONUMA_COST_PTE_UPDATE 7e-6
#define AUTONUMA_COST_HINT_FAULT 5e-3
#define AUTONUMA_COST_MIGRATION 1.9e-5

struct autonuma {
    /*
     * numa_pte_updates: base pages whose place was asked for with move_pages, or that a source
     * armed to see them used. Readings of numa_maps are left out: they change no entry, and cost a
     * hundredth of what the formula takes for one.
     */
    uint64_t n_pte_updates;
    /* numa_hint_faults: samples, and page faults that a source caused. */
    uint64_t n_hint_faults;
    /*
     * numa_hint_faults_local: of those, on the node of their page. Where the page's own node is not
     * known a sample counts by the share of its range that lies there.
     */
    double n_local;
    uint64_t n_migrated; /* numa_pages_migrated: base pages */
};

void autonuma_add(struct autonuma *to, const struct autonuma *more);

/* AUTONUMA_COST_... times the events: 1,041,416 + 263,296 + 258,021 of them cost 1,328.67. */
double autonuma_cost(const struct autonuma *counts);
