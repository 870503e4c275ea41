#pragma once
/*
 * A VMA's verdict, summed up from those of its ranges. Pure.
 */
#include "numabd/report.h"

/*
 * Fills in reason and verdict from ranges, moved_bytes and the rest. barred: why nothing in the VMA
 * may be moved (its kind or policy), or NONE; scan: the filter's last verdict.
 *
 *     "shared_ro"                                             barred
 *     "moved 64 MiB: in place 30, cool_down 2"                ranges by their reason, most first
 *     "not sampled; scan filter: pid_inactive"                no range, and not looked at
 */
void vma_verdict_fill(struct vma_report *report, enum reason barred, enum scan_verdict scan);
