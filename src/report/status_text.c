/*
 * The status, as text
 *
 * Three lines that always have the same shape, then only what there is to say: why numabd does not
 * move memory, what became of the pages, and what was left alone for which reason.
 */
#include <inttypes.h>

#include "report/fields.h"
#include "report/listing.h"
#include "report/text.h"

static void print_untrusted(FILE *file, const char *label, const char *value)
{
    char text[1024];

    fprintf(file, "%s%s", label, text_escape(text, sizeof text, value));
}

static void print_identity(FILE *file, const struct status_report *report)
{
    char up[TEXT_SIZE];

    print_untrusted(file, "numabd ", report->version);
    print_untrusted(file, "  ", report->state);
    fprintf(file, "  up %s   nodes %u", text_duration(up, report->uptime_sec),
            report->n_memory_nodes);
    print_untrusted(file, "   sources ", report->sources);
    print_untrusted(file, "   kernel balancing ", report->kernel_balancing);
    fputc('\n', file);
}

static void print_remote(FILE *file, const struct status_report *report)
{
    char first[TEXT_SIZE], now[TEXT_SIZE];

    if (report->remote_first_permyriad < 0)
        fputs("remote access  not known yet", file);
    else
        fprintf(file, "remote access  %s -> %s",
                text_permyriad(first, report->remote_first_permyriad),
                text_permyriad(now, report->remote_permyriad));
}

static void print_effect(FILE *file, const struct status_report *report)
{
    char moved[TEXT_SIZE], hour[TEXT_SIZE], cost[TEXT_SIZE], moving[TEXT_SIZE];

    print_remote(file, report);
    fprintf(file, "   moved %s (%s last hour)   cost %s of one CPU, moving %s\n",
            text_bytes(moved, report->moved_bytes), text_bytes(hour, report->moved_last_hour_bytes),
            text_permyriad(cost, report->cost_permyriad),
            text_permyriad(moving, report->moving_permyriad));
}

static void print_processes(FILE *file, const struct status_report *report)
{
    fprintf(file, "processes  %u balanced, %u observed, %u too small, %u excluded, %u other\n",
            report->n_balanced, report->n_observed, report->n_too_small, report->n_excluded,
            report->n_other);
}

static void print_sampling(FILE *file, const struct status_report *report)
{
    if (!report->sampling[0])
        return;
    fprintf(file, "sampling  at %u Hz, ", report->rate_hz);
    print_untrusted(file, "", report->sampling);
    fprintf(file, ", %" PRIu64 " interrupts\n", report->n_interrupts);
}

static void print_pages(FILE *file, const struct status_report *report)
{
    char buffer[24];

    if (!report->pages_tried && !report->pages_observed)
        return;
    fprintf(file, "pages  %" PRIu64 " tried, %" PRIu64 " moved, %" PRIu64 " failed",
            report->pages_tried, report->pages_moved, report->pages_failed);
    for (unsigned i = 0; i < report->n_errnos; i++)
        fprintf(file, "%s%s %" PRIu64, i ? ", " : " (",
                fields_errno_name(report->errnos[i], buffer), report->errno_pages[i]);
    if (report->n_errnos)
        fputc(')', file);
    if (report->pages_observed)
        fprintf(file, ", %" PRIu64 " only observed", report->pages_observed);
    fputc('\n', file);
}

/* As the kernel's own counters would stand had it done the same. */
static void print_autonuma(FILE *file, const struct autonuma_report *counts)
{
    uint64_t faults = counts->numa_hint_faults;
    char local[TEXT_SIZE];

    if (!faults && !counts->numa_pte_updates)
        return;
    text_permyriad(local,
                   faults ? (int64_t)(1e4 * (double)counts->numa_hint_faults_local / (double)faults)
                          : -1);
    fprintf(file,
            "as kernel balancing  %" PRIu64 " PTE updates, %" PRIu64 " hint faults (%s local), ",
            counts->numa_pte_updates, faults, local);
    fprintf(file, "%" PRIu64 " pages migrated, AutoNUMA cost %.1f\n", counts->numa_pages_migrated,
            counts->autonuma_cost);
}

/* Those that scan, or those that skip. */
static uint64_t print_verdicts(FILE *file, const char *label, const struct scan_verdicts *counts,
                               bool lets)
{
    uint64_t sum = 0;

    for (enum scan_verdict verdict = SCAN_UNJUDGED + 1; verdict < SCAN_VERDICT_COUNT; verdict++) {
        if (!counts->n[verdict] || scan_verdict_lets(verdict) != lets)
            continue;
        fprintf(file, "%s%s %" PRIu64, sum ? ", " : label, scan_verdict_name(verdict),
                counts->n[verdict]);
        sum += counts->n[verdict];
    }
    return sum;
}

static void print_scans(FILE *file, const struct status_report *report)
{
    char bytes[TEXT_SIZE];

    if (!report->scan_passes)
        return;
    fprintf(file, "scan filter  %" PRIu64 " passes, %s in VMAs scanned", report->scan_passes,
            text_bytes(bytes, report->scanned_bytes));
    if (print_verdicts(file, " (", &report->scan_verdicts, true))
        fputc(')', file);
    print_verdicts(file, ", skipped ", &report->scan_verdicts, false);
    fputc('\n', file);
}

static uint64_t count_reasons(const struct reason_counts *counts)
{
    uint64_t sum = 0;

    for (enum reason reason = REASON_NONE + 1; reason < REASON_COUNT; reason++)
        sum += counts->n[reason];
    return sum;
}

static void print_reasons(FILE *file, const char *what, const struct reason_counts *counts)
{
    bool first = true;

    if (!count_reasons(counts))
        return;
    fprintf(file, "not touched, %s: ", what);
    for (enum reason reason = REASON_NONE + 1; reason < REASON_COUNT; reason++) {
        if (!counts->n[reason])
            continue;
        fprintf(file, "%s%s %" PRIu64, first ? "" : ", ", reason_name(reason), counts->n[reason]);
        first = false;
    }
    fputc('\n', file);
}

static void print_untouched(FILE *file, const struct status_report *report)
{
    print_reasons(file, "processes", &report->process_reasons);
    print_reasons(file, "vmas", &report->vma_reasons);
    print_reasons(file, "ranges", &report->range_reasons);
}

/* What was not seen because something was full. */
static void print_missed(FILE *file, const struct status_report *report)
{
    if (report->n_lost)
        fprintf(file, "missed  %" PRIu64 " samples: a perf ring was full\n", report->n_lost);
    if (report->n_capped)
        fprintf(file, "missed  %" PRIu64 " accesses: all ranges of evidence are in use\n",
                report->n_capped);
}

void listing_print_status(FILE *file, const struct status_report *report)
{
    print_identity(file, report);
    print_effect(file, report);
    print_processes(file, report);
    if (report->why[0]) {
        print_untrusted(file, "why  ", report->why);
        fputc('\n', file);
    }
    print_sampling(file, report);
    print_pages(file, report);
    print_autonuma(file, &report->autonuma);
    print_scans(file, report);
    print_missed(file, report);
    print_untouched(file, report);
}
