#pragma once
/*
 * Who used a VMA lately: a bit for each thread slot, in the current mask window and the one before.
 * It takes memory only while any bit is set.
 */
#include <stdbool.h>
#include <stdint.h>

struct recent {
    unsigned n_words; /* 64-bit words of a window */
    uint64_t *words;  /* [2 * n_words] this window, then the one before; NULL: nobody */
};

void recent_init(struct recent *recent, unsigned n_words);
void recent_deinit(struct recent *recent);

/* The thread with this bit, below 64 * n_words, used it now. Return: 0 or -ENOMEM. */
int recent_note(struct recent *recent, unsigned bit);

/* The next window begins. */
void recent_rotate(struct recent *recent);

/* Does the bit stand in either window; in how many places of either; any of bits[n_words]? */
bool recent_has(const struct recent *recent, unsigned bit);
unsigned recent_count(const struct recent *recent);
bool recent_has_any(const struct recent *recent, const uint64_t *bits);

/* Adds the bits of one of the same width. Return: 0 or -ENOMEM. */
int recent_merge(struct recent *recent, const struct recent *other);
