#include "util/work_queue.h"

void work_queue_push(struct work_queue *queue, struct work *work)
{
    work->next = NULL;
    if (queue->last)
        queue->last->next = work;
    else
        queue->first = work;
    queue->last = work;
    queue->n++;
}

struct work *work_queue_pop(struct work_queue *queue)
{
    struct work *work = queue->first;

    if (!work)
        return NULL;
    queue->first = work->next;
    if (!queue->first)
        queue->last = NULL;
    work->next = NULL;
    queue->n--;
    return work;
}

struct work_queue work_queue_split(struct work_queue *queue, size_t n)
{
    struct work_queue front = {0};

    while (n-- > 0 && queue->first)
        work_queue_push(&front, work_queue_pop(queue));
    return front;
}

void work_queue_drop(struct work_queue *queue)
{
    struct work *work;

    while ((work = work_queue_pop(queue)))
        work->ops->free(work);
}
