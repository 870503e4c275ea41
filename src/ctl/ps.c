/*
 * numabctl ps
 *
 * With --watch one table goes on for ever: a row a process and tick. A new node gives it a new
 * column and a new header; the columns of nodes that emptied stay, so that their going to 0 is
 * seen.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ctl/verbs.h"
#include "report/json.h"
#include "report/listing.h"
#include "report/wire.h"
#include "util/nsec.h"
#include "util/procfs.h"

struct ps {
    const struct ctl_options *options;
    struct node_set nodes;
    struct table table;
};

static void ps_deinit(struct ps *ps)
{
    node_set_deinit(&ps->nodes);
    table_deinit(&ps->table);
}

/* Nodes with memory have a column even while no process is on them. Without the file: only those.
 */
static int add_memory_nodes(struct node_set *nodes)
{
    CLEANUP(freep) char *text = NULL;
    size_t size;
    int r = procfs_read("/", "sys/devices/system/node/has_memory", &text, &size);

    if (r == 0)
        r = node_set_add_list(nodes, text);
    return r == -ENOMEM ? r : 0;
}

static int add_columns(struct ps *ps)
{
    return ps->options->watch_nsec ? listing_add_watch_columns(&ps->table, &ps->nodes)
                                   : listing_add_ps_columns(&ps->table, &ps->nodes);
}

/* Makes the table anew when there are nodes that it has no column for. */
static int fit_table(struct ps *ps, const struct process_reports *reports)
{
    size_t n_before = ps->nodes.n_ids;
    int r = node_set_add_reports(&ps->nodes, reports);

    if (r < 0)
        return r;
    if (ps->table.n_columns && ps->nodes.n_ids == n_before)
        return 0;
    table_deinit(&ps->table);
    return add_columns(ps);
}

static void format_time(char *text, size_t size)
{
    struct timespec now;
    struct tm local = {0};
    char clock[16];

    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    strftime(clock, sizeof clock, "%H:%M:%S", &local);
    snprintf(text, size, "%s.%ld", clock, now.tv_nsec / 100000000);
}

/* Once: the largest first. Again and again: by pid, so that rows keep their places. */
static int by_rss(const void *left, const void *right)
{
    const struct process_report *a = left, *b = right;

    if (a->rss_bytes != b->rss_bytes)
        return a->rss_bytes > b->rss_bytes ? -1 : 1;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int by_pid(const void *left, const void *right)
{
    const struct process_report *a = left, *b = right;

    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static void sort(const struct ps *ps, struct process_reports *reports)
{
    if (reports->n_items)
        qsort(reports->items, reports->n_items, sizeof *reports->items,
              ps->options->watch_nsec ? by_pid : by_rss);
}

static int print_table(struct ps *ps, const struct process_reports *reports)
{
    char time[32];
    int r = fit_table(ps, reports);

    if (r < 0)
        return r;
    format_time(time, sizeof time);
    r = ps->options->watch_nsec ? listing_add_watch_rows(&ps->table, &ps->nodes, reports, time)
                                : listing_add_ps_rows(&ps->table, &ps->nodes, reports);
    if (r == 0)
        table_print(&ps->table, stdout);
    return r;
}

static void print_json(const struct process_reports *reports)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    printf("{\"time_sec\":%lld.%03ld,\"processes\":", (long long)now.tv_sec, now.tv_nsec / 1000000);
    json_print_processes(stdout, reports);
    puts("}");
}

static int print_processes(sd_bus_message *reply, void *userdata)
{
    struct process_reports reports = {0};
    struct ps *ps = userdata;
    int r = wire_read_processes(reply, &reports);

    sort(ps, &reports);
    if (r == 0 && ps->options->json)
        print_json(&reports);
    else if (r == 0)
        r = print_table(ps, &reports);
    process_reports_deinit(&reports);
    return r;
}

/* Sleeps to a point of time and not for a time, so that ticks do not drift. */
static void sleep_until(uint64_t nsec)
{
    struct timespec when = {
        .tv_sec = (time_t)(nsec / NSEC_PER_SEC),
        .tv_nsec = (long)(nsec % NSEC_PER_SEC),
    };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
        ;
}

int verb_ps(const struct ctl_options *options)
{
    struct ps ps = {.options = options, .table = TABLE_NULL};
    uint64_t tick = nsec_now();
    int r = add_memory_nodes(&ps.nodes) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;

    while (r == EXIT_SUCCESS) {
        /* A connection a tick: the daemon closes idle ones, and may be restarted in between. */
        r = verb_ask(options, "Processes", print_processes, &ps);
        if (!options->watch_nsec)
            break;
        if (r == EXIT_SUCCESS)
            sleep_until(tick += options->watch_nsec);
    }
    ps_deinit(&ps);
    return r;
}
