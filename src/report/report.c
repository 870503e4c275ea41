/*
 * Reports: their memory
 */
#include "numabd/report.h"

#include <stdlib.h>

void process_reports_deinit(struct process_reports *reports)
{
    for (size_t i = 0; i < reports->n_items; i++)
        free(reports->items[i].nodes.items);
    free(reports->items);
    *reports = (struct process_reports){0};
}
