#pragma once
/*
 * A queue of requests in order of arrival; it links them through work.next.
 */
#include <stddef.h>

#include "util/worker.h"

/* All zero is an empty one. */
struct work_queue {
    struct work *first, *last;
    size_t n;
};

void work_queue_push(struct work_queue *queue, struct work *work);
/* Return: the first request, or NULL. */
struct work *work_queue_pop(struct work_queue *queue);
/* Moves the first n requests to a queue of their own. */
struct work_queue work_queue_split(struct work_queue *queue, size_t n);
/* Frees all requests. */
void work_queue_drop(struct work_queue *queue);
