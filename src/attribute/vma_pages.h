#pragma once
/*
 * Where each VMA's pages lie, as the last numa_maps told, and as numabd moved them since.
 */
#include "attribute/tally.h"

void vma_pages_deinit(struct vma_pages *pages);

/*
 * The next line, in ascending order of addresses: pages by node, each of `base_pages` base pages,
 * and their size; a line without pages tells no size.
 * Return: 0 or -ENOMEM.
 */
int vma_pages_add(struct vma_pages *pages, uint64_t start, uint64_t page_bytes, double base_pages,
                  const struct tally *line);

/* The line of this VMA; NULL: there is none, or it is one of several (numa_maps shows no ends). */
const struct vma_pages_line *vma_pages_find(const struct vma_pages *pages, const struct vma *vma);

/* Pages of the VMA that starts at `start` moved: by node before and after. */
void vma_pages_move(struct vma_pages *pages, uint64_t start, const struct tally *before,
                    const struct tally *after);
