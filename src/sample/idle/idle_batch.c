#include "sample/idle/idle_batch.h"

#include <stdlib.h>

#include "sample/idle/idle_bitmap.h"

static int compare(const void *left, const void *right)
{
    const struct page_frame *a = left, *b = right;

    if (a->head != b->head)
        return a->head < b->head ? -1 : 1;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

size_t idle_batch_order(struct page_frames *frames)
{
    size_t n_kept = 0, n_dropped = 0;

    if (frames->n == 0)
        return 0;
    qsort(frames->items, frames->n, sizeof *frames->items, compare);
    for (size_t i = 0; i < frames->n; i++) {
        const struct page_frame *frame = &frames->items[i];

        if (!frame->head)
            n_dropped++;
        else if (n_kept == 0 || frames->items[n_kept - 1].head != frame->head)
            frames->items[n_kept++] = *frame;
    }
    frames->n = n_kept;
    return n_dropped;
}

uint64_t idle_batch_bit(const struct page_frame *frame)
{
    return UINT64_C(1) << frame->head % IDLE_WORD_FRAMES;
}

struct idle_word idle_batch_word(const struct page_frames *frames, size_t first)
{
    struct idle_word word = {.first = first};

    if (first >= frames->n)
        return word;
    word.word = frames->items[first].head / IDLE_WORD_FRAMES;
    for (size_t i = first; i < frames->n && frames->items[i].head / IDLE_WORD_FRAMES == word.word;
         i++) {
        word.mask |= idle_batch_bit(&frames->items[i]);
        word.n++;
    }
    return word;
}
