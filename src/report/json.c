/*
 * JSON
 */
#include "report/json.h"

#include <inttypes.h>

#include "report/fields.h"
#include "report/wire_kinds.h"
#include "util/utf8.h"

static void print_character(FILE *file, uint32_t code, const char *bytes, size_t size)
{
    if (code == UTF8_INVALID)
        fputs(UTF8_REPLACEMENT, file);
    else if (code == '"' || code == '\\')
        fprintf(file, "\\%c", (int)code);
    else if (code < 0x20 || code == 0x7F)
        fprintf(file, "\\u%04" PRIx32, code);
    else
        fwrite(bytes, 1, size, file);
}

void json_print_string(FILE *file, const char *text)
{
    uint32_t code;
    size_t size;

    fputc('"', file);
    for (; (code = utf8_decode(text, &size)) != 0; text += size)
        print_character(file, code, text, size);
    fputc('"', file);
}

static void print_reasons(FILE *file, const struct reason_counts *counts)
{
    const char *separator = "";

    fputc('{', file);
    for (enum reason reason = 0; reason < REASON_COUNT; reason++) {
        if (!counts->n[reason])
            continue;
        fprintf(file, "%s\"%s\":%" PRIu64, separator, reason_name(reason), counts->n[reason]);
        separator = ",";
    }
    fputc('}', file);
}

static void print_scans(FILE *file, const struct scan_verdicts *counts)
{
    const char *separator = "";

    fputc('{', file);
    for (enum scan_verdict verdict = 0; verdict < SCAN_VERDICT_COUNT; verdict++) {
        if (!counts->n[verdict])
            continue;
        fprintf(file, "%s\"%s\":%" PRIu64, separator, scan_verdict_name(verdict),
                counts->n[verdict]);
        separator = ",";
    }
    fputc('}', file);
}

static void print_errnos(FILE *file, const struct status_report *report)
{
    char buffer[24];

    fputc('{', file);
    for (unsigned i = 0; i < report->n_errnos; i++)
        fprintf(file, "%s\"%s\":%" PRIu64, i ? "," : "",
                fields_errno_name(report->errnos[i], buffer), report->errno_pages[i]);
    fputc('}', file);
}

static void print_nodes(FILE *file, const struct node_list *nodes)
{
    fputc('[', file);
    for (unsigned i = 0; i < nodes->n_items; i++)
        fprintf(file, "%s{\"node\":%d,\"bytes\":%" PRIu64 "}", i ? "," : "", nodes->items[i].node,
                nodes->items[i].bytes);
    fputc(']', file);
}

static void print_thread_nodes(FILE *file, const struct node_threads_list *nodes)
{
    fputc('[', file);
    for (unsigned i = 0; i < nodes->n_items; i++)
        fprintf(file, "%s{\"node\":%d,\"n_threads\":%u}", i ? "," : "", nodes->items[i].node,
                nodes->items[i].n);
    fputc(']', file);
}

static void print_threads(FILE *file, const struct thread_names *threads)
{
    fputc('[', file);
    for (unsigned i = 0; i < threads->n_items; i++) {
        fprintf(file, "%s{\"tid\":%d,\"comm\":", i ? "," : "", threads->items[i].tid);
        json_print_string(file, threads->items[i].comm);
        fputc('}', file);
    }
    fputc(']', file);
}

static void print_share(FILE *file, int permyriad)
{
    if (permyriad < 0)
        fputs("null", file);
    else
        fprintf(file, "%d", permyriad);
}

static void print_value(FILE *file, enum field_kind kind, const void *member)
{
    switch (kind) {
    case FIELD_BUFFER:
        return json_print_string(file, member);
    case FIELD_STRING:
        return json_print_string(file, *(const char *const *)member);
    case FIELD_UINT32:
        return (void)fprintf(file, "%u", *(const unsigned *)member);
    case FIELD_INT32:
        return (void)fprintf(file, "%d", *(const int *)member);
    case FIELD_SHARE:
        return print_share(file, *(const int *)member);
    case FIELD_UINT64:
        return (void)fprintf(file, "%" PRIu64, *(const uint64_t *)member);
    case FIELD_DOUBLE:
        return (void)fprintf(file, "%.9g", *(const double *)member);
    case FIELD_BOOL:
        return (void)fputs(*(const bool *)member ? "true" : "false", file);
    case FIELD_REASONS:
        return print_reasons(file, member);
    case FIELD_SCANS:
        return print_scans(file, member);
    case FIELD_ERRNOS:
        return print_errnos(file, WIRE_OWNER(member, struct status_report, errnos));
    case FIELD_ADDRESS:
        return (void)fprintf(file, "\"0x%" PRIx64 "\"", *(const uint64_t *)member);
    case FIELD_THREAD_NODES:
        return print_thread_nodes(file, member);
    case FIELD_THREADS:
        return print_threads(file, member);
    case FIELD_NODES:
        return print_nodes(file, member);
    case FIELD_KIND_COUNT:
        break;
    }
}

static void print_record(FILE *file, struct field_list list, const void *record)
{
    fputc('{', file);
    for (size_t i = 0; i < list.n_fields; i++) {
        fprintf(file, "%s\"%s\":", i ? "," : "", list.fields[i].name);
        print_value(file, list.fields[i].kind, (const char *)record + list.fields[i].offset);
    }
    fputc('}', file);
}

void json_print_status(FILE *file, const struct status_report *report)
{
    print_record(file, fields_of_status(), report);
}

void json_print_processes(FILE *file, const struct process_reports *reports)
{
    fputc('[', file);
    for (size_t i = 0; i < reports->n_items; i++) {
        if (i)
            fputc(',', file);
        print_record(file, fields_of_process(), &reports->items[i]);
    }
    fputc(']', file);
}

void json_print_process(FILE *file, const struct process_report *report)
{
    print_record(file, fields_of_process(), report);
}

void json_print_vmas(FILE *file, const struct vma_reports *reports)
{
    fputc('[', file);
    for (size_t i = 0; i < reports->n_items; i++) {
        if (i)
            fputc(',', file);
        print_record(file, fields_of_vma(), &reports->items[i]);
    }
    fputc(']', file);
}

void json_print_checks(FILE *file, const struct doctor_report *report)
{
    fputc('[', file);
    for (size_t i = 0; i < report->n_items; i++) {
        if (i)
            fputc(',', file);
        print_record(file, fields_of_check(), &report->items[i]);
    }
    fputc(']', file);
}
