/*
 * Fields of the reports
 *
 * One row a member. The names are those of the struct: they are an interface (D-Bus and --json), so
 * a row may be added but not renamed.
 */
#include "report/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numabd/report.h"
#include "report/doctor.h"
#include "util/array.h"

#define ROW_NAMED(name_, type, member, kind_)                                                      \
    {                                                                                              \
        .name = (name_), .kind = (kind_), .offset = offsetof(struct type, member),                 \
        .size = sizeof(((struct type *)NULL)->member)                                              \
    }
#define ROW(type, member, kind) ROW_NAMED(#member, type, member, kind)
/* The rows of its member `autonuma`. */
#define AUTONUMA_ROW(type, member, kind) ROW_NAMED(#member, type, autonuma.member, kind)
#define AUTONUMA(type)                                                                             \
    AUTONUMA_ROW(type, numa_pte_updates, FIELD_UINT64),                                            \
        AUTONUMA_ROW(type, numa_hint_faults, FIELD_UINT64),                                        \
        AUTONUMA_ROW(type, numa_hint_faults_local, FIELD_UINT64),                                  \
        AUTONUMA_ROW(type, numa_pages_migrated, FIELD_UINT64),                                     \
        AUTONUMA_ROW(type, autonuma_cost, FIELD_DOUBLE)
#define STATUS(member, kind) ROW(status_report, member, kind)
#define PROCESS(member, kind) ROW(process_report, member, kind)
#define VMA(member, kind) ROW(vma_report, member, kind)
#define CHECK(member, kind) ROW(doctor_check, member, kind)

static const struct field status_fields[] = {
    STATUS(version, FIELD_BUFFER),
    STATUS(state, FIELD_STRING),
    STATUS(why, FIELD_BUFFER),
    STATUS(uptime_sec, FIELD_UINT64),
    STATUS(n_memory_nodes, FIELD_UINT32),
    STATUS(sources, FIELD_BUFFER),
    STATUS(sampling, FIELD_BUFFER),
    STATUS(rate_hz, FIELD_UINT32),
    STATUS(kernel_balancing, FIELD_STRING),
    STATUS(remote_first_permyriad, FIELD_SHARE),
    STATUS(remote_permyriad, FIELD_SHARE),
    STATUS(moved_bytes, FIELD_UINT64),
    STATUS(moved_last_hour_bytes, FIELD_UINT64),
    STATUS(cost_permyriad, FIELD_UINT32),
    STATUS(moving_permyriad, FIELD_UINT32),
    STATUS(n_balanced, FIELD_UINT32),
    STATUS(n_observed, FIELD_UINT32),
    STATUS(n_too_small, FIELD_UINT32),
    STATUS(n_excluded, FIELD_UINT32),
    STATUS(n_other, FIELD_UINT32),
    STATUS(n_rounds, FIELD_UINT64),
    STATUS(n_samples, FIELD_UINT64),
    STATUS(n_foreign, FIELD_UINT64),
    STATUS(n_lost, FIELD_UINT64),
    STATUS(n_unresolved, FIELD_UINT64),
    STATUS(n_capped, FIELD_UINT64),
    STATUS(n_accesses, FIELD_UINT64),
    STATUS(n_interrupts, FIELD_UINT64),
    STATUS(residency_asked, FIELD_UINT64),
    STATUS(residency_found, FIELD_UINT64),
    STATUS(residency_scans, FIELD_UINT64),
    STATUS(pages_tried, FIELD_UINT64),
    STATUS(pages_moved, FIELD_UINT64),
    STATUS(pages_failed, FIELD_UINT64),
    STATUS(pages_observed, FIELD_UINT64),
    STATUS(sampled_round, FIELD_UINT64),
    STATUS(converged_round, FIELD_UINT64),
    AUTONUMA(status_report),
    STATUS(scan_passes, FIELD_UINT64),
    STATUS(scanned_bytes, FIELD_UINT64),
    STATUS(scan_verdicts, FIELD_SCANS),
    STATUS(process_reasons, FIELD_REASONS),
    STATUS(vma_reasons, FIELD_REASONS),
    STATUS(range_reasons, FIELD_REASONS),
    STATUS(errnos, FIELD_ERRNOS),
};

static const struct field process_fields[] = {
    PROCESS(pid, FIELD_INT32),          PROCESS(uid, FIELD_UINT32),
    PROCESS(comm, FIELD_BUFFER),        PROCESS(rss_bytes, FIELD_UINT64),
    PROCESS(n_threads, FIELD_UINT32),   PROCESS(remote_permyriad, FIELD_SHARE),
    PROCESS(nodes_known, FIELD_BOOL),   PROCESS(nodes, FIELD_NODES),
    PROCESS(moved_bytes, FIELD_UINT64), AUTONUMA(process_report),
    PROCESS(state, FIELD_STRING),
};

static const struct field vma_fields[] = {
    VMA(start, FIELD_ADDRESS),
    VMA(end, FIELD_ADDRESS),
    VMA(name, FIELD_BUFFER),
    VMA(policy, FIELD_BUFFER),
    VMA(page_bytes, FIELD_UINT64),
    VMA(nodes_known, FIELD_BOOL),
    VMA(nodes, FIELD_NODES),
    VMA(n_threads, FIELD_UINT32),
    VMA(thread_nodes, FIELD_THREAD_NODES),
    VMA(threads, FIELD_THREADS),
    VMA(n_scans, FIELD_UINT32),
    VMA(scanned_ago_sec, FIELD_SHARE),
    VMA(scan, FIELD_BUFFER),
    VMA(ranges, FIELD_REASONS),
    VMA(moved_bytes, FIELD_UINT64),
    VMA(reason, FIELD_BUFFER),
    VMA(verdict, FIELD_BUFFER),
};

static const struct field check_fields[] = {
    CHECK(group, FIELD_BUFFER), CHECK(name, FIELD_BUFFER),  CHECK(state, FIELD_STRING),
    CHECK(call, FIELD_BUFFER),  CHECK(error, FIELD_BUFFER), CHECK(detail, FIELD_BUFFER),
    CHECK(fix, FIELD_BUFFER),   CHECK(blind, FIELD_BUFFER), CHECK(use, FIELD_BUFFER),
};

struct field_list fields_of_status(void)
{
    return (struct field_list){status_fields, ARRAY_LENGTH(status_fields)};
}

struct field_list fields_of_process(void)
{
    return (struct field_list){process_fields, ARRAY_LENGTH(process_fields)};
}

struct field_list fields_of_vma(void)
{
    return (struct field_list){vma_fields, ARRAY_LENGTH(vma_fields)};
}

struct field_list fields_of_check(void)
{
    return (struct field_list){check_fields, ARRAY_LENGTH(check_fields)};
}

const struct field *fields_find(const struct field_list *list, const char *name)
{
    for (size_t i = 0; i < list->n_fields; i++)
        if (!strcmp(list->fields[i].name, name))
            return &list->fields[i];
    return NULL;
}

const char *fields_errno_name(int error, char buffer[static 24])
{
    const char *name = strerrorname_np(error);

    if (name)
        return name;
    snprintf(buffer, 24, "errno-%d", error);
    return buffer;
}

int fields_errno_of_name(const char *name)
{
    enum {
        ERRNO_LAST = 255
    };

    if (!strncmp(name, "errno-", strlen("errno-")))
        return atoi(name + strlen("errno-"));
    for (int error = 1; error <= ERRNO_LAST; error++) {
        const char *known = strerrorname_np(error);

        if (known && !strcmp(known, name))
            return error;
    }
    return 0;
}
