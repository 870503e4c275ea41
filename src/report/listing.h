#pragma once
/*
 * Listings: what `numabctl status` and `numabctl ps` print.
 */
#include <stdio.h>

#include "numabd/report.h"
#include "report/node_set.h"
#include "report/table.h"

/* Three lines and more: identity, effect and cost, processes; why, pages, reasons where there are.
 */
void listing_print_status(FILE *file, const struct status_report *report);

/* The columns of ps, one for each node. Return: 0 or -ENOMEM. */
int listing_add_ps_columns(struct table *table, const struct node_set *nodes);
int listing_add_ps_rows(struct table *table, const struct node_set *nodes,
                        const struct process_reports *reports);

/* The columns of ps --watch: MiB on each node over time. Return: 0 or -ENOMEM. */
int listing_add_watch_columns(struct table *table, const struct node_set *nodes);
int listing_add_watch_rows(struct table *table, const struct node_set *nodes,
                           const struct process_reports *reports, const char *time);
