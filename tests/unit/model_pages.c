/*
 * move_pages(2) as in mm/migrate.c of Linux 6.12: do_pages_move(), its groups and statuses.
 *
 * Pages are queued until one cannot be; that one's status is written at once and the group queued
 * before it is migrated. When a group refuses, the call ends: its return value counts the refusing
 * folios and all pages that were not looked at, and neither the group's statuses nor any later ones
 * are written, though the rest of the group has moved.
 */
#include <errno.h>
#include <limits.h>
#include <numaif.h>
#include <string.h>

#include "model_machine.h"
#include "util/array.h"
#include "util/cleanup.h"

struct group {
    struct model_page **folios; /* first pages */
    size_t n_folios;
    size_t start; /* index of the first page of the call that belongs to it */
    int node;     /* -1: no group */
    bool all;     /* MPOL_MF_MOVE_ALL */
};

static struct model_vma *find_vma(struct model_process *process, uint64_t addr)
{
    for (size_t i = 0; i < process->n_vmas; i++) {
        struct model_vma *vma = &process->vmas[i];

        if (addr >= vma->start && addr < vma->start + vma->n_pages * MODEL_PAGE_BYTES)
            return vma;
    }
    return NULL;
}

static struct model_page *find_page(struct model_process *process, uint64_t addr)
{
    struct model_vma *vma = find_vma(process, addr);

    return vma ? &vma->pages[(addr - vma->start) / MODEL_PAGE_BYTES] : NULL;
}

/* The first page of the folio around addr. */
static struct model_page *find_folio(struct model_process *process, uint64_t addr)
{
    struct model_page *page = find_page(process, addr);

    if (page && page->flags & MODEL_PAGE_HUGE)
        page -= (addr / MODEL_PAGE_BYTES) % MODEL_HUGE_PAGES;
    return page;
}

/* Return: 1 when queued, 0 when it is there already, or what its status becomes. */
static int queue_page(struct model_process *process, uint64_t addr, struct group *group)
{
    struct model_page *folio = find_folio(process, addr);

    if (!folio)
        return -EFAULT;
    if (folio->at < 0)
        return folio->at;
    if (folio->at == group->node)
        return 0;
    if (folio->flags & MODEL_PAGE_SHARED && !group->all)
        return -EACCES;
    if (folio->flags & MODEL_PAGE_ISOLATED)
        return -EBUSY;
    folio->flags |= MODEL_PAGE_ISOLATED;
    group->folios[group->n_folios++] = folio;
    return 1;
}

/* Return: 0, 1 when it refuses, or -ENOMEM. */
static int migrate_folio(struct model *model, struct model_page *folio, int node)
{
    size_t n = folio->flags & MODEL_PAGE_HUGE ? MODEL_HUGE_PAGES : 1;

    if (folio->flags & MODEL_PAGE_HELD)
        return 1;
    if (model->free_pages[node] < n)
        return -ENOMEM;
    model->free_pages[node] -= n;
    model->free_pages[folio->at] += n;
    model->n_migrated += n;
    for (size_t i = 0; i < n; i++)
        folio[i].at = node;
    return 0;
}

/* Return: how many folios refused, or -ENOMEM. */
static long migrate_group(struct model *model, struct group *group)
{
    long n_refused = 0;
    int r = 0;

    for (size_t i = 0; i < group->n_folios; i++) {
        if (r >= 0)
            r = migrate_folio(model, group->folios[i], group->node);
        n_refused += r > 0;
        group->folios[i]->flags &= ~(unsigned)MODEL_PAGE_ISOLATED;
    }
    group->n_folios = 0;
    return r < 0 ? r : n_refused;
}

/* move_pages_and_store_status(): pages [group->start, i) of n. */
static long flush_group(struct model *model, struct group *group, int *status, size_t i, size_t n)
{
    long r;

    if (!group->n_folios)
        return 0;
    r = migrate_group(model, group);
    if (r)
        return r > 0 ? r + (long)(n - i) : r;
    for (size_t page = group->start; page < i; page++)
        status[page] = group->node;
    return 0;
}

static bool is_allowed(const struct model_process *process, int node)
{
    char digit[2] = {(char)('0' + node), '\0'};

    /* Lists in the model are of single digits: "0,2". */
    return !process->mems_allowed || strstr(process->mems_allowed, digit);
}

static int check_node(const struct model *model, const struct model_process *process, int node)
{
    if (node < 0 || node >= model->shape.n_nodes || !model->shape.memory_mib[node])
        return -ENODEV;
    return is_allowed(process, node) ? 0 : -EACCES;
}

static long pages_move_to(struct model *model, struct model_process *process, size_t n,
                          void *const *pages, const int *nodes, int *status, bool all)
{
    CLEANUP(freep) struct model_page **folios = calloc(n + 1, sizeof(*folios));
    struct group group = {.folios = folios, .node = -1, .all = all};
    long r;

    for (size_t i = 0; i < n; i++) {
        int refused = check_node(model, process, nodes[i]), queued;

        if (refused) {
            (void)flush_group(model, &group, status, i, n);
            return refused;
        }
        if (group.node != nodes[i]) {
            r = flush_group(model, &group, status, i, n);
            if (r)
                return r;
            group.node = nodes[i];
            group.start = i;
        }
        queued = queue_page(process, (uint64_t)(uintptr_t)pages[i], &group);
        if (queued > 0)
            continue;
        status[i] = queued ? queued : group.node;
        r = flush_group(model, &group, status, i, n);
        if (r) /* page i is accounted for */
            return r > 0 ? r - 1 : r;
        group.node = -1;
    }
    return flush_group(model, &group, status, n, n);
}

static void pages_query(struct model_process *process, size_t n, void *const *pages, int *status)
{
    for (size_t i = 0; i < n; i++) {
        struct model_page *page = find_page(process, (uint64_t)(uintptr_t)pages[i]);

        status[i] = page ? page->at : -EFAULT;
    }
}

static long call_error(struct model *model, pid_t pid)
{
    struct model_process *process = model_find(model, pid);

    if (model->fail_at && !--model->fail_at)
        return -model->fail_error;
    if (!process)
        return -ESRCH;
    return process->denied ? -EPERM : 0;
}

long model_move_pages(void *self, pid_t pid, size_t n, void *const *pages, const int *nodes,
                      int *status, int flags)
{
    struct model *model = self;
    struct model_process *process = model_find(model, pid);
    long r;

    if (model->before_call && process)
        model->before_call(model, process, nodes != NULL);
    r = call_error(model, pid);
    if (!r && nodes && flags != MPOL_MF_MOVE && flags != MPOL_MF_MOVE_ALL)
        r = -EINVAL;
    if (!r && nodes && flags == MPOL_MF_MOVE_ALL && model->no_move_all)
        r = -EPERM;
    if (!r && nodes)
        r = pages_move_to(model, model_find(model, pid), n, pages, nodes, status,
                          flags == MPOL_MF_MOVE_ALL);
    else if (!r)
        pages_query(process, n, pages, status);
    model_log_call(model, nodes ? MODEL_CALL_MOVE : MODEL_CALL_QUERY, pid, n, r);
    return r;
}
