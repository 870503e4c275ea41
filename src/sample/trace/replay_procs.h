#pragma once
/*
 * The processes of a replayed trace.
 */
#include "sample/trace/trace.h"

struct replay_process;

struct replay_procs {
    struct replay_process *processes;
};

void replay_procs_deinit(struct replay_procs *procs);

/* Takes process, detail, mems and gone. Return: 0 or -ENOMEM. */
int replay_procs_take(struct replay_procs *procs, const struct trace_record *record);

/* The ops for discover; without pidfds. */
struct procs replay_procs_ops(struct replay_procs *procs);
