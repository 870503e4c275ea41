#include "pages_bed.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <numaif.h>
#include <stdlib.h>

static const struct model_shape three_nodes = {
    .n_nodes = 4, .cpus = {1, 1, 1, 1}, .memory_mib = {256, 256, 256, 0}};

void pages_bed_init(struct pages_bed *bed, size_t n)
{
    *bed = (struct pages_bed){.n = n};
    model_init(&bed->model, &three_nodes, 1);
    bed->process = model_add_process(&bed->model, PAGES_BED_PID, "target");
    bed->vma = model_add_vma(&bed->model, bed->process, n, 0);
    for (size_t i = 0; i < n; i++)
        bed->pages[i] = (struct page_to_move){
            .addr = (void *)(uintptr_t)(bed->vma->start + i * MODEL_PAGE_BYTES), .n_pages = 1};
}

int pages_bed_setup(void **state)
{
    *state = calloc(1, sizeof(struct pages_bed));
    return *state ? 0 : -1;
}

int pages_bed_teardown(void **state)
{
    model_deinit(&((struct pages_bed *)*state)->model);
    free(*state);
    return 0;
}

void pages_bed_check(const struct pages_bed *bed)
{
    const struct ledger *ledger = &bed->ledger;
    uint64_t n_failed = 0;

    assert_int_equal(ledger->n_tried, ledger->n_moved + ledger->n_failed + ledger->n_absent);
    for (unsigned i = 0; i < ledger->n_errnos; i++)
        n_failed += ledger->failed[i].n;
    assert_int_equal(n_failed, ledger->n_failed);
    for (size_t i = 0; i < bed->n; i++)
        if (bed->at[i] != bed->vma->pages[i].at)
            fail_msg("page %zu: at %d, not %d", i, bed->vma->pages[i].at, bed->at[i]);
}

int pages_bed_move(struct pages_bed *bed, int node)
{
    struct host host = model_host(&bed->model);
    const struct pages_owner owner = {.host = &host, .pid = PAGES_BED_PID, .flags = MPOL_MF_MOVE};

    return pages_move(&owner, bed->pages, bed->n, node, bed->before, bed->at, &bed->ledger);
}

uint64_t ledger_failed_with(const struct ledger *ledger, int error)
{
    for (unsigned i = 0; i < ledger->n_errnos; i++)
        if (ledger->failed[i].error == error)
            return ledger->failed[i].n;
    return 0;
}

void pages_bed_assert(const struct pages_bed *bed, uint64_t moved, uint64_t failed, uint64_t absent)
{
    assert_int_equal(bed->ledger.n_moved, moved);
    assert_int_equal(bed->ledger.n_failed, failed);
    assert_int_equal(bed->ledger.n_absent, absent);
}
