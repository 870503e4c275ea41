#pragma once
/*
 * Workers: threads that run requests which can block on another process, so that the loop thread
 * never does. A request is a plain struct that carries its input and its result; workers share
 * nothing else with the loop.
 *
 * A pool has lanes; each lane is one thread that serves its requests in order. A request that
 * overruns its deadline is *late*: its thread is abandoned (it cannot be interrupted) and the lane
 * gets a new one, at most WORKER_LOST_MAX at a time; beyond that the lane stays blocked.
 * A late request is still delivered when it returns at last, with `late` set.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/cleanup.h"

#define WORKER_LOST_MAX 4

struct work;

struct work_ops {
    const char *name;
    void (*run)(struct work *work);  /* in a worker: touches this struct only */
    void (*done)(struct work *work); /* in the loop, after run; takes ownership */
    void (*free)(struct work *work); /* in the loop or in a lost worker at shutdown */
};

/* The head of each request; embedded first. */
struct work {
    const struct work_ops *ops;
    pid_t pid;             /* the process that it can block on */
    void *owner;           /* for done(), loop side only */
    uint64_t timeout_nsec; /* allowed run time */
    uint64_t started_nsec; /* set by the worker when it begins */
    uint64_t cpu_nsec;     /* CPU time that run took */
    bool late;             /* on_late was called for it */
    struct work *next;     /* private */
};

struct worker_pool;

/* Return: 0 or a negative errno. */
int worker_pool_new(struct worker_pool **poolp, size_t n_lanes);

/* A pool without threads, for tests: requests run in worker_pool_dispatch. */
int worker_pool_new_inline(struct worker_pool **poolp);

/* Drops waiting requests, joins idle threads, leaves blocked ones behind (they free themselves). */
struct worker_pool *worker_pool_free(struct worker_pool *pool);
CLEANUP_DEFINE(struct worker_pool *, worker_pool_free)

/* Hands a request over. `lane` is taken modulo the number of lanes. */
void worker_pool_submit(struct worker_pool *pool, size_t lane, struct work *work);

/* Readable when worker_pool_dispatch has something to do; -1 for an inline pool. */
int worker_pool_fd(const struct worker_pool *pool);

/*
 * Calls done() of the requests that have finished by now, at most `limit` (0: all); what done()
 * submits is for the next call. Return: how many.
 */
size_t worker_pool_dispatch(struct worker_pool *pool, size_t limit);

/*
 * Finds requests that overran their time at `now`, calls on_late(userdata, pid, name) for each
 * once, and replaces their threads. Call it a few times a second.
 */
void worker_pool_check(struct worker_pool *pool, uint64_t now,
                       void (*on_late)(void *userdata, pid_t pid, const char *name),
                       void *userdata);

/* Called by worker_pool_dispatch for each late request, before its done(). */
void worker_pool_on_returned(struct worker_pool *pool,
                             void (*on_returned)(void *userdata, pid_t pid), void *userdata);

/*
 * Takes the requests of a kind that wait in a lane back: recalled() gets each, and owns it; those
 * that run may end.
 */
void worker_pool_recall(struct worker_pool *pool, size_t lane, const struct work_ops *ops,
                        void (*recalled)(struct work *work));

/* Drops waiting requests, and what is submitted from now on; those that run may end. */
void worker_pool_wind_down(struct worker_pool *pool);

/*
 * Requests waiting or running in a lane; those that its abandoned threads still run and those that
 * wait for dispatch are not counted. An inline pool has one lane.
 */
size_t worker_pool_pending(const struct worker_pool *pool, size_t lane);
/* Threads abandoned now. */
size_t worker_pool_lost(const struct worker_pool *pool);
