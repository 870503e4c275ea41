#include "report/vma_verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/text.h"

static void __attribute__((format(printf, 2, 3)))
append(struct vma_report *report, const char *format, ...)
{
    size_t used = strlen(report->verdict);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(&report->verdict[used], sizeof report->verdict - used, format, arguments);
    va_end(arguments);
}

/* The reason of most ranges; among equals the first of the list. REASON_COUNT: there are none. */
static enum reason most_of(const struct reason_counts *counts)
{
    enum reason best = REASON_COUNT;

    for (enum reason reason = 0; reason < REASON_COUNT; reason++)
        if (counts->n[reason] && (best == REASON_COUNT || counts->n[reason] > counts->n[best]))
            best = reason;
    return best;
}

static const char *word_of(enum reason reason)
{
    switch (reason) {
    case REASON_NONE:
        return "to be moved";
    case REASON_LOCAL:
        return "in place";
    default:
        return reason_name(reason);
    }
}

static void append_ranges(struct vma_report *report)
{
    struct reason_counts left = report->ranges;
    const char *separator = "";
    enum reason reason;

    while ((reason = most_of(&left)) != REASON_COUNT) {
        append(report, "%s%s %" PRIu64, separator, word_of(reason), left.n[reason]);
        left.n[reason] = 0;
        separator = ", ";
    }
}

void vma_verdict_fill(struct vma_report *report, enum reason barred, enum scan_verdict scan)
{
    enum reason most = most_of(&report->ranges);
    char moved[TEXT_SIZE];

    report->verdict[0] = '\0';
    if (report->moved_bytes)
        append(report, "moved %s: ", text_bytes(moved, report->moved_bytes));
    if (barred != REASON_NONE)
        append(report, "%s", reason_name(barred));
    else if (most == REASON_COUNT)
        append(report, "not sampled");
    else
        append_ranges(report);
    if (barred == REASON_NONE && scan != SCAN_UNJUDGED && !scan_verdict_lets(scan))
        append(report, "; scan filter: %s", scan_verdict_name(scan));
    if (barred != REASON_NONE)
        most = barred;
    else if (most == REASON_COUNT)
        most = REASON_FEW_SAMPLES;
    snprintf(report->reason, sizeof report->reason, "%s", reason_name(most));
}
