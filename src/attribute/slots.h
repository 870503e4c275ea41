#pragma once
/*
 * Slots: which bit of the recent-thread masks of an address space stands for which thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "util/cleanup.h"

/* Bits of a mask; numabd.conf says mask_bits. */
#define SLOTS_MIN 64
#define SLOTS_MAX 4096
/* A bit goes out of both windows when so many have begun since it was set. */
#define SLOTS_WINDOWS 2

struct slots {
    unsigned n_bits, n_words; /* a multiple of 64 bits, and that many 64-bit words */
    unsigned next;            /* where the search for a free one begins */
    uint32_t window;          /* number of the current mask window */
    uint32_t *n_users;        /* [n_bits] live threads */
    uint32_t *free_from;      /* [n_bits] the window from which on no mask holds its bit */
    uint64_t *active;         /* [n_words] a bit for each slot with samples in this window */
};

/* n_bits is raised to a multiple of 64 within the limits. Return: 0 or -ENOMEM. */
int slots_new(struct slots **slotsp, unsigned n_bits);
struct slots *slots_free(struct slots *slots);
CLEANUP_DEFINE(struct slots *, slots_free)

/* What slots_new makes of a number of bits. */
unsigned slots_round(unsigned n_bits);

/* A slot for a new thread: a free one, else the one with the fewest users, in turns. */
unsigned slots_take(struct slots *slots);

/*
 * A thread that was sampled last in window `seen` has ended or was forgotten. Its slot rests until
 * both windows have rotated past that.
 */
void slots_release(struct slots *slots, unsigned slot, uint32_t seen);

/* A sample of a thread with this slot. */
void slots_note(struct slots *slots, unsigned slot);

/* The next window begins. */
void slots_rotate(struct slots *slots);

/* May the slot's bit stand for another thread too? */
bool slots_is_shared(const struct slots *slots, unsigned slot);

/* Live threads with this slot or one that differs from it by a multiple of `period`. */
unsigned slots_n_users(const struct slots *slots, unsigned slot, unsigned period);
