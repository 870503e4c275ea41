/*
 * Workers: the loop thread and the worker threads meet in one place, the exchange: a mutex, the
 * lanes' queues of waiting requests and one queue of finished ones. A request belongs to exactly
 * one side at any time, so that nothing but the exchange needs a lock; while it runs, it belongs to
 * its thread alone.
 *
 * A thread that is blocked inside the kernel can be neither interrupted nor joined. It is detached
 * instead, and the exchange is counted: the pool and every thread hold a reference, the last one
 * frees it. That is why the pool can be freed at any time, and why a lost thread that wakes up much
 * later still finds a valid mutex.
 *
 *     idle --request--> running --returns--> idle
 *                          |
 *                       overruns: told; replaced when fewer than WORKER_LOST_MAX are lost
 *                          |
 *                        lost --returns--> delivers its request as late, ends
 */
#include "util/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "util/error.h"
#include "util/nsec.h"
#include "util/work_queue.h"

/* One thread. Fields are guarded by the mutex, and written by the loop except where noted. */
struct worker {
    struct exchange *exchange;
    struct lane *lane;
    pthread_t thread;
    struct work *running;   /* by the thread; NULL while idle */
    uint64_t deadline_nsec; /* by the thread; of `running` */
    bool told;              /* on_late was called for `running` */
    bool lost;              /* detached: it frees itself */
};

struct lane {
    pthread_cond_t wake; /* its only waiter is `worker` */
    struct work_queue waiting;
    struct worker *worker;
};

struct exchange {
    pthread_mutex_t mutex;
    unsigned n_refs; /* the pool and each thread */
    int event_fd;    /* readable while `finished` has requests; -1 for an inline pool */
    bool closed;     /* the pool is gone */
    size_t n_lost;
    struct work_queue finished;
    size_t n_lanes;
    struct lane lanes[];
};

struct worker_pool {
    struct exchange *exchange;
    bool winding_down; /* nothing new is taken */
    void (*on_returned)(void *userdata, pid_t pid);
    void *userdata;
};

static int exchange_new(struct exchange **exchangep, size_t n_lanes)
{
    struct exchange *exchange;

    exchange = calloc(1, sizeof *exchange + n_lanes * sizeof *exchange->lanes);
    if (!exchange)
        return -ENOMEM;
    pthread_mutex_init(&exchange->mutex, NULL);
    exchange->n_refs = 1;
    exchange->event_fd = -1;
    exchange->n_lanes = n_lanes;
    for (size_t i = 0; i < n_lanes; i++)
        pthread_cond_init(&exchange->lanes[i].wake, NULL);
    *exchangep = exchange;
    return 0;
}

static void exchange_unref(struct exchange *exchange)
{
    bool last;

    pthread_mutex_lock(&exchange->mutex);
    last = --exchange->n_refs == 0;
    pthread_mutex_unlock(&exchange->mutex);
    if (!last)
        return;
    for (size_t i = 0; i < exchange->n_lanes; i++)
        pthread_cond_destroy(&exchange->lanes[i].wake);
    pthread_mutex_destroy(&exchange->mutex);
    fd_close(exchange->event_fd);
    free(exchange);
}

static void work_run(struct work *work)
{
    uint64_t cpu_nsec = nsec_of_clock(CLOCK_THREAD_CPUTIME_ID);

    work->ops->run(work);
    work->cpu_nsec = nsec_of_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_nsec;
}

/* Mutex held. Return: the next request, or NULL when the thread shall end. */
static struct work *worker_take(struct worker *worker)
{
    struct lane *lane = worker->lane;
    struct work *work;

    while (!worker->exchange->closed && !worker->lost && !lane->waiting.first)
        pthread_cond_wait(&lane->wake, &worker->exchange->mutex);
    if (worker->exchange->closed || worker->lost)
        return NULL;
    work = work_queue_pop(&lane->waiting);
    work->started_nsec = nsec_now();
    worker->running = work;
    worker->deadline_nsec = work->timeout_nsec < NSEC_NEVER - work->started_nsec
                                ? work->started_nsec + work->timeout_nsec
                                : NSEC_NEVER;
    return work;
}

/* Mutex held. Return: the request when nobody is left to deliver it to, else NULL. */
static struct work *worker_deliver(struct worker *worker)
{
    struct exchange *exchange = worker->exchange;
    struct work *work = TAKE(worker->running);

    work->late = worker->told;
    worker->told = false;
    if (exchange->closed)
        return work;
    if (!exchange->finished.first)
        (void)eventfd_write(exchange->event_fd, 1);
    work_queue_push(&exchange->finished, work);
    return NULL;
}

/* Mutex held on entry and return. */
static void worker_serve(struct worker *worker)
{
    struct exchange *exchange = worker->exchange;
    struct work *work, *orphan;

    while ((work = worker_take(worker))) {
        pthread_mutex_unlock(&exchange->mutex);
        work_run(work);
        pthread_mutex_lock(&exchange->mutex);
        orphan = worker_deliver(worker);
        if (!orphan)
            continue;
        pthread_mutex_unlock(&exchange->mutex);
        orphan->ops->free(orphan);
        pthread_mutex_lock(&exchange->mutex);
    }
}

static void worker_set_name(const struct worker *worker)
{
    size_t lane = (size_t)(worker->lane - worker->exchange->lanes);
    char name[16]; /* the kernel keeps 15 bytes */

    snprintf(name, sizeof name, "numabd-lane%u", (unsigned)(lane % 10000));
    (void)pthread_setname_np(pthread_self(), name);
}

static void *worker_main(void *userdata)
{
    struct worker *worker = userdata;
    struct exchange *exchange = worker->exchange;

    worker_set_name(worker);
    pthread_mutex_lock(&exchange->mutex);
    worker_serve(worker);
    if (worker->lost) {
        exchange->n_lost--;
        free(worker);
    }
    pthread_mutex_unlock(&exchange->mutex);
    exchange_unref(exchange);
    return NULL;
}

/* Signals belong to the loop; a thread inherits its mask, so that it never runs without it. */
static int thread_create_blocked(pthread_t *threadp, void *(*main)(void *), void *userdata)
{
    sigset_t all, old;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(threadp, NULL, main, userdata);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -r;
}

/* Mutex held, which keeps the thread from looking at `worker` before it is complete. */
static int lane_spawn(struct exchange *exchange, struct lane *lane)
{
    CLEANUP(freep) struct worker *worker = NULL;
    int r;

    worker = calloc(1, sizeof *worker);
    if (!worker)
        return -ENOMEM;
    worker->exchange = exchange;
    worker->lane = lane;
    r = thread_create_blocked(&worker->thread, worker_main, worker);
    if (r < 0)
        return r;
    exchange->n_refs++;
    lane->worker = TAKE(worker);
    return 0;
}

/* Mutex held. */
static void worker_lose(struct worker *worker)
{
    worker->lost = true;
    worker->exchange->n_lost++;
    pthread_detach(worker->thread);
}

/* Mutex held. When no thread can be made the lane stays blocked; the next check tries again. */
static void lane_replace(struct exchange *exchange, struct lane *lane)
{
    struct worker *blocked = lane->worker;

    if (exchange->n_lost >= WORKER_LOST_MAX)
        return;
    if (lane_spawn(exchange, lane) == 0)
        worker_lose(blocked);
}

/* Return: true once for each request that overran. */
static bool lane_check(struct exchange *exchange, struct lane *lane, uint64_t now, pid_t *pidp,
                       const char **namep)
{
    struct worker *worker;
    bool newly = false;

    pthread_mutex_lock(&exchange->mutex);
    worker = lane->worker;
    if (worker->running && now > worker->deadline_nsec) {
        newly = !worker->told;
        worker->told = true;
        *pidp = worker->running->pid;
        *namep = worker->running->ops->name;
        lane_replace(exchange, lane);
    }
    pthread_mutex_unlock(&exchange->mutex);
    return newly;
}

/* Mutex held. Return: the thread to be joined, or NULL when it is blocked and was let go. */
static struct worker *lane_close(struct lane *lane)
{
    struct worker *worker = TAKE(lane->worker);

    pthread_cond_signal(&lane->wake);
    if (!worker || !worker->running)
        return worker;
    worker_lose(worker);
    return NULL;
}

static void exchange_close(struct exchange *exchange)
{
    pthread_mutex_lock(&exchange->mutex);
    exchange->closed = true;
    for (size_t i = 0; i < exchange->n_lanes; i++) {
        CLEANUP(freep) struct worker *idle = lane_close(&exchange->lanes[i]);

        pthread_mutex_unlock(&exchange->mutex);
        if (idle)
            pthread_join(idle->thread, NULL);
        work_queue_drop(&exchange->lanes[i].waiting); /* no thread takes from a closed exchange */
        pthread_mutex_lock(&exchange->mutex);
    }
    pthread_mutex_unlock(&exchange->mutex);
    work_queue_drop(&exchange->finished);
}

static int exchange_start(struct exchange *exchange)
{
    int r = 0;

    exchange->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (exchange->event_fd < 0)
        return error_errno();
    pthread_mutex_lock(&exchange->mutex);
    for (size_t i = 0; i < exchange->n_lanes && r == 0; i++)
        r = lane_spawn(exchange, &exchange->lanes[i]);
    pthread_mutex_unlock(&exchange->mutex);
    return r;
}

int worker_pool_new_inline(struct worker_pool **poolp)
{
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    int r;

    pool = calloc(1, sizeof *pool);
    if (!pool)
        return -ENOMEM;
    r = exchange_new(&pool->exchange, 1);
    if (r < 0)
        return r;
    *poolp = TAKE(pool);
    return 0;
}

int worker_pool_new(struct worker_pool **poolp, size_t n_lanes)
{
    CLEANUP(worker_pool_freep) struct worker_pool *pool = NULL;
    int r;

    pool = calloc(1, sizeof *pool);
    if (!pool)
        return -ENOMEM;
    r = exchange_new(&pool->exchange, n_lanes > 0 ? n_lanes : 1);
    if (r == 0)
        r = exchange_start(pool->exchange);
    if (r < 0)
        return r;
    *poolp = TAKE(pool);
    return 0;
}

struct worker_pool *worker_pool_free(struct worker_pool *pool)
{
    if (!pool)
        return NULL;
    if (pool->exchange) {
        exchange_close(pool->exchange);
        exchange_unref(pool->exchange);
    }
    free(pool);
    return NULL;
}

void worker_pool_submit(struct worker_pool *pool, size_t lane, struct work *work)
{
    struct exchange *exchange = pool->exchange;
    struct lane *to = &exchange->lanes[lane % exchange->n_lanes];

    work->late = false;
    work->started_nsec = work->cpu_nsec = 0;
    if (pool->winding_down) {
        work->ops->free(work);
        return;
    }
    pthread_mutex_lock(&exchange->mutex);
    work_queue_push(&to->waiting, work);
    pthread_cond_signal(&to->wake);
    pthread_mutex_unlock(&exchange->mutex);
}

void worker_pool_wind_down(struct worker_pool *pool)
{
    struct exchange *exchange = pool->exchange;

    pool->winding_down = true;
    for (size_t i = 0; i < exchange->n_lanes; i++) {
        struct work_queue waiting;

        pthread_mutex_lock(&exchange->mutex);
        waiting = work_queue_split(&exchange->lanes[i].waiting, SIZE_MAX);
        pthread_mutex_unlock(&exchange->mutex);
        work_queue_drop(&waiting);
    }
}

/* Mutex held. Return: those of `ops`; the others stay, in their order. */
static struct work_queue lane_take(struct lane *lane, const struct work_ops *ops)
{
    struct work_queue waiting = work_queue_split(&lane->waiting, SIZE_MAX), taken = {0};
    struct work *work;

    while ((work = work_queue_pop(&waiting)))
        work_queue_push(work->ops == ops ? &taken : &lane->waiting, work);
    return taken;
}

void worker_pool_recall(struct worker_pool *pool, size_t lane, const struct work_ops *ops,
                        void (*recalled)(struct work *work))
{
    struct exchange *exchange = pool->exchange;
    struct work_queue taken;
    struct work *work;

    pthread_mutex_lock(&exchange->mutex);
    taken = lane_take(&exchange->lanes[lane % exchange->n_lanes], ops);
    pthread_mutex_unlock(&exchange->mutex);
    while ((work = work_queue_pop(&taken)))
        recalled(work);
}

void worker_pool_on_returned(struct worker_pool *pool,
                             void (*on_returned)(void *userdata, pid_t pid), void *userdata)
{
    pool->on_returned = on_returned;
    pool->userdata = userdata;
}

int worker_pool_fd(const struct worker_pool *pool)
{
    return pool->exchange->event_fd;
}

static struct work_queue exchange_collect(struct exchange *exchange, size_t limit)
{
    struct work_queue collected;
    eventfd_t value;

    pthread_mutex_lock(&exchange->mutex);
    collected = work_queue_split(&exchange->finished, limit);
    if (collected.first && !exchange->finished.first)
        (void)eventfd_read(exchange->event_fd, &value);
    pthread_mutex_unlock(&exchange->mutex);
    return collected;
}

static struct work_queue exchange_run_inline(struct exchange *exchange, size_t limit)
{
    struct work_queue collected = work_queue_split(&exchange->lanes[0].waiting, limit);

    for (struct work *work = collected.first; work; work = work->next) {
        work->started_nsec = nsec_now();
        work_run(work);
    }
    return collected;
}

size_t worker_pool_dispatch(struct worker_pool *pool, size_t limit)
{
    struct exchange *exchange = pool->exchange;
    struct work_queue collected;
    struct work *work;
    size_t n;

    limit = limit > 0 ? limit : SIZE_MAX;
    collected = exchange->event_fd < 0 ? exchange_run_inline(exchange, limit)
                                       : exchange_collect(exchange, limit);
    n = collected.n;
    while ((work = work_queue_pop(&collected))) {
        if (work->late && pool->on_returned)
            pool->on_returned(pool->userdata, work->pid);
        work->ops->done(work);
    }
    return n;
}

void worker_pool_check(struct worker_pool *pool, uint64_t now,
                       void (*on_late)(void *userdata, pid_t pid, const char *name), void *userdata)
{
    struct exchange *exchange = pool->exchange;
    const char *name;
    pid_t pid;

    if (exchange->event_fd < 0)
        return;
    for (size_t i = 0; i < exchange->n_lanes; i++)
        if (lane_check(exchange, &exchange->lanes[i], now, &pid, &name))
            on_late(userdata, pid, name);
}

size_t worker_pool_pending(const struct worker_pool *pool, size_t lane)
{
    struct exchange *exchange = pool->exchange;
    const struct lane *at = &exchange->lanes[lane % exchange->n_lanes];
    size_t n;

    pthread_mutex_lock(&exchange->mutex);
    n = at->waiting.n + (at->worker && at->worker->running ? 1 : 0);
    pthread_mutex_unlock(&exchange->mutex);
    return n;
}

size_t worker_pool_lost(const struct worker_pool *pool)
{
    size_t n;

    pthread_mutex_lock(&pool->exchange->mutex);
    n = pool->exchange->n_lost;
    pthread_mutex_unlock(&pool->exchange->mutex);
    return n;
}
