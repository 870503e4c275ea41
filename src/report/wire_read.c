/*
 * The wire, read
 *
 * A dictionary is read entry by entry; what this version does not know, or knows with another type,
 * is stepped over.
 */
#include <stdio.h>
#include <string.h>

#include "report/fields.h"
#include "report/wire.h"
#include "report/wire_kinds.h"
#include "util/array.h"

static const char *const signatures[] = {
    [FIELD_BUFFER] = "s",      [FIELD_STRING] = "s",
    [FIELD_UINT32] = "u",      [FIELD_INT32] = "i",
    [FIELD_SHARE] = "i",       [FIELD_UINT64] = "t",
    [FIELD_DOUBLE] = "d",      [FIELD_BOOL] = "b",
    [FIELD_REASONS] = "a{st}", [FIELD_SCANS] = "a{st}",
    [FIELD_ERRNOS] = "a{st}",  [FIELD_NODES] = "a(it)",
    [FIELD_ADDRESS] = "t",     [FIELD_THREAD_NODES] = "a(iu)",
    [FIELD_THREADS] = "a(is)",
};

const char *wire_signature(enum field_kind kind)
{
    return signatures[kind];
}

/* The type is checked by the caller, so a basic value can be read in place. */
static int read_basic(sd_bus_message *message, const struct field *field, void *member)
{
    return sd_bus_message_read_basic(message, wire_signature(field->kind)[0], member);
}

static int read_buffer(sd_bus_message *message, const struct field *field, void *member)
{
    const char *text;
    int r = sd_bus_message_read_basic(message, 's', &text);

    if (r >= 0)
        snprintf(member, field->size, "%s", text);
    return r;
}

static int read_bool(sd_bus_message *message, const struct field *field, void *member)
{
    int value = 0, r = sd_bus_message_read_basic(message, 'b', &value);

    (void)field;
    *(bool *)member = value;
    return r;
}

static void count_reason(void *member, const char *name, uint64_t n)
{
    struct reason_counts *counts = member;

    for (enum reason reason = 0; reason < REASON_COUNT; reason++)
        if (!strcmp(reason_name(reason), name))
            counts->n[reason] = n;
}

static void count_scan(void *member, const char *name, uint64_t n)
{
    struct scan_verdicts *counts = member;

    for (enum scan_verdict verdict = 0; verdict < SCAN_VERDICT_COUNT; verdict++)
        if (!strcmp(scan_verdict_name(verdict), name))
            counts->n[verdict] = n;
}

static void count_errno(void *member, const char *name, uint64_t n)
{
    struct status_report *report = WIRE_OWNER(member, struct status_report, errnos);
    int error = fields_errno_of_name(name);

    if (error == 0 || report->n_errnos == ARRAY_LENGTH(report->errnos))
        return;
    report->errnos[report->n_errnos] = error;
    report->errno_pages[report->n_errnos++] = n;
}

static int read_counts(sd_bus_message *message, const struct field *field, void *member)
{
    int r = sd_bus_message_enter_container(message, 'a', "{st}");
    const char *name;
    uint64_t n;

    while (r >= 0 && (r = sd_bus_message_read(message, "{st}", &name, &n)) > 0) {
        if (field->kind == FIELD_REASONS)
            count_reason(member, name, n);
        else if (field->kind == FIELD_SCANS)
            count_scan(member, name, n);
        else
            count_errno(member, name, n);
    }
    return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int read_nodes(sd_bus_message *message, const struct field *field, void *member)
{
    struct node_list *nodes = member;
    int r = sd_bus_message_enter_container(message, 'a', "(it)");
    struct node_bytes entry;
    size_t cap = 0;

    (void)field;
    while (r >= 0 && (r = sd_bus_message_read(message, "(it)", &entry.node, &entry.bytes)) > 0) {
        r = ARRAY_RESERVE(nodes->items, cap, nodes->n_items + 1u);
        if (r >= 0)
            nodes->items[nodes->n_items++] = entry;
    }
    return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int read_thread_nodes(sd_bus_message *message, const struct field *field, void *member)
{
    struct node_threads_list *nodes = member;
    int r = sd_bus_message_enter_container(message, 'a', "(iu)");
    struct node_threads entry;
    size_t cap = 0;

    (void)field;
    while (r >= 0 && (r = sd_bus_message_read(message, "(iu)", &entry.node, &entry.n)) > 0) {
        r = ARRAY_RESERVE(nodes->items, cap, nodes->n_items + 1u);
        if (r >= 0)
            nodes->items[nodes->n_items++] = entry;
    }
    return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int read_threads(sd_bus_message *message, const struct field *field, void *member)
{
    struct thread_names *threads = member;
    int r = sd_bus_message_enter_container(message, 'a', "(is)");
    const char *comm;
    int tid;

    (void)field;
    while (r >= 0 && (r = sd_bus_message_read(message, "(is)", &tid, &comm)) > 0) {
        struct thread_name *thread = &threads->items[threads->n_items];

        if (threads->n_items == THREAD_NAMES_MAX)
            continue;
        thread->tid = tid;
        snprintf(thread->comm, sizeof thread->comm, "%s", comm);
        threads->n_items++;
    }
    return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int (*const readers[])(sd_bus_message *, const struct field *, void *member) = {
    [FIELD_BUFFER] = read_buffer,   [FIELD_STRING] = read_basic,
    [FIELD_UINT32] = read_basic,    [FIELD_INT32] = read_basic,
    [FIELD_SHARE] = read_basic,     [FIELD_UINT64] = read_basic,
    [FIELD_DOUBLE] = read_basic,    [FIELD_BOOL] = read_bool,
    [FIELD_REASONS] = read_counts,  [FIELD_SCANS] = read_counts,
    [FIELD_ERRNOS] = read_counts,   [FIELD_NODES] = read_nodes,
    [FIELD_ADDRESS] = read_basic,   [FIELD_THREAD_NODES] = read_thread_nodes,
    [FIELD_THREADS] = read_threads,
};

static int read_value(sd_bus_message *message, const struct field *field, void *record)
{
    const char *contents = NULL;
    int r = sd_bus_message_peek_type(message, NULL, &contents);

    if (r < 0)
        return r;
    if (!field || !contents || strcmp(contents, wire_signature(field->kind)) != 0)
        return sd_bus_message_skip(message, "v");
    r = sd_bus_message_enter_container(message, 'v', contents);
    if (r >= 0)
        r = readers[field->kind](message, field, (char *)record + field->offset);
    return r < 0 ? r : sd_bus_message_exit_container(message);
}

static void set_absent(const struct field_list *list, void *record)
{
    for (size_t i = 0; i < list->n_fields; i++) {
        void *member = (char *)record + list->fields[i].offset;

        if (list->fields[i].kind == FIELD_STRING)
            *(const char **)member = "";
        else if (list->fields[i].kind == FIELD_SHARE)
            *(int *)member = -1;
    }
}

/* Return: 1, 0 at the end of the enclosing array, or a negative errno. */
static int read_record(sd_bus_message *message, struct field_list list, void *record)
{
    int r = sd_bus_message_enter_container(message, 'a', "{sv}");
    const char *name;

    if (r <= 0)
        return r;
    set_absent(&list, record);
    while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
        r = sd_bus_message_read_basic(message, 's', &name);
        if (r >= 0)
            r = read_value(message, fields_find(&list, name), record);
        if (r >= 0)
            r = sd_bus_message_exit_container(message);
        if (r < 0)
            return r;
    }
    return r < 0 ? r : sd_bus_message_exit_container(message);
}

int wire_read_status(sd_bus_message *message, struct status_report *report)
{
    int r;

    *report = (struct status_report){0};
    r = read_record(message, fields_of_status(), report);
    return r > 0 ? 0 : r < 0 ? r : -EBADMSG;
}

int wire_read_processes(sd_bus_message *message, struct process_reports *reports)
{
    int r = sd_bus_message_enter_container(message, 'a', "a{sv}");

    while (r >= 0) {
        r = ARRAY_RESERVE(reports->items, reports->cap, reports->n_items + 1);
        if (r < 0)
            return r;
        reports->items[reports->n_items] = (struct process_report){0};
        r = read_record(message, fields_of_process(), &reports->items[reports->n_items]);
        if (r == 0)
            return 0;
        reports->n_items++; /* a half-read one too: its nodes have an owner then */
    }
    return r;
}

int wire_read_checks(sd_bus_message *message, struct doctor_report *report)
{
    int r = sd_bus_message_enter_container(message, 'a', "a{sv}");

    while (r >= 0) {
        r = ARRAY_RESERVE(report->items, report->cap, report->n_items + 1);
        if (r < 0)
            return r;
        report->items[report->n_items] = (struct doctor_check){.state = ""};
        r = read_record(message, fields_of_check(), &report->items[report->n_items]);
        if (r == 0)
            return 0;
        report->n_items++;
    }
    return r;
}

static int read_vma_list(sd_bus_message *message, struct vma_reports *vmas)
{
    int r = sd_bus_message_enter_container(message, 'a', "a{sv}");

    while (r >= 0) {
        r = ARRAY_RESERVE(vmas->items, vmas->cap, vmas->n_items + 1);
        if (r < 0)
            return r;
        vmas->items[vmas->n_items] = (struct vma_report){0};
        r = read_record(message, fields_of_vma(), &vmas->items[vmas->n_items]);
        if (r == 0)
            return sd_bus_message_exit_container(message);
        vmas->n_items++; /* a half-read one too: its lists have an owner then */
    }
    return r;
}

int wire_read_vmas(sd_bus_message *message, struct vmas_page *page)
{
    int r = read_record(message, fields_of_process(), &page->process);

    if (r == 0)
        return -EBADMSG;
    if (r > 0)
        r = read_vma_list(message, &page->vmas);
    if (r >= 0)
        r = sd_bus_message_read(message, "tt", &page->next, &page->generation);
    return r < 0 ? r : 0;
}
