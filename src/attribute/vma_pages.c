/*
 * Two flat arrays, since most of 65,530 VMAs have pages on one node or none: 16 bytes for a line
 * and 16 for each of its nodes. A line that gets another node by a move takes new entries at the
 * end; the old ones are lost until numa_maps is read again, for each node once at most.
 */
#include "attribute/vma_pages.h"

#include <errno.h>
#include <string.h>

#include "util/array.h"

void vma_pages_deinit(struct vma_pages *pages)
{
    free(pages->lines);
    free(pages->nodes);
    *pages = (struct vma_pages){0};
}

static int add_node(struct vma_pages *pages, int node, double n)
{
    if (ARRAY_RESERVE(pages->nodes, pages->nodes_cap, pages->n_nodes + 1) < 0)
        return -ENOMEM;
    pages->nodes[pages->n_nodes++] =
        (struct node_pages){.node = node, .n = n > 0 ? (uint64_t)n : 0};
    return 0;
}

int vma_pages_add(struct vma_pages *pages, uint64_t start, uint64_t page_bytes, double base_pages,
                  const struct tally *line)
{
    struct vma_pages_line *item;

    if (ARRAY_RESERVE(pages->lines, pages->lines_cap, pages->n_lines + 1) < 0)
        return -ENOMEM;
    item = &pages->lines[pages->n_lines++];
    *item = (struct vma_pages_line){.start = start, .first = (uint32_t)pages->n_nodes};
    for (size_t i = 0; i < line->n_entries; i++) {
        if (add_node(pages, line->entries[i].node, line->entries[i].n * base_pages) < 0)
            return -ENOMEM;
        item->n_nodes++;
    }
    item->page_shift = line->n_entries ? (uint8_t)__builtin_ctzll(page_bytes) : 0;
    return 0;
}

/* The first line that starts at `start` or above. */
static size_t find_index(const struct vma_pages *pages, uint64_t start)
{
    size_t low = 0, high = pages->n_lines;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pages->lines[middle].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct vma_pages_line *vma_pages_find(const struct vma_pages *pages, const struct vma *vma)
{
    size_t i = find_index(pages, vma->start);

    if (i == pages->n_lines || pages->lines[i].start != vma->start)
        return NULL;
    if (i + 1 < pages->n_lines && pages->lines[i + 1].start < vma->end)
        return NULL;
    return &pages->lines[i];
}

/* Makes room for one more node behind the line's own. */
static int line_relocate(struct vma_pages *pages, struct vma_pages_line *line)
{
    size_t first = pages->n_nodes, n = line->n_nodes;

    if (line->first + n == first)
        return 0;
    if (ARRAY_RESERVE(pages->nodes, pages->nodes_cap, first + n) < 0)
        return -ENOMEM;
    memcpy(&pages->nodes[first], &pages->nodes[line->first], n * sizeof *pages->nodes);
    pages->n_nodes += n;
    line->first = (uint32_t)first;
    return 0;
}

/* Without memory the line stays as it was until numa_maps is read again. */
static void line_change(struct vma_pages *pages, struct vma_pages_line *line, int node,
                        double change)
{
    for (size_t i = line->first; i < line->first + line->n_nodes; i++) {
        struct node_pages *known = &pages->nodes[i];

        if (known->node != node)
            continue;
        change += (double)known->n;
        known->n = change > 0 ? (uint64_t)change : 0;
        return;
    }
    if (change <= 0 || line_relocate(pages, line) < 0 || add_node(pages, node, change) < 0)
        return;
    line->n_nodes++;
}

void vma_pages_move(struct vma_pages *pages, uint64_t start, const struct tally *before,
                    const struct tally *after)
{
    size_t i = find_index(pages, start);
    struct vma_pages_line *line;

    if (i == pages->n_lines || pages->lines[i].start != start)
        return;
    line = &pages->lines[i];
    for (size_t n = 0; n < before->n_entries; n++)
        line_change(pages, line, before->entries[n].node, -before->entries[n].n);
    for (size_t n = 0; n < after->n_entries; n++)
        line_change(pages, line, after->entries[n].node, after->entries[n].n);
}
