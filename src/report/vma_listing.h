#pragma once
/*
 * What `numabctl vmas` prints: a line on the process, a table of VMAs, and one line that sums up
 * those that nobody was seen to use.
 */
#include <stdio.h>

#include "numabd/report.h"
#include "report/node_set.h"

/* all: every VMA has a line of its own. Return: 0 or -ENOMEM. */
int vma_listing_print(FILE *file, const struct vmas_page *page, const struct node_set *nodes,
                      bool all);
/* Adds every node on which a VMA has memory. Return: 0 or -ENOMEM. */
int vma_listing_add_nodes(struct node_set *set, const struct vma_reports *reports);
