/*
 * Snapshots of the pipeline for users. They read state only; nothing here is asked of a target.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attribute/scans.h"
#include "attribute/tally.h"
#include "pipeline_state.h"
#include "util/array.h"
#include "util/nsec.h"
#include "util/procfs.h"

/* Costs are averaged over so long. */
#define COST_PERIOD_NSEC (10 * NSEC_PER_SEC)
/* A process that was not sampled for so long has no part in the overall share. */
#define ASLEEP_NSEC (10 * NSEC_PER_SEC)
/* A process counts as being balanced for so long after its last move. */
#define BALANCING_NSEC (5 * NSEC_PER_SEC)

static void pipeline_close_share(struct pipeline *pipeline)
{
    double sec = 0, remote = 0;
    struct space *space, *next;

    HASH_ITER (hh, attribute_spaces(pipeline->attribute), space, next) {
        if (space->remote_permyriad < 0 || space->sampled_nsec + ASLEEP_NSEC < pipeline->now)
            continue;
        sec += space->share_sec;
        remote += space->share_sec * space->remote_permyriad;
    }
    if (sec <= 0)
        return;
    pipeline->remote_permyriad = (int)(remote / sec + 0.5);
    if (pipeline->remote_first_permyriad < 0)
        pipeline->remote_first_permyriad = pipeline->remote_permyriad;
    if (pipeline->remote_permyriad > CONVERGED_PERMYRIAD)
        pipeline->converged_round = 0;
    else if (!pipeline->converged_round)
        pipeline->converged_round = pipeline->n_rounds;
}

static unsigned permyriad_of(uint64_t part_nsec, uint64_t whole_nsec)
{
    return whole_nsec ? (unsigned)(part_nsec * 10000 / whole_nsec) : 0;
}

static void pipeline_close_cost(struct pipeline *pipeline, uint64_t now, uint64_t cpu_nsec)
{
    uint64_t moving_nsec = migrate_counts(pipeline->migrate)->cpu_nsec;
    uint64_t elapsed = now - pipeline->cost_nsec;
    uint64_t cpu = cpu_nsec - pipeline->cost_cpu_nsec;
    uint64_t moving = moving_nsec - pipeline->cost_moving_nsec;

    if (elapsed < COST_PERIOD_NSEC)
        return;
    pipeline->cost_permyriad = permyriad_of(cpu > moving ? cpu - moving : 0, elapsed);
    pipeline->moving_permyriad = permyriad_of(moving, elapsed);
    pipeline->cost_nsec = now;
    pipeline->cost_cpu_nsec = cpu_nsec;
    pipeline->cost_moving_nsec = moving_nsec;
}

void pipeline_close_round(struct pipeline *pipeline, uint64_t now, uint64_t cpu_nsec)
{
    pipeline_close_share(pipeline);
    pipeline_close_cost(pipeline, now, cpu_nsec);
}

/* What the last round found, or, where nothing may be changed, what the sysctl says. */
static const char *kernel_balancing(const struct pipeline *pipeline)
{
    const char *root = pipeline->options.root;
    unsigned long long mode;

    if (pipeline->kernel.state[0])
        return pipeline->kernel.state;
    if (!root || procfs_read_ullong(root, "proc/sys/kernel/numa_balancing", &mode))
        return "absent";
    if (mode & KERNEL_BALANCING_NORMAL)
        return "on";
    return mode & KERNEL_BALANCING_TIERING ? "tiering" : "off";
}

static bool is_observed(const struct pipeline *pipeline, pid_t pid)
{
    const struct space *space = attribute_find(pipeline->attribute, pid);

    return pipeline_observes(pipeline) || pipeline_is_stuck(pipeline, pid) ||
           (space && space->denied);
}

static void count_processes(const struct pipeline *pipeline, struct status_report *report)
{
    struct target *target, *next;

    report->process_reasons = *discover_counts(pipeline->discover);
    HASH_ITER (hh, discover_targets(pipeline->discover), target, next) {
        if (target->reason == REASON_NONE && is_observed(pipeline, target->pid))
            report->n_observed++;
        else if (target->reason == REASON_NONE)
            report->n_balanced++;
    }
    report->n_too_small = (unsigned)report->process_reasons.n[REASON_TOO_SMALL];
    report->n_excluded = (unsigned)(report->process_reasons.n[REASON_EXCLUDED] +
                                    report->process_reasons.n[REASON_NOT_INCLUDED]);
    for (unsigned reason = 1; reason < REASON_COUNT; reason++)
        report->n_other += (unsigned)report->process_reasons.n[reason];
    report->n_other -= report->n_too_small + report->n_excluded;
}

static void count_vmas(const struct pipeline *pipeline, struct status_report *report)
{
    struct space *space, *next;

    HASH_ITER (hh, attribute_spaces(pipeline->attribute), space, next)
        for (size_t i = 0; i < space->vmas.n_items; i++) {
            const struct vma *vma = &space->vmas.items[i];

            report->vma_reasons.n[attribute_vma_reason(pipeline->attribute, vma)]++;
        }
}

static void count_pages(const struct pipeline *pipeline, struct status_report *report)
{
    const struct migrate_counts *counts = migrate_counts(pipeline->migrate);

    report->pages_tried = counts->ledger.n_tried;
    report->pages_moved = counts->ledger.n_moved;
    report->pages_failed = counts->ledger.n_failed;
    report->pages_observed = counts->n_observed;
    report->moved_bytes = counts->moved_bytes;
    report->n_errnos = counts->ledger.n_errnos;
    for (unsigned i = 0; i < counts->ledger.n_errnos; i++) {
        report->errnos[i] = counts->ledger.failed[i].error;
        report->errno_pages[i] = counts->ledger.failed[i].n;
    }
}

static struct autonuma_report report_autonuma(const struct autonuma *counts)
{
    return (struct autonuma_report){
        .numa_pte_updates = counts->n_pte_updates,
        .numa_hint_faults = counts->n_hint_faults,
        .numa_hint_faults_local = (uint64_t)counts->n_local,
        .numa_pages_migrated = counts->n_migrated,
        .autonuma_cost = autonuma_cost(counts),
    };
}

static void count_autonuma(const struct pipeline *pipeline, struct status_report *report)
{
    struct autonuma counts;

    attribute_count_autonuma(pipeline->attribute, &counts);
    report->autonuma = report_autonuma(&counts);
}

static void count_scans(const struct pipeline *pipeline, struct status_report *report)
{
    struct scan_counts counts;

    attribute_count_scans(pipeline->attribute, &counts);
    report->scan_passes = counts.n_passes;
    report->scanned_bytes = counts.scanned_bytes;
    memcpy(report->scan_verdicts.n, counts.n, sizeof report->scan_verdicts.n);
}

static void append(char *text, size_t size, const char *between, const char *more)
{
    size_t used = strlen(text);

    snprintf(text + used, size - used, "%s%s", used ? between : "", more);
}

static void count_source(const struct source_state *state, struct status_report *report)
{
    const struct sample_counts *counts = &state->counts;
    char line[sizeof state->text + 32];

    append(report->sources, sizeof report->sources, ", ", state->kind->name);
    snprintf(line, sizeof line, "%s: %s", state->kind->name, state->text);
    if (state->text[0])
        append(report->sampling, sizeof report->sampling, "; ", line);
    report->n_samples += counts->n_samples;
    report->n_foreign += counts->n_foreign;
    report->n_lost += counts->n_lost;
    report->n_unresolved += counts->n_unresolved;
    report->n_accesses += counts->n_accesses;
    report->n_interrupts += counts->n_interrupts;
}

static void count_samples(const struct pipeline *pipeline, struct status_report *report)
{
    const struct sampler *sampler = pipeline->sampler;
    struct source_state state;

    for (size_t i = 0; sampler && i < sampler_n_kinds(sampler); i++) {
        sampler_state(sampler, i, &state);
        if (state.works)
            count_source(&state, report);
    }
    if (!report->sources[0])
        append(report->sources, sizeof report->sources, "", "none");
    if (sampler)
        report->rate_hz = sampler_rate(sampler, PACE_USUAL);
}

void pipeline_describe_source(const struct pipeline *pipeline, const char *name, char *text,
                              size_t size)
{
    const struct sampler *sampler = pipeline->sampler;
    struct source_state state;

    snprintf(text, size, "%s", "");
    for (size_t i = 0; sampler && i < sampler_n_kinds(sampler); i++) {
        sampler_state(sampler, i, &state);
        if (state.works && !strcmp(state.kind->name, name))
            snprintf(text, size, "%s", state.text);
    }
}

static void describe_state(const struct pipeline *pipeline, struct status_report *report)
{
    report->state = "balancing";
    if (pipeline->sampler)
        snprintf(report->why, sizeof report->why, "%s", sampler_gap(pipeline->sampler));
    if (pipeline->config->observe) {
        report->state = "observing";
        snprintf(report->why, sizeof report->why, "observe is on: decided moves are only counted");
    }
    if (pipeline->exhausted) {
        report->state = "observing";
        pipeline_describe_exhausted(pipeline, report->why, sizeof report->why);
    }
    if (pipeline->held) {
        report->state = "paused";
        snprintf(report->why, sizeof report->why,
                 "nothing is moved until somebody says \"numabctl resume\"");
    }
    if (pipeline_is_idle(pipeline)) {
        report->state = "idle";
        snprintf(report->why, sizeof report->why, "%s", pipeline_why(pipeline));
    }
}

static void count_residency(const struct pipeline *pipeline, struct status_report *report)
{
    const struct residency_counts *counts = attribute_residency(pipeline->attribute);

    report->residency_asked = counts->n_asked;
    report->residency_found = counts->n_found;
    report->residency_scans = counts->n_scans;
}

int pipeline_status(const struct pipeline *pipeline, uint64_t now, struct status_report *report)
{
    struct hour hour = pipeline->hour;

    *report = (struct status_report){
        .uptime_sec = (now - pipeline->options.now) / NSEC_PER_SEC,
        .n_memory_nodes = (unsigned)pipeline->options.topology->n_memory_nodes,
        .kernel_balancing = kernel_balancing(pipeline),
        .remote_first_permyriad = pipeline->remote_first_permyriad,
        .remote_permyriad = pipeline->remote_permyriad,
        .moved_last_hour_bytes = hour_sum(&hour, now),
        .cost_permyriad = pipeline->cost_permyriad,
        .moving_permyriad = pipeline->moving_permyriad,
        .n_rounds = pipeline->n_rounds,
        .n_capped = attribute_n_capped(pipeline->attribute),
        .sampled_round = pipeline->sampled_round,
        .converged_round = pipeline->converged_round,
        .range_reasons = pipeline->plan.reasons,
    };
    snprintf(report->version, sizeof report->version, "%s", NUMABD_VERSION);
    describe_state(pipeline, report);
    count_processes(pipeline, report);
    count_vmas(pipeline, report);
    count_pages(pipeline, report);
    count_residency(pipeline, report);
    count_autonuma(pipeline, report);
    count_scans(pipeline, report);
    count_samples(pipeline, report);
    return 0;
}

static const char *process_state(const struct pipeline *pipeline, const struct target *target,
                                 const struct space *space)
{
    if (target->reason != REASON_NONE)
        return reason_name(target->reason);
    if (pipeline_is_stuck(pipeline, target->pid))
        return reason_name(REASON_STUCK);
    if (space && space->denied)
        return reason_name(REASON_NO_PERMISSION);
    if (pipeline_observes(pipeline))
        return reason_name(REASON_OBSERVED);
    if (!space || space->remote_permyriad < 0)
        return "learning";
    if (space->n_planned ||
        (space->moved_nsec && space->moved_nsec + BALANCING_NSEC > pipeline->now))
        return "balancing";
    return "stable";
}

static int by_node(const void *left, const void *right)
{
    const struct node_bytes *a = left, *b = right;

    return a->node < b->node ? -1 : a->node > b->node;
}

static int fill_nodes(const struct pipeline *pipeline, const struct space *space,
                      struct process_report *report)
{
    double page_bytes = (double)pipeline->options.host->page_bytes;
    struct node_list *nodes = &report->nodes;

    if (!space->totals_known || !space->totals.n_entries)
        return 0;
    nodes->items = calloc(space->totals.n_entries, sizeof *nodes->items);
    if (!nodes->items)
        return -ENOMEM;
    for (size_t i = 0; i < space->totals.n_entries; i++) {
        const struct tally_entry *entry = &space->totals.entries[i];

        /* Between two readings of numa_maps moves are counted off: never show less than nothing. */
        nodes->items[nodes->n_items++] = (struct node_bytes){
            .node = entry->node, .bytes = entry->n > 0 ? (uint64_t)(entry->n * page_bytes) : 0};
    }
    qsort(nodes->items, nodes->n_items, sizeof *nodes->items, by_node);
    report->nodes_known = true;
    return 0;
}

int pipeline_fill_process(const struct pipeline *pipeline, const struct target *target,
                          struct process_report *report)
{
    const struct space *space = attribute_find(pipeline->attribute, target->pid);

    *report = (struct process_report){
        .pid = target->pid,
        .uid = target->process.uid,
        .rss_bytes = target->process.rss_bytes,
        .n_threads = target->process.n_threads,
        .remote_permyriad = space ? space->remote_permyriad : -1,
        .moved_bytes = space ? space->moved_bytes : 0,
        .state = process_state(pipeline, target, space),
    };
    memcpy(report->comm, target->process.comm, sizeof report->comm);
    if (!space)
        return 0;
    report->autonuma = report_autonuma(&space->autonuma);
    return fill_nodes(pipeline, space, report);
}

/* Small processes, kernel threads and the like would only fill the screen. */
static bool is_listed(const struct target *target, uid_t uid)
{
    switch (target->reason) {
    case REASON_TOO_SMALL:
    case REASON_KERNEL_THREAD:
    case REASON_INIT:
    case REASON_SELF:
        return false;
    default:
        return uid == 0 || target->process.uid == uid;
    }
}

int pipeline_processes(const struct pipeline *pipeline, uid_t uid, struct process_reports *reports)
{
    struct target *target, *next;
    int r = 0;

    HASH_ITER (hh, discover_targets(pipeline->discover), target, next) {
        if (r || !is_listed(target, uid))
            continue;
        if (ARRAY_RESERVE(reports->items, reports->cap, reports->n_items + 1) < 0)
            return -ENOMEM;
        r = pipeline_fill_process(pipeline, target, &reports->items[reports->n_items]);
        reports->n_items++;
    }
    return r;
}
