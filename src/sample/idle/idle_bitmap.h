#pragma once
/*
 * Idle bitmap: /sys/kernel/mm/page_idle/bitmap, one bit for each page frame, in 64-bit words of the
 * machine's own byte order. A set bit says that the page was not touched since it was set.
 */
#include <stdint.h>

#include "numabd/host.h"

#define IDLE_BITMAP_PATH "sys/kernel/mm/page_idle/bitmap"
#define IDLE_WORD_FRAMES 64 /* frame PFN is bit PFN % 64 of word PFN / 64 */

struct idle_bitmap {
    int read_fd, write_fd; /* -1: not open yet */
};

#define IDLE_BITMAP_NULL ((struct idle_bitmap){.read_fd = -1, .write_fd = -1})

void idle_bitmap_deinit(struct idle_bitmap *bitmap);

/*
 * Reads a word. Frames beyond the end of memory, tails, and pages on no LRU list read as 0, as
 * touched ones do. Return: 0 or a negative errno.
 */
int idle_bitmap_read(const struct host *host, struct idle_bitmap *bitmap, uint64_t word,
                     uint64_t *bitsp);

/*
 * Sets the bits of `mask` and reads the word back at once. *setp: those of them that were set then;
 * the others will never tell anything. Return: 0 or a negative errno.
 */
int idle_bitmap_arm(const struct host *host, struct idle_bitmap *bitmap, uint64_t word,
                    uint64_t mask, uint64_t *setp);
