#pragma once
/*
 * Idle batch: page frames in the order of the idle bitmap, so that each word is written and read
 * once. Pure.
 */
#include <stddef.h>
#include <stdint.h>

#include "sample/idle/page_frames.h"

/*
 * Sorts by head, drops frames without one, and keeps one page (the lowest address) of each folio.
 * Return: how many were dropped because nothing can be told of them; the others of a folio are not
 * counted.
 */
size_t idle_batch_order(struct page_frames *frames);

/* The frames items[first..first + n) of an ordered batch that share a word. */
struct idle_word {
    size_t first, n;
    uint64_t word;
    uint64_t mask; /* of the frames' bits */
};

/* The word that begins at `first`; n is 0 at the end. */
struct idle_word idle_batch_word(const struct page_frames *frames, size_t first);

/* The bit of a frame in its word. */
uint64_t idle_batch_bit(const struct page_frame *frame);
