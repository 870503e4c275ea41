#pragma once

/*
 * The inner loops: one load or store of 8 bytes for each word of [word, end), in order.
 *
 * A word holds its own address plus the generation of the sweep that wrote it, so that a page that
 * was lost, swapped for another or taken from an earlier sweep is noticed.
 */

#include <stddef.h>
#include <stdint.h>

#include "options.h"

struct sweep {
    enum access_kind kind;
    uintptr_t expected; /* generation that the words carry */
    uintptr_t next;     /* generation that they get, unless they are only read */
};

void do_read(const uintptr_t *word, const uintptr_t *end);
void do_write(uintptr_t *word, const uintptr_t *end, uintptr_t generation);
void do_mixed(uintptr_t *word, const uintptr_t *end, uintptr_t generation);

/* The same with a check; these return the number of words that were wrong. */
size_t do_check(const uintptr_t *word, const uintptr_t *end, uintptr_t generation);
size_t do_check_mixed(uintptr_t *word, const uintptr_t *end, uintptr_t expected, uintptr_t next);

/* One sweep over [word, end) as SWEEP says. */
void access_plain(const struct sweep *sweep, uintptr_t *word, const uintptr_t *end);
size_t access_checked(const struct sweep *sweep, uintptr_t *word, const uintptr_t *end);
