#pragma once
/*
 * Soft-dirty: does this kernel tell which pages were written since the last clear? Tried on pages
 * of our own, for it is an option of the kernel, and some machines gave wrong answers (POWER9).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "numabd/sample.h"

/* The pages that are tried; a test puts a model behind it. */
struct soft_dirty_ops {
    /* Clears the bits of all pages. Return: 0 or a negative errno. */
    int (*clear)(void *self);
    void (*write)(void *self, size_t page);
    /* Return: 0 or a negative errno. */
    int (*read)(void *self, size_t page, bool *is_dirtyp);
    uint64_t (*cpu_nsec)(void *self); /* CPU time of this thread */
};

struct soft_dirty_pages {
    const struct soft_dirty_ops *ops;
    void *self;
    size_t n_pages; /* at least 2 */
};

/*
 * Writes, clears and reads, SOFT_DIRTY_ROUNDS times, every second page only. *fault_secp: CPU time
 * of one write that faults. Return: 0, or SOURCE_UNAVAILABLE with the reason.
 */
#define SOFT_DIRTY_ROUNDS 16
int soft_dirty_test(const struct soft_dirty_pages *pages, double *fault_secp,
                    struct source_reason *reason);

/* The same on the live machine. Return: as above, or -ENOMEM. */
int soft_dirty_test_live(double *fault_secp, struct source_reason *reason);
