#pragma once
/*
 * A process on a model machine with nodes 0 to 2 whose pages are handed to pages_move.
 */
#include "migrate/pages.h"
#include "model_machine.h"

#define PAGES_BED_PID 100
#define PAGES_BED_MAX 4096

struct pages_bed {
    struct model model;
    struct model_process *process;
    struct model_vma *vma;
    struct page_to_move pages[PAGES_BED_MAX];
    int before[PAGES_BED_MAX], at[PAGES_BED_MAX];
    size_t n;
    struct ledger ledger;
};

/* n pages on node 0, all in one mapping. */
void pages_bed_init(struct pages_bed *bed, size_t n);
int pages_bed_setup(void **state);
int pages_bed_teardown(void **state);

int pages_bed_move(struct pages_bed *bed, int node);
/* What holds after every call, whatever happened. */
void pages_bed_check(const struct pages_bed *bed);
void pages_bed_assert(const struct pages_bed *bed, uint64_t moved, uint64_t failed,
                      uint64_t absent);

/* Pages that failed with this errno. */
uint64_t ledger_failed_with(const struct ledger *ledger, int error);
