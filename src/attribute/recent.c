/*
 * With two windows a thread is remembered for one to two of them: long enough to be seen again
 * between two samples, and never for good, so that a VMA that changes hands is not scanned for its
 * old users.
 */
#include "attribute/recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void recent_init(struct recent *recent, unsigned n_words)
{
    *recent = (struct recent){.n_words = n_words};
}

void recent_deinit(struct recent *recent)
{
    free(recent->words);
    recent->words = NULL;
}

static int recent_reserve(struct recent *recent)
{
    if (!recent->words)
        recent->words = calloc(2 * (size_t)recent->n_words, sizeof *recent->words);
    return recent->words ? 0 : -ENOMEM;
}

int recent_note(struct recent *recent, unsigned bit)
{
    if (recent_reserve(recent) < 0)
        return -ENOMEM;
    recent->words[bit / 64] |= UINT64_C(1) << (bit % 64);
    return 0;
}

/* In either window. */
static uint64_t either(const struct recent *recent, unsigned word)
{
    return recent->words[word] | recent->words[recent->n_words + word];
}

void recent_rotate(struct recent *recent)
{
    size_t bytes = recent->n_words * sizeof *recent->words;

    if (!recent->words)
        return;
    memcpy(&recent->words[recent->n_words], recent->words, bytes);
    memset(recent->words, 0, bytes);
    if (!recent_count(recent))
        recent_deinit(recent);
}

bool recent_has(const struct recent *recent, unsigned bit)
{
    return recent->words && either(recent, bit / 64) >> (bit % 64) & 1;
}

unsigned recent_count(const struct recent *recent)
{
    unsigned n = 0;

    for (unsigned i = 0; recent->words && i < recent->n_words; i++)
        n += (unsigned)__builtin_popcountll(either(recent, i));
    return n;
}

bool recent_has_any(const struct recent *recent, const uint64_t *bits)
{
    for (unsigned i = 0; recent->words && i < recent->n_words; i++)
        if (either(recent, i) & bits[i])
            return true;
    return false;
}

int recent_merge(struct recent *recent, const struct recent *other)
{
    if (!other->words)
        return 0;
    if (recent_reserve(recent) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < 2 * recent->n_words; i++)
        recent->words[i] |= other->words[i];
    return 0;
}
