#include "worker-job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

void job_run(struct work *work)
{
    struct job *job = (struct job *)work;
    char byte;

    prctl(PR_GET_NAME, job->thread_name);
    pthread_sigmask(SIG_SETMASK, NULL, &job->mask);
    if (job->started_fd >= 0)
        job->ran = write(job->started_fd, "s", 1) == 1;
    if (job->gate_fd >= 0)
        job->ran = read(job->gate_fd, &byte, 1) == 0;
    job->ran = true;
}

void job_done(struct work *work)
{
    struct job *job = (struct job *)work;
    struct record *record = job->record;

    assert_true(job->ran);
    record->order[record->n_done++] = job->id;
    record->n_late += work->late;
    free(job);
}

void job_free(struct work *work)
{
    struct job *job = (struct job *)work;
    int fd = job->freed_fd;

    if (fd < 0)
        job->record->n_freed++;
    free(job);
    if (fd >= 0 && write(fd, "f", 1) != 1)
        abort();
}

struct job *job_new(struct record *record, int id)
{
    static const struct work_ops ops = {
        .name = "job", .run = job_run, .done = job_done, .free = job_free};
    struct job *job = calloc(1, sizeof *job);

    assert_non_null(job);
    job->work = (struct work){.ops = &ops, .pid = 100 + id, .timeout_nsec = NSEC_PER_SEC};
    job->id = id;
    job->started_fd = job->gate_fd = job->freed_fd = -1;
    job->record = record;
    return job;
}

void submit(struct worker_pool *pool, size_t lane, struct record *record, int id)
{
    worker_pool_submit(pool, lane, &job_new(record, id)->work);
}

struct gate gate_open(void)
{
    struct gate gate;

    assert_int_equal(pipe(gate.started), 0);
    assert_int_equal(pipe(gate.gate), 0);
    return gate;
}

void gate_release(struct gate *gate)
{
    gate->gate[1] = fd_close(gate->gate[1]);
}

void gate_close(struct gate *gate)
{
    gate_release(gate);
    fd_close(gate->gate[0]);
    fd_close(gate->started[0]);
    fd_close(gate->started[1]);
}

void wait_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&poll_fd, 1, PATIENCE_MSEC), 1);
}

void wait_byte(int fd)
{
    char byte;

    wait_readable(fd);
    assert_int_equal(read(fd, &byte, 1), 1);
}

void wait_idle(const struct worker_pool *pool, size_t lane)
{
    for (int i = 0; worker_pool_pending(pool, lane) > 0; i++) {
        assert_true(i < PATIENCE_MSEC);
        poll(NULL, 0, 1);
    }
}

void submit_blocked(struct worker_pool *pool, size_t lane, struct record *record, int id,
                    const struct gate *gate)
{
    struct job *job = job_new(record, id);

    job->started_fd = gate->started[1];
    job->gate_fd = gate->gate[0];
    worker_pool_submit(pool, lane, &job->work);
}

void dispatch_until(struct worker_pool *pool, const struct record *record, int n_done)
{
    while (record->n_done < n_done) {
        wait_readable(worker_pool_fd(pool));
        assert_true(worker_pool_dispatch(pool, 0) > 0);
    }
    assert_int_equal(record->n_done, n_done);
}

void count_late(void *userdata, pid_t pid, const char *name)
{
    struct record *record = userdata;

    assert_string_equal(name, "job");
    assert_in_range(pid, 100, 199);
    record->order[record->n_done++] = pid - 100;
}

bool fd_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, 0) == 1;
}
