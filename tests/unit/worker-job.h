#pragma once
/*
 * Requests for the tests of workers. Threads are steered through pipes, never through time: a job
 * says that it has started through one pipe and blocks on another until the test closes it.
 */
#include <signal.h>
#include <stdbool.h>

#include "util/nsec.h"
#include "util/worker.h"

#define PATIENCE_MSEC 30000        /* only reached by a failing test */
#define AFTER_ALL (NSEC_NEVER - 1) /* every deadline has passed */
#define N_MANY 10000

/* What came back, in order. */
struct record {
    int n_done, n_freed, n_late;
    int order[N_MANY];
};

struct job {
    struct work work;
    int id;
    int started_fd, gate_fd, freed_fd; /* -1: unused */
    struct record *record;
    bool ran;
    char thread_name[16];
    sigset_t mask;
};

/* Pipes of a job that blocks. */
struct gate {
    int started[2], gate[2];
};

/* Its pid is 100 + id, its timeout one second. */
struct job *job_new(struct record *record, int id);
void job_run(struct work *work);
void job_done(struct work *work);
/* Writes to freed_fd, or counts in the record: in a lost thread only the first is allowed. */
void job_free(struct work *work);

struct gate gate_open(void);
void gate_release(struct gate *gate);
void gate_close(struct gate *gate);

/* Hands over a job that returns at once, or one that blocks on the gate. */
void submit(struct worker_pool *pool, size_t lane, struct record *record, int id);
void submit_blocked(struct worker_pool *pool, size_t lane, struct record *record, int id,
                    const struct gate *gate);
void dispatch_until(struct worker_pool *pool, const struct record *record, int n_done);

/* For worker_pool_check: adds the job's id to the record. */
void count_late(void *userdata, pid_t pid, const char *name);

/* Fail the test when it takes longer than PATIENCE_MSEC. */
void wait_byte(int fd);
void wait_readable(int fd);
void wait_idle(const struct worker_pool *pool, size_t lane);

bool fd_readable(int fd);
