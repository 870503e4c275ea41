#pragma once
/*
 * The host of a replayed trace: files as they were read, pages as replay_pages has them, and CPU
 * time as reading and moving took then.
 */
#include "sample/trace/replay_pages.h"
#include "sample/trace/trace.h"

struct replay_file;
struct replay_answers;

struct replay_host {
    struct replay_pages pages;
    struct replay_file *files;
    struct replay_answers *answers; /* of calls, by process */
    uint64_t cpu_nsec;              /* spent so far */
    /* CPU time of the trace's calls so far: [0] queries, [1] moves */
    uint64_t n_pages[2], pages_nsec[2];
};

void replay_host_deinit(struct replay_host *host);

/* Takes file, pages and move. Return: 0 or -ENOMEM. */
int replay_host_take(struct replay_host *host, const struct trace_record *record);
void replay_host_forget(struct replay_host *host, pid_t pid);

/* What the trace does not answer at all gives -EAGAIN. page_bytes is set by then. */
struct host replay_host_ops(struct replay_host *host);
