#pragma once
/*
 * Moving pages of one process to one node.
 */
#include "numabd/host.h"
#include "numabd/migrate.h"

/* Pages known to refuse, in one call of pages_move, before the rest is left for later. */
#define PAGES_REFUSED_MAX 64

/* Whose pages. is_same: NULL, or asked right before each move: false stops with ESRCH. */
struct pages_owner {
    const struct host *host;
    pid_t pid;
    int flags; /* MPOL_MF_MOVE, or MPOL_MF_MOVE_ALL for memory that others map too */
    bool (*is_same)(const void *userdata);
    const void *userdata;
};

/* An address, and the base pages that move with it: 1, or those of a huge page. */
struct page_to_move {
    void *addr;
    size_t n_pages;
};

/*
 * Moves pages[0..n) to `node` unless they lie there; the ledger counts base pages. at[i] becomes
 * the node where page i lies at the end, or a negative errno for absent pages; before[i] the same
 * at the beginning. Only pages that lie elsewhere are handed to the kernel. Return: 0, or the
 * positive errno of a refused call (what was moved until then is in the ledger).
 */
int pages_move(const struct pages_owner *owner, const struct page_to_move *pages, size_t n,
               int node, int *before, int *at, struct ledger *ledger);
