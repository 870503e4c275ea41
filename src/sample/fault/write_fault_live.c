/*
 * The write_fault source on the live machine: the kernel's bits are tried first, then its events.
 */
#include "sample/fault/fault_probe.h"
#include "sample/fault/soft_dirty.h"
#include "sample/fault/write_fault.h"

/* Measured natively: a fault whose event is open takes so much longer. */
#define EVENT_SEC 0.65e-6

int write_fault_new(struct source *source, const struct source_options *options,
                    struct source_reason *reason)
{
    static const struct write_fault_events events = {
        .open = perf_scope_new,
        .close = perf_scope_free,
        .round = perf_scope_round,
        .read = perf_scope_read,
        .counts = perf_scope_counts,
        .lacks = perf_scope_lacks,
    };
    struct write_fault_seams seams = {
        .events = &events, .clock = clear_clock_live(), .fault_sec = 0};
    int r = soft_dirty_test_live(&seams.fault_sec, reason);

    if (!r)
        r = fault_probe(options, &events, reason);
    seams.fault_sec += EVENT_SEC;
    return r ? r : write_fault_new_from_seams(source, options, &seams, reason);
}
