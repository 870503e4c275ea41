/*
 * PAGEMAP_SCAN as in fs/proc/task_mmu.c of Linux 6.12: do_pagemap_scan().
 */
#include <errno.h>

#include "model_machine.h"

static const struct model_page *page_at(const struct model_process *process, uint64_t addr)
{
    for (size_t i = 0; i < process->n_vmas; i++) {
        const struct model_vma *vma = &process->vmas[i];

        if (addr >= vma->start && addr < vma->start + vma->n_pages * MODEL_PAGE_BYTES)
            return &vma->pages[(addr - vma->start) / MODEL_PAGE_BYTES];
    }
    return NULL;
}

static uint64_t kinds_of(const struct model_page *page)
{
    uint64_t kinds = PAGE_PRESENT;

    if (!page || page->at == -ENOENT)
        return 0;
    if (page->at == -EFAULT)
        kinds |= PAGE_ZERO;
    if (page->flags & MODEL_PAGE_HUGE)
        kinds |= PAGE_HUGE;
    return kinds;
}

long model_scan_pages(void *self, pid_t pid, int *fdp, struct page_scan *scan)
{
    struct model *model = self;
    const struct model_process *process = model_find(model, pid);
    long n = 0;

    (void)fdp;
    if (model->no_scans)
        return -ENOTTY;
    if (!process || process->denied)
        return process ? -EACCES : -ESRCH;
    for (scan->reached = scan->start; scan->reached < scan->end;
         scan->reached += MODEL_PAGE_BYTES) {
        uint64_t at = scan->reached, kinds = kinds_of(page_at(process, at));

        if (!kinds)
            continue;
        if (n && scan->runs[n - 1].end == at && scan->runs[n - 1].kinds == kinds) {
            scan->runs[n - 1].end += MODEL_PAGE_BYTES;
            continue;
        }
        if ((size_t)n == scan->n_runs_max)
            break;
        scan->runs[n++] =
            (struct page_run){.start = at, .end = at + MODEL_PAGE_BYTES, .kinds = kinds};
    }
    return n;
}
