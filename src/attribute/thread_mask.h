#pragma once
/*
 * Masks of threads by slot, beside the ranges. There are many of them, so that they keep their
 * width: slots beyond it share bits, which can only make more memory count as a thread's own.
 */
#include "numabd/attribute.h"

static inline void thread_mask_set(struct thread_mask *mask, unsigned slot)
{
    mask->words[slot % THREAD_MASK_BITS / 64] |= UINT64_C(1) << (slot % 64);
}

static inline void thread_mask_clear(struct thread_mask *mask, unsigned slot)
{
    mask->words[slot % THREAD_MASK_BITS / 64] &= ~(UINT64_C(1) << (slot % 64));
}

static inline bool thread_mask_overlaps(const struct thread_mask *a, const struct thread_mask *b)
{
    for (size_t i = 0; i < THREAD_MASK_BITS / 64; i++)
        if (a->words[i] & b->words[i])
            return true;
    return false;
}

static inline unsigned thread_mask_count(const struct thread_mask *mask)
{
    unsigned n = 0;

    for (size_t i = 0; i < THREAD_MASK_BITS / 64; i++)
        n += (unsigned)__builtin_popcountll(mask->words[i]);
    return n;
}
