/*
 * The wire
 *
 * libsystemd's varargs calls are not checked by the compiler: a format that does not fit its
 * arguments is a crash or, worse, a number from the stack. So all of them are here and in
 * wire_read.c, one short function a kind of field, picked by table.
 */
#include "report/wire.h"

#include "report/fields.h"
#include "report/wire_kinds.h"
#include "util/utf8.h"

static int append_text(sd_bus_message *message, const char *text)
{
    char valid[1024];

    utf8_copy(valid, sizeof valid, text ? text : "");
    return sd_bus_message_append_basic(message, 's', valid);
}

static int append_buffer(sd_bus_message *message, const void *member)
{
    return append_text(message, member);
}

static int append_string(sd_bus_message *message, const void *member)
{
    return append_text(message, *(const char *const *)member);
}

static int append_uint32(sd_bus_message *message, const void *member)
{
    return sd_bus_message_append_basic(message, 'u', member);
}

static int append_int32(sd_bus_message *message, const void *member)
{
    return sd_bus_message_append_basic(message, 'i', member);
}

static int append_uint64(sd_bus_message *message, const void *member)
{
    return sd_bus_message_append_basic(message, 't', member);
}

static int append_double(sd_bus_message *message, const void *member)
{
    return sd_bus_message_append_basic(message, 'd', member);
}

static int append_bool(sd_bus_message *message, const void *member)
{
    int value = *(const bool *)member;

    return sd_bus_message_append_basic(message, 'b', &value);
}

static int append_reasons(sd_bus_message *message, const void *member)
{
    const struct reason_counts *counts = member;
    int r = sd_bus_message_open_container(message, 'a', "{st}");

    for (enum reason reason = 0; r >= 0 && reason < REASON_COUNT; reason++)
        if (counts->n[reason])
            r = sd_bus_message_append(message, "{st}", reason_name(reason), counts->n[reason]);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_scans(sd_bus_message *message, const void *member)
{
    const struct scan_verdicts *counts = member;
    int r = sd_bus_message_open_container(message, 'a', "{st}");

    for (enum scan_verdict verdict = 0; r >= 0 && verdict < SCAN_VERDICT_COUNT; verdict++)
        if (counts->n[verdict])
            r = sd_bus_message_append(message, "{st}", scan_verdict_name(verdict),
                                      counts->n[verdict]);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_errnos(sd_bus_message *message, const void *member)
{
    const struct status_report *report = WIRE_OWNER(member, struct status_report, errnos);
    int r = sd_bus_message_open_container(message, 'a', "{st}");
    char buffer[24];

    for (unsigned i = 0; r >= 0 && i < report->n_errnos; i++)
        r = sd_bus_message_append(message, "{st}", fields_errno_name(report->errnos[i], buffer),
                                  report->errno_pages[i]);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_nodes(sd_bus_message *message, const void *member)
{
    const struct node_list *nodes = member;
    int r = sd_bus_message_open_container(message, 'a', "(it)");

    for (unsigned i = 0; r >= 0 && i < nodes->n_items; i++)
        r = sd_bus_message_append(message, "(it)", nodes->items[i].node, nodes->items[i].bytes);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_thread_nodes(sd_bus_message *message, const void *member)
{
    const struct node_threads_list *nodes = member;
    int r = sd_bus_message_open_container(message, 'a', "(iu)");

    for (unsigned i = 0; r >= 0 && i < nodes->n_items; i++)
        r = sd_bus_message_append(message, "(iu)", nodes->items[i].node, nodes->items[i].n);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_thread(sd_bus_message *message, const struct thread_name *thread)
{
    int r = sd_bus_message_open_container(message, 'r', "is");

    if (r >= 0)
        r = sd_bus_message_append_basic(message, 'i', &thread->tid);
    if (r >= 0)
        r = append_text(message, thread->comm);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_threads(sd_bus_message *message, const void *member)
{
    const struct thread_names *threads = member;
    int r = sd_bus_message_open_container(message, 'a', "(is)");

    for (unsigned i = 0; r >= 0 && i < threads->n_items; i++)
        r = append_thread(message, &threads->items[i]);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int (*const appenders[])(sd_bus_message *message, const void *member) = {
    [FIELD_BUFFER] = append_buffer,   [FIELD_STRING] = append_string,
    [FIELD_UINT32] = append_uint32,   [FIELD_INT32] = append_int32,
    [FIELD_SHARE] = append_int32,     [FIELD_UINT64] = append_uint64,
    [FIELD_DOUBLE] = append_double,   [FIELD_BOOL] = append_bool,
    [FIELD_REASONS] = append_reasons, [FIELD_SCANS] = append_scans,
    [FIELD_ERRNOS] = append_errnos,   [FIELD_NODES] = append_nodes,
    [FIELD_ADDRESS] = append_uint64,  [FIELD_THREAD_NODES] = append_thread_nodes,
    [FIELD_THREADS] = append_threads,
};

static int append_field(sd_bus_message *message, const struct field *field, const void *record)
{
    int r = sd_bus_message_open_container(message, 'e', "sv");

    if (r >= 0)
        r = sd_bus_message_append_basic(message, 's', field->name);
    if (r >= 0)
        r = sd_bus_message_open_container(message, 'v', wire_signature(field->kind));
    if (r >= 0)
        r = appenders[field->kind](message, (const char *)record + field->offset);
    if (r >= 0)
        r = sd_bus_message_close_container(message);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_record(sd_bus_message *message, struct field_list list, const void *record)
{
    int r = sd_bus_message_open_container(message, 'a', "{sv}");

    for (size_t i = 0; r >= 0 && i < list.n_fields; i++)
        r = append_field(message, &list.fields[i], record);
    if (r >= 0)
        r = sd_bus_message_close_container(message);
    return r < 0 ? r : 0;
}

int wire_append_status(sd_bus_message *message, const struct status_report *report)
{
    return append_record(message, fields_of_status(), report);
}

int wire_append_processes(sd_bus_message *message, const struct process_reports *reports)
{
    int r = sd_bus_message_open_container(message, 'a', "a{sv}");

    for (size_t i = 0; r >= 0 && i < reports->n_items; i++)
        r = append_record(message, fields_of_process(), &reports->items[i]);
    if (r >= 0)
        r = sd_bus_message_close_container(message);
    return r < 0 ? r : 0;
}

static int append_vmas(sd_bus_message *message, const struct vma_reports *vmas)
{
    int r = sd_bus_message_open_container(message, 'a', "a{sv}");

    for (size_t i = 0; r >= 0 && i < vmas->n_items; i++)
        r = append_record(message, fields_of_vma(), &vmas->items[i]);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

int wire_append_vmas(sd_bus_message *message, const struct vmas_page *page)
{
    int r = append_record(message, fields_of_process(), &page->process);

    if (r >= 0)
        r = append_vmas(message, &page->vmas);
    if (r >= 0)
        r = sd_bus_message_append(message, "tt", page->next, page->generation);
    return r < 0 ? r : 0;
}

int wire_append_checks(sd_bus_message *message, const struct doctor_report *report)
{
    int r = sd_bus_message_open_container(message, 'a', "a{sv}");

    for (size_t i = 0; r >= 0 && i < report->n_items; i++)
        r = append_record(message, fields_of_check(), &report->items[i]);
    if (r >= 0)
        r = sd_bus_message_close_container(message);
    return r < 0 ? r : 0;
}
