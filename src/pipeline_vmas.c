/*
 * The VMAs of one process for users, a page at a time.
 *
 * The loop must not be held, so each page does bounded work: VMAS_PAGE_ROWS rows, one walk over the
 * ranges of the space (RANGES_MAX at most), and PAGE_NAMES_MAX small files of /proc for the names
 * of threads, which no lock of the target's memory can block.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attribute/ranges.h"
#include "attribute/scans.h"
#include "attribute/slabs.h"
#include "attribute/slots.h"
#include "attribute/space_scan.h"
#include "attribute/vma_names.h"
#include "attribute/vma_pages.h"
#include "attribute/vmas.h"
#include "pipeline_state.h"
#include "report/vma_verdict.h"
#include "util/array.h"
#include "util/nsec.h"
#include "util/procfs.h"

/* Then the page ends: 20 us a file on a quiet host. */
#define PAGE_NAMES_MAX 64

/* What a bit of the masks stands for: its busiest thread, the others count as that one. */
struct user {
    const struct thread *thread; /* NULL: it has gone */
    bool named;
    char comm[64];
};

struct pager {
    const struct pipeline *pipeline;
    const struct space *space;
    uint64_t now;
    struct user *users; /* [n_bits] */
    unsigned n_bits;
    unsigned *by_node; /* [n_node_ids], 0 between rows */
    unsigned n_named;  /* files read */
    size_t first;      /* index of the first VMA of the page */
};

static void pager_deinit(struct pager *pager)
{
    free(pager->users);
    free(pager->by_node);
}

static int pager_init(struct pager *pager, const struct pipeline *pipeline,
                      const struct space *space, uint64_t now)
{
    struct thread *thread, *next;

    *pager = (struct pager){.pipeline = pipeline, .space = space, .now = now};
    pager->n_bits = 64 * space->scans->n_words;
    pager->users = calloc(pager->n_bits, sizeof *pager->users);
    pager->by_node = calloc((size_t)pipeline->options.topology->n_node_ids, sizeof *pager->by_node);
    if (!pager->users || !pager->by_node)
        return -ENOMEM;
    HASH_ITER (hh, space->threads, thread, next) {
        unsigned bit = scan_filter_bit(&space->scans->filter, thread->tid, thread->slot);
        struct user *user = &pager->users[bit % pager->n_bits];

        if (!user->thread || user->thread->busy_sec < thread->busy_sec)
            user->thread = thread;
    }
    return 0;
}

/* A thread that has ended meanwhile has no name. */
static void user_read_name(struct pager *pager, struct user *user)
{
    CLEANUP(freep) char *text = NULL;
    char path[64];
    size_t size;

    if (user->named || !pager->pipeline->options.root)
        return;
    user->named = true;
    pager->n_named++;
    snprintf(path, sizeof path, "proc/%d/task/%d/comm", pager->space->pid, user->thread->tid);
    if (procfs_read(pager->pipeline->options.root, path, &text, &size))
        return;
    if (size && text[size - 1] == '\n')
        text[size - 1] = '\0';
    snprintf(user->comm, sizeof user->comm, "%s", text);
}

/* The users with most CPU time, most first. Return: how many. */
static unsigned keep_busiest(struct user *busiest[THREAD_NAMES_MAX], unsigned n, struct user *user)
{
    unsigned at = n < THREAD_NAMES_MAX ? n : THREAD_NAMES_MAX - 1;

    if (n == THREAD_NAMES_MAX && busiest[at]->thread->busy_sec >= user->thread->busy_sec)
        return n;
    while (at > 0 && busiest[at - 1]->thread->busy_sec < user->thread->busy_sec) {
        busiest[at] = busiest[at - 1];
        at--;
    }
    busiest[at] = user;
    return n < THREAD_NAMES_MAX ? n + 1 : n;
}

static int row_add_thread_nodes(struct pager *pager, struct vma_report *row)
{
    int n_node_ids = pager->pipeline->options.topology->n_node_ids;
    size_t cap = 0;

    for (int node = 0; node < n_node_ids; node++) {
        struct node_threads_list *list = &row->thread_nodes;

        if (!pager->by_node[node])
            continue;
        if (ARRAY_RESERVE(list->items, cap, list->n_items + 1u) < 0)
            return -ENOMEM;
        list->items[list->n_items++] =
            (struct node_threads){.node = node, .n = pager->by_node[node]};
        pager->by_node[node] = 0;
    }
    return 0;
}

static int row_add_threads(struct pager *pager, struct vma_report *row, const struct recent *recent)
{
    struct user *busiest[THREAD_NAMES_MAX];
    unsigned n = 0;

    row->n_threads = recent_count(recent);
    for (unsigned bit = 0; row->n_threads && bit < pager->n_bits; bit++) {
        struct user *user = &pager->users[bit];

        if (!user->thread || !recent_has(recent, bit))
            continue;
        n = keep_busiest(busiest, n, user);
        pager->by_node[user->thread->node]++;
    }
    for (unsigned i = 0; i < n; i++) {
        struct thread_name *name = &row->threads.items[i];

        user_read_name(pager, busiest[i]);
        name->tid = busiest[i]->thread->tid;
        snprintf(name->comm, sizeof name->comm, "%s", busiest[i]->comm);
    }
    row->threads.n_items = n;
    return row_add_thread_nodes(pager, row);
}

static int by_node(const void *left, const void *right)
{
    const struct node_bytes *a = left, *b = right;

    return a->node < b->node ? -1 : a->node > b->node;
}

static int row_add_pages(const struct pager *pager, struct vma_report *row, const struct vma *vma)
{
    const struct vma_pages_line *line = vma_pages_find(&pager->space->pages, vma);
    uint64_t page_bytes = pager->pipeline->options.host->page_bytes;

    if (!line)
        return 0;
    row->nodes_known = true;
    row->page_bytes = line->page_shift ? UINT64_C(1) << line->page_shift : 0;
    if (!line->n_nodes)
        return 0;
    row->nodes.items = calloc(line->n_nodes, sizeof *row->nodes.items);
    if (!row->nodes.items)
        return -ENOMEM;
    for (unsigned i = 0; i < line->n_nodes; i++) {
        const struct node_pages *node = &pager->space->pages.nodes[line->first + i];

        row->nodes.items[row->nodes.n_items++] =
            (struct node_bytes){.node = node->node, .bytes = node->n * page_bytes};
    }
    qsort(row->nodes.items, row->nodes.n_items, sizeof *row->nodes.items, by_node);
    return 0;
}

static int row_add_scan(struct pager *pager, struct vma_report *row, size_t index)
{
    const struct vma_scan *scan = space_scan_of(pager->space, index);

    row->scanned_ago_sec = -1;
    snprintf(row->scan, sizeof row->scan, "%s",
             scan_verdict_name(scan ? scan->verdict : SCAN_UNJUDGED));
    if (!scan)
        return 0;
    row->n_scans = scan->state.n_complete;
    row->moved_bytes = scan->moved_bytes;
    if (scan->finished_nsec && scan->finished_nsec <= pager->now)
        row->scanned_ago_sec = (int)((pager->now - scan->finished_nsec) / NSEC_PER_SEC);
    return row_add_threads(pager, row, &scan->state.recent);
}

/* hugetlb is no policy, though numa_maps is where it shows. */
static const char *policy_name(enum reason policy)
{
    return policy == REASON_NONE || policy == REASON_HUGETLB ? "default" : reason_name(policy);
}

static int pager_add_row(struct pager *pager, struct vma_reports *rows, size_t index)
{
    const struct vma_list *vmas = &pager->space->vmas;
    const struct vma *vma = &vmas->items[index];
    struct vma_report *row;
    int r;

    if (ARRAY_RESERVE(rows->items, rows->cap, rows->n_items + 1) < 0)
        return -ENOMEM;
    row = &rows->items[rows->n_items++];
    *row = (struct vma_report){.start = vma->start, .end = vma->end};
    snprintf(row->name, sizeof row->name, "%s", vma_names_at(&vmas->names, vma->name));
    snprintf(row->policy, sizeof row->policy, "%s", policy_name(vma->policy));
    r = row_add_pages(pager, row, vma);
    return r < 0 ? r : row_add_scan(pager, row, index);
}

/* The index of the first VMA that starts at `from` or above. */
static size_t find_first(const struct vma_list *vmas, uint64_t from)
{
    size_t low = 0, high = vmas->n_items;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (vmas->items[middle].start < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int pager_add_rows(struct pager *pager, uint64_t from, struct vmas_page *page)
{
    const struct vma_list *vmas = &pager->space->vmas;
    size_t i = pager->first = find_first(vmas, from);
    int r = 0;

    for (; !r && i < vmas->n_items && page->vmas.n_items < VMAS_PAGE_ROWS &&
           pager->n_named < PAGE_NAMES_MAX;
         i++)
        r = pager_add_row(pager, &page->vmas, i);
    if (i < vmas->n_items && i > pager->first)
        page->next = vmas->items[i - 1].end;
    return r;
}

static void pager_count_ranges(const struct pager *pager, struct vma_reports *rows)
{
    struct vma_list part = {.items = &pager->space->vmas.items[pager->first],
                            .n_items = rows->n_items};
    struct range *range, *next;

    if (!rows->n_items)
        return;
    HASH_ITER (hh, pager->space->ranges, range, next) {
        const struct vma *vma = vma_list_find(&part, range->start);

        if (vma)
            rows->items[vma - part.items].ranges.n[range->verdict]++;
    }
}

/* Slabs that lie well are never decided about. */
static enum reason slab_verdict(const struct range *slab, int node)
{
    return range_resident_share(slab, node) == 1 ? REASON_LOCAL : slab->verdict;
}

/* Memory without ranges counts by what its slabs stand for, in units of a range. */
static void pager_count_slabs(const struct pager *pager, struct vma_reports *rows)
{
    struct vma_list part = {.items = &pager->space->vmas.items[pager->first],
                            .n_items = rows->n_items};
    struct range *slab, *next;

    if (!rows->n_items)
        return;
    HASH_ITER (hh, pager->space->groups[SLAB_LEVEL], slab, next) {
        const struct vma *vma = vma_list_find(&part, slab->start);
        int node = vma ? slab_node(pager->space, slab) : -1;

        if (node >= 0)
            rows->items[vma - part.items].ranges.n[slab_verdict(slab, node)] +=
                slab_bytes(pager->space, slab, node) / RANGE_BYTES;
    }
}

static void pager_judge(const struct pager *pager, struct vma_reports *rows)
{
    pager_count_ranges(pager, rows);
    pager_count_slabs(pager, rows);
    for (size_t i = 0; i < rows->n_items; i++) {
        const struct vma *vma = &pager->space->vmas.items[pager->first + i];
        const struct vma_scan *scan = space_scan_of(pager->space, pager->first + i);
        bool is_sampled = false;
        enum reason barred = vma->kind != REASON_NONE ? vma->kind : vma->policy;

        for (enum reason reason = 0; reason < REASON_COUNT; reason++)
            is_sampled |= rows->items[i].ranges.n[reason] > 0;
        /* Ranges tell more than that a policy is not known yet. */
        if (barred == REASON_POLICY_UNKNOWN && is_sampled)
            barred = REASON_NONE;
        vma_verdict_fill(&rows->items[i], barred, scan ? scan->verdict : SCAN_UNJUDGED);
    }
}

static int fill_page(const struct pipeline *pipeline, const struct space *space,
                     const struct vmas_query *query, uint64_t now, struct vmas_page *page)
{
    CLEANUP(pager_deinit) struct pager pager;
    int r = pager_init(&pager, pipeline, space, now);

    if (!r)
        r = pager_add_rows(&pager, query->from, page);
    if (!r)
        pager_judge(&pager, &page->vmas);
    page->generation = space->generation;
    return r;
}

int pipeline_vmas(const struct pipeline *pipeline, uid_t uid, const struct vmas_query *query,
                  uint64_t now, struct vmas_page *page)
{
    const struct target *target = discover_find(pipeline->discover, query->pid);
    const struct space *space;
    int r;

    if (!target)
        return VMAS_UNKNOWN;
    if (uid != 0 && target->process.uid != uid)
        return VMAS_FOREIGN;
    if (target->reason == REASON_NONE && !pidref_is_alive(&target->ref))
        return VMAS_UNKNOWN;
    r = pipeline_fill_process(pipeline, target, &page->process);
    if (r < 0)
        return r;
    if (target->reason != REASON_NONE)
        return VMAS_LEFT_ALONE;
    space = attribute_find(pipeline->attribute, query->pid);
    if (space && space->start_ticks != target->process.start_ticks)
        return VMAS_UNKNOWN;
    return space ? fill_page(pipeline, space, query, now, page) : 0;
}
