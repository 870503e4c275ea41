/*
 * Listings of processes
 *
 * A process whose distribution over the nodes is not known shows "-" there, never 0.
 */
#include "report/listing.h"

#include "report/text.h"
#include "util/array.h"

struct cell_column {
    const char *title;
    enum table_align align;
    const char *(*format)(char text[static TEXT_SIZE], const struct process_report *report);
};

static const char *format_rss(char text[static TEXT_SIZE], const struct process_report *report)
{
    return text_bytes(text, report->rss_bytes);
}

static const char *format_threads(char text[static TEXT_SIZE], const struct process_report *report)
{
    snprintf(text, TEXT_SIZE, "%u", report->n_threads);
    return text;
}

static const char *format_remote(char text[static TEXT_SIZE], const struct process_report *report)
{
    return text_permyriad(text, report->remote_permyriad);
}

static const char *format_moved(char text[static TEXT_SIZE], const struct process_report *report)
{
    return text_bytes(text, report->moved_bytes);
}

static const char *format_state(char text[static TEXT_SIZE], const struct process_report *report)
{
    return text_escape(text, TEXT_SIZE, report->state);
}

/* What stands before and after the nodes. */
static const struct cell_column before_nodes[] = {
    {"RSS", TABLE_RIGHT, format_rss},
    {"THREADS", TABLE_RIGHT, format_threads},
    {"REMOTE", TABLE_RIGHT, format_remote},
};
static const struct cell_column after_nodes[] = {
    {"MOVED", TABLE_RIGHT, format_moved},
    {"STATE", TABLE_LEFT, format_state},
};
static const struct cell_column watch_after_nodes[] = {
    {"REMOTE", TABLE_RIGHT, format_remote},
    {"MOVED", TABLE_RIGHT, format_moved},
    {"STATE", TABLE_LEFT, format_state},
};

static int add_columns(struct table *table, const struct cell_column *columns, size_t n)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = table_add_column(table, columns[i].align, "%s", columns[i].title);
    return r;
}

static int add_cells(struct table *table, const struct cell_column *columns, size_t n,
                     const struct process_report *report)
{
    char text[TEXT_SIZE];
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = table_add_cell(table, columns[i].format(text, report));
    return r;
}

static int add_name_columns(struct table *table)
{
    int r = table_add_column(table, TABLE_RIGHT, "PID");

    return r < 0 ? r : table_add_column(table, TABLE_LEFT, "COMMAND");
}

static int add_name_cells(struct table *table, const struct process_report *report)
{
    char pid[TEXT_SIZE], comm[sizeof report->comm * 4 + 1];
    int r;

    snprintf(pid, sizeof pid, "%d", (int)report->pid);
    r = table_add_cell(table, pid);
    return r < 0 ? r : table_add_cell(table, text_escape(comm, sizeof comm, report->comm));
}

static int add_node_columns(struct table *table, const struct node_set *nodes)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < nodes->n_ids; i++)
        r = table_add_column(table, TABLE_RIGHT, "NODE%d", nodes->ids[i]);
    return r;
}

static uint64_t bytes_on(const struct node_list *nodes, int node)
{
    for (unsigned i = 0; i < nodes->n_items; i++)
        if (nodes->items[i].node == node)
            return nodes->items[i].bytes;
    return 0;
}

static int add_node_cells(struct table *table, const struct node_set *nodes,
                          const struct process_report *report,
                          const char *(*format)(char[static TEXT_SIZE], uint64_t))
{
    char text[TEXT_SIZE];
    int r = 0;

    for (size_t i = 0; r == 0 && i < nodes->n_ids; i++)
        r = table_add_cell(table, report->nodes_known
                                      ? format(text, bytes_on(&report->nodes, nodes->ids[i]))
                                      : "-");
    return r;
}

int listing_add_ps_columns(struct table *table, const struct node_set *nodes)
{
    int r = add_name_columns(table);

    if (r == 0)
        r = add_columns(table, before_nodes, ARRAY_LENGTH(before_nodes));
    if (r == 0)
        r = add_node_columns(table, nodes);
    return r < 0 ? r : add_columns(table, after_nodes, ARRAY_LENGTH(after_nodes));
}

int listing_add_ps_rows(struct table *table, const struct node_set *nodes,
                        const struct process_reports *reports)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < reports->n_items; i++) {
        const struct process_report *report = &reports->items[i];

        r = add_name_cells(table, report);
        if (r == 0)
            r = add_cells(table, before_nodes, ARRAY_LENGTH(before_nodes), report);
        if (r == 0)
            r = add_node_cells(table, nodes, report, text_bytes);
        if (r == 0)
            r = add_cells(table, after_nodes, ARRAY_LENGTH(after_nodes), report);
    }
    return r;
}

int listing_add_watch_columns(struct table *table, const struct node_set *nodes)
{
    int r = table_add_column(table, TABLE_LEFT, "TIME");

    if (r == 0)
        r = add_name_columns(table);
    if (r == 0)
        r = add_node_columns(table, nodes);
    return r < 0 ? r : add_columns(table, watch_after_nodes, ARRAY_LENGTH(watch_after_nodes));
}

int listing_add_watch_rows(struct table *table, const struct node_set *nodes,
                           const struct process_reports *reports, const char *time)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < reports->n_items; i++) {
        const struct process_report *report = &reports->items[i];

        r = table_add_cell(table, time);
        if (r == 0)
            r = add_name_cells(table, report);
        if (r == 0)
            r = add_node_cells(table, nodes, report, text_mebibytes);
        if (r == 0)
            r = add_cells(table, watch_after_nodes, ARRAY_LENGTH(watch_after_nodes), report);
    }
    return r;
}
