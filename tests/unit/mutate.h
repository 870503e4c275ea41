#pragma once
/*
 * Seeded mutation of text, for parsers: the same seed gives the same run on every machine.
 */
#include <stddef.h>
#include <stdint.h>

struct mutate {
    uint64_t state;
};

/* "-s SEED" of the test's arguments, or the default; printed in any case. */
struct mutate mutate_init(int argc, char **argv);

/* A number below `n`, which is not 0. */
size_t mutate_below(struct mutate *mutate, size_t n);

/*
 * A copy of `text` with one to four changes (bytes replaced, inserted, removed, doubled, cut), in a
 * buffer of exactly *sizep bytes, so that a sanitizer sees any read beyond it. To be freed.
 */
char *mutate_copy(struct mutate *mutate, const char *text, size_t *sizep);
