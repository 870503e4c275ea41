#include "report/vma_listing.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/table.h"
#include "report/text.h"
#include "util/array.h"

/* What an escape can take of a name: 4 columns for each byte. */
#define NAME_TEXT_SIZE (4 * sizeof((struct vma_report *)NULL)->name + 1)

int vma_listing_add_nodes(struct node_set *set, const struct vma_reports *reports)
{
    for (size_t i = 0; i < reports->n_items; i++) {
        const struct node_list *nodes = &reports->items[i].nodes;

        for (unsigned n = 0; n < nodes->n_items; n++)
            if (nodes->items[n].bytes && node_set_add(set, nodes->items[n].node) < 0)
                return -ENOMEM;
    }
    return 0;
}

static int add_columns(struct table *table, const struct node_set *nodes)
{
    static const struct {
        const char *title;
        enum table_align align;
    } first[] = {{"RANGE", TABLE_LEFT},
                 {"SIZE", TABLE_RIGHT},
                 {"PAGE", TABLE_RIGHT},
                 {"POLICY", TABLE_LEFT}},
      last[] = {{"THREADS", TABLE_RIGHT}, {"ON", TABLE_LEFT},   {"BUSIEST", TABLE_LEFT},
                {"SCANS", TABLE_RIGHT},   {"AGO", TABLE_RIGHT}, {"VERDICT", TABLE_LEFT},
                {"NAME", TABLE_LEFT}};
    int r = 0;

    for (size_t i = 0; !r && i < ARRAY_LENGTH(first); i++)
        r = table_add_column(table, first[i].align, "%s", first[i].title);
    for (size_t i = 0; !r && i < nodes->n_ids; i++)
        r = table_add_column(table, TABLE_RIGHT, "NODE%d", nodes->ids[i]);
    for (size_t i = 0; !r && i < ARRAY_LENGTH(last); i++)
        r = table_add_column(table, last[i].align, "%s", last[i].title);
    return r;
}

static int add_range_cells(struct table *table, const struct vma_report *report)
{
    char range[40], size[TEXT_SIZE], page[TEXT_SIZE], policy[4 * sizeof report->policy + 1];
    int r;

    snprintf(range, sizeof range, "%" PRIx64 "-%" PRIx64, report->start, report->end);
    r = table_add_cell(table, range);
    if (!r)
        r = table_add_cell(table, text_bytes(size, report->end - report->start));
    if (!r)
        r = table_add_cell(table, report->page_bytes ? text_bytes(page, report->page_bytes) : "-");
    return r ? r : table_add_cell(table, text_escape(policy, sizeof policy, report->policy));
}

static uint64_t bytes_on(const struct node_list *nodes, int node)
{
    for (unsigned i = 0; i < nodes->n_items; i++)
        if (nodes->items[i].node == node)
            return nodes->items[i].bytes;
    return 0;
}

static int add_node_cells(struct table *table, const struct node_set *nodes,
                          const struct vma_report *report)
{
    char text[TEXT_SIZE];
    int r = 0;

    for (size_t i = 0; !r && i < nodes->n_ids; i++)
        r = table_add_cell(table, report->nodes_known
                                      ? text_bytes(text, bytes_on(&report->nodes, nodes->ids[i]))
                                      : "-");
    return r;
}

/* "0:2 1:1": threads by node. */
static const char *format_thread_nodes(char *text, size_t size, const struct vma_report *report)
{
    size_t used = 0;

    snprintf(text, size, "-");
    for (unsigned i = 0; i < report->thread_nodes.n_items && used < size; i++)
        used +=
            (size_t)snprintf(&text[used], size - used, "%s%d:%u", i ? " " : "",
                             report->thread_nodes.items[i].node, report->thread_nodes.items[i].n);
    return text;
}

static const char *format_busiest(char *text, size_t size, const struct vma_report *report)
{
    char comm[4 * sizeof report->threads.items[0].comm + 1];
    size_t used = 0;

    snprintf(text, size, "-");
    for (unsigned i = 0; i < report->threads.n_items && used < size; i++) {
        const struct thread_name *thread = &report->threads.items[i];

        text_escape(comm, sizeof comm, thread->comm);
        used +=
            (size_t)snprintf(&text[used], size - used, "%s%s", i ? ", " : "", comm[0] ? comm : "?");
    }
    return text;
}

static int add_thread_cells(struct table *table, const struct vma_report *report)
{
    char count[TEXT_SIZE], nodes[256], busiest[1024];
    int r;

    snprintf(count, sizeof count, "%u", report->n_threads);
    r = table_add_cell(table, count);
    if (!r)
        r = table_add_cell(table, format_thread_nodes(nodes, sizeof nodes, report));
    return r ? r : table_add_cell(table, format_busiest(busiest, sizeof busiest, report));
}

static int add_verdict_cells(struct table *table, const struct vma_report *report)
{
    char scans[TEXT_SIZE], ago[TEXT_SIZE] = "-", text[NAME_TEXT_SIZE];
    int r;

    snprintf(scans, sizeof scans, "%u", report->n_scans);
    if (report->scanned_ago_sec >= 0)
        text_duration(ago, (uint64_t)report->scanned_ago_sec);
    r = table_add_cell(table, scans);
    if (!r)
        r = table_add_cell(table, ago);
    if (!r)
        r = table_add_cell(table, text_escape(text, sizeof text, report->verdict));
    return r ? r
             : table_add_cell(table,
                              report->name[0] ? text_escape(text, sizeof text, report->name) : "-");
}

/* Nobody was seen to use it, and nothing was done about it. */
static bool is_dull(const struct vma_report *report)
{
    for (enum reason reason = 0; reason < REASON_COUNT; reason++)
        if (report->ranges.n[reason])
            return false;
    return !report->n_threads && !report->moved_bytes;
}

static int add_rows(struct table *table, const struct vma_reports *reports,
                    const struct node_set *nodes, bool all)
{
    int r = 0;

    for (size_t i = 0; !r && i < reports->n_items; i++) {
        const struct vma_report *report = &reports->items[i];

        if (!all && is_dull(report))
            continue;
        r = add_range_cells(table, report);
        if (!r)
            r = add_node_cells(table, nodes, report);
        if (!r)
            r = add_thread_cells(table, report);
        if (!r)
            r = add_verdict_cells(table, report);
    }
    return r;
}

static void print_process(FILE *file, const struct vmas_page *page)
{
    const struct process_report *process = &page->process;
    char comm[4 * sizeof process->comm + 1], rss[TEXT_SIZE], state[128];

    fprintf(file, "process %d %s  %s resident, %u threads, %zu VMAs, %s\n", process->pid,
            text_escape(comm, sizeof comm, process->comm), text_bytes(rss, process->rss_bytes),
            process->n_threads, page->vmas.n_items,
            text_escape(state, sizeof state, process->state));
}

/* "312 more, 1.2 GiB, that nobody was seen to use: few_samples 108, shared_ro 204 (--all ...)" */
static void print_rest(FILE *file, const struct vma_reports *reports)
{
    struct reason_counts counts = {{0}};
    const char *separator = ":";
    char bytes[TEXT_SIZE];
    uint64_t sum = 0, n = 0;

    for (size_t i = 0; i < reports->n_items; i++) {
        const struct vma_report *report = &reports->items[i];

        if (!is_dull(report))
            continue;
        n++;
        sum += report->end - report->start;
        for (enum reason reason = 0; reason < REASON_COUNT; reason++)
            counts.n[reason] += !strcmp(reason_name(reason), report->reason);
    }
    if (!n)
        return;
    fprintf(file, "%" PRIu64 " more, %s, that nobody was seen to use", n, text_bytes(bytes, sum));
    for (enum reason reason = 0; reason < REASON_COUNT; reason++) {
        if (!counts.n[reason])
            continue;
        fprintf(file, "%s %s %" PRIu64, separator, reason_name(reason), counts.n[reason]);
        separator = ",";
    }
    fputs(" (--all lists them)\n", file);
}

int vma_listing_print(FILE *file, const struct vmas_page *page, const struct node_set *nodes,
                      bool all)
{
    struct table table = TABLE_NULL;
    int r = add_columns(&table, nodes);

    print_process(file, page);
    if (!r)
        r = add_rows(&table, &page->vmas, nodes, all);
    if (!r)
        table_print(&table, file);
    if (!r && !all)
        print_rest(file, &page->vmas);
    table_deinit(&table);
    return r;
}
