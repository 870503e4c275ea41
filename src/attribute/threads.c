#include "attribute/threads.h"

#include <stdlib.h>

#include "attribute/slots.h"
#include "attribute/thread_mask.h"
#include "util/nsec.h"

static void threads_add(struct space *space, struct thread *thread)
{
    thread->slot = slots_take(space->slots);
    thread->is_new = true;
    HASH_ADD(hh, space->threads, tid, sizeof thread->tid, thread);
    thread_mask_set(&space->unknown_policy, thread->slot);
}

static void threads_remove(struct space *space, struct thread *thread)
{
    slots_release(space->slots, thread->slot, thread->seen_window);
    if (!slots_n_users(space->slots, thread->slot, THREAD_MASK_BITS)) {
        thread_mask_clear(&space->own_policy, thread->slot);
        thread_mask_clear(&space->unknown_policy, thread->slot);
        thread_mask_clear(&space->overdue_policy, thread->slot);
    }
    HASH_DEL(space->threads, thread);
    free(thread);
}

struct thread *threads_note(struct space *space, const struct access *access)
{
    struct thread *thread;

    HASH_FIND(hh, space->threads, &access->tid, sizeof access->tid, thread);
    if (!thread) {
        thread = calloc(1, sizeof *thread);
        if (!thread)
            return NULL;
        thread->tid = access->tid;
        thread->pid = access->pid;
        threads_add(space, thread);
    }
    thread->busy_sec += access->weight_sec;
    thread->seen_nsec = access->when_nsec;
    thread->seen_window = space->slots->window;
    slots_note(space->slots, thread->slot);
    return thread;
}

void threads_drop(struct space *space)
{
    struct thread *thread, *next;

    HASH_ITER (hh, space->threads, thread, next)
        threads_remove(space, thread);
    space->own_policy = space->unknown_policy = (struct thread_mask){0};
    space->overdue_policy = (struct thread_mask){0};
}

void threads_rotate(struct space *space)
{
    struct thread *thread, *next;

    HASH_ITER (hh, space->threads, thread, next)
        thread->busy_sec /= 2;
}

static void threads_forget(struct space *space, uint64_t now)
{
    uint64_t most = 2 * space->mask_window_nsec + THREADS_SLACK_NSEC;
    struct thread *thread, *next;

    HASH_ITER (hh, space->threads, thread, next) {
        if (thread->seen_nsec + most <= now)
            threads_remove(space, thread);
    }
}

void threads_close_round(struct space *space, uint64_t now)
{
    struct thread *thread, *next;

    threads_forget(space, now);
    space->overdue_policy = (struct thread_mask){0};
    HASH_ITER (hh, space->threads, thread, next) {
        if (thread->policy == THREAD_POLICY_UNKNOWN && !thread->is_new)
            thread_mask_set(&space->overdue_policy, thread->slot);
        thread->is_new = false;
    }
}

const struct thread *threads_next_active(const struct space *space, pid_t tid)
{
    const struct thread *above = NULL, *lowest = NULL;
    struct thread *thread, *next;

    HASH_ITER (hh, space->threads, thread, next) {
        if (thread->seen_window != space->slots->window)
            continue;
        if (!lowest || thread->tid < lowest->tid)
            lowest = thread;
        if (thread->tid > tid && (!above || thread->tid < above->tid))
            above = thread;
    }
    return above ? above : lowest;
}

void threads_mark_policies(struct space *space)
{
    struct thread *thread, *next;

    space->unknown_policy = space->overdue_policy = (struct thread_mask){0};
    HASH_ITER (hh, space->threads, thread, next) {
        if (thread->policy == THREAD_POLICY_UNKNOWN)
            thread_mask_set(&space->unknown_policy, thread->slot);
        if (thread->policy == THREAD_POLICY_UNKNOWN && !thread->is_new)
            thread_mask_set(&space->overdue_policy, thread->slot);
        if (thread->policy == THREAD_POLICY_OWN)
            thread_mask_set(&space->own_policy, thread->slot);
    }
}
