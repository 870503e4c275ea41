/*
 * Threads get dense numbers, so that while they fit into the mask each has a bit of its own; a hash
 * of their ids makes 63 % of 64 threads share one of 64 bits. A slot is not given to another thread
 * while a mask can still hold its bit: that thread would look as if it had used what its
 * predecessor used.
 */
#include "attribute/slots.h"

#include <errno.h>
#include <stdlib.h>

unsigned slots_round(unsigned n_bits)
{
    if (n_bits < SLOTS_MIN)
        return SLOTS_MIN;
    if (n_bits > SLOTS_MAX)
        return SLOTS_MAX;
    return (n_bits + 63) / 64 * 64;
}

int slots_new(struct slots **slotsp, unsigned n_bits)
{
    CLEANUP(slots_freep) struct slots *slots = calloc(1, sizeof *slots);

    if (!slots)
        return -ENOMEM;
    slots->n_bits = slots_round(n_bits);
    slots->n_words = slots->n_bits / 64;
    slots->n_users = calloc(slots->n_bits, sizeof *slots->n_users);
    slots->free_from = calloc(slots->n_bits, sizeof *slots->free_from);
    slots->active = calloc(slots->n_words, sizeof *slots->active);
    if (!slots->n_users || !slots->free_from || !slots->active)
        return -ENOMEM;
    *slotsp = TAKE(slots);
    return 0;
}

struct slots *slots_free(struct slots *slots)
{
    if (!slots)
        return NULL;
    free(slots->n_users);
    free(slots->free_from);
    free(slots->active);
    free(slots);
    return NULL;
}

static bool is_free(const struct slots *slots, unsigned slot)
{
    return !slots->n_users[slot] && slots->free_from[slot] <= slots->window;
}

/* From `next` on, the first free one, else the first of those with the fewest users. */
static unsigned find_best(const struct slots *slots)
{
    unsigned best = slots->next;

    for (unsigned i = 0; i < slots->n_bits; i++) {
        unsigned slot = (slots->next + i) % slots->n_bits;

        if (is_free(slots, slot))
            return slot;
        if (slots->n_users[slot] < slots->n_users[best])
            best = slot;
    }
    return best;
}

unsigned slots_take(struct slots *slots)
{
    unsigned slot = find_best(slots);

    slots->n_users[slot]++;
    slots->next = (slot + 1) % slots->n_bits;
    return slot;
}

void slots_release(struct slots *slots, unsigned slot, uint32_t seen)
{
    slots->n_users[slot]--;
    if (slots->free_from[slot] < seen + SLOTS_WINDOWS)
        slots->free_from[slot] = seen + SLOTS_WINDOWS;
}

bool slots_is_shared(const struct slots *slots, unsigned slot)
{
    return slots->n_users[slot] > 1 || slots->free_from[slot] > slots->window;
}

void slots_note(struct slots *slots, unsigned slot)
{
    slots->active[slot / 64] |= UINT64_C(1) << (slot % 64);
}

void slots_rotate(struct slots *slots)
{
    slots->window++;
    for (unsigned i = 0; i < slots->n_words; i++)
        slots->active[i] = 0;
}

unsigned slots_n_users(const struct slots *slots, unsigned slot, unsigned period)
{
    unsigned n = 0;

    for (unsigned i = slot % period; i < slots->n_bits; i += period)
        n += slots->n_users[i];
    return n;
}
