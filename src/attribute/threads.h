#pragma once
/*
 * The threads of an address space that were sampled lately, and their memory policies.
 */
#include "numabd/attribute.h"

/* Threads that were not sampled for two mask windows and this are forgotten. */
#define THREADS_SLACK_NSEC (2 * NSEC_PER_SEC)

/* The thread of a sample, which is new if it was not known; NULL without memory. */
struct thread *threads_note(struct space *space, const struct access *access);

/* All of them, and what is known of their policies. */
void threads_drop(struct space *space);

/* A mask window ends. */
void threads_rotate(struct space *space);

/* A round ends: those not sampled for long are forgotten; they are looked at anew if they wake. */
void threads_close_round(struct space *space, uint64_t now);

/* The one with the lowest id above `tid` that was sampled in this window, else the lowest; NULL. */
const struct thread *threads_next_active(const struct space *space, pid_t tid);

/*
 * Policies of threads were read: recomputes unknown_policy and adds to own_policy, whose bits stay
 * when a thread ends or changes its mind: what it placed stays placed.
 */
void threads_mark_policies(struct space *space);
