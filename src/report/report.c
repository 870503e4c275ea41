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

void vma_reports_deinit(struct vma_reports *reports)
{
    for (size_t i = 0; i < reports->n_items; i++) {
        free(reports->items[i].nodes.items);
        free(reports->items[i].thread_nodes.items);
    }
    free(reports->items);
    *reports = (struct vma_reports){0};
}

void vmas_page_deinit(struct vmas_page *page)
{
    free(page->process.nodes.items);
    vma_reports_deinit(&page->vmas);
    *page = (struct vmas_page){0};
}
