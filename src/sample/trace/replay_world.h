#pragma once
/*
 * The world of a replayed trace: machine, processes, files and pages as the trace tells them,
 * behind the same ops as the real ones. It never touches the machine that it runs on.
 *
 * Records come in two ways, since a question asked after a round was answered after that round in
 * the trace: replay_world_tell takes what was true when it was written, and is called up to the
 * round that runs; replay_world_answer takes answers of files and pages, and is called one round
 * ahead, before the questions are put.
 */
#include "sample/trace/replay_pages.h"
#include "sample/trace/trace_read.h"
#include "util/cleanup.h"

struct replay_world;

int replay_world_new(struct replay_world **worldp);
struct replay_world *replay_world_free(struct replay_world *world);
CLEANUP_DEFINE(struct replay_world *, replay_world_free)

enum {
    REPLAY_UNSOUND = 1, /* the record contradicts an earlier one, or comes too early: *whatp */
};

/* machine, node, cpus, isolated, room, process, detail, mems, gone; others are ignored.
 * Return: 0, REPLAY_UNSOUND or -ENOMEM. */
int replay_world_tell(struct replay_world *world, const struct trace_record *record,
                      const char **whatp);
/* file, pages, move; others are ignored. Return: 0 or -ENOMEM. */
int replay_world_answer(struct replay_world *world, const struct trace_record *record);

/* NULL until the trace has told of a machine with a node. Its room changes with the trace. */
struct topology *replay_world_topology(const struct replay_world *world);
pid_t replay_world_self_pid(const struct replay_world *world);
uint64_t replay_world_start(const struct replay_world *world); /* CLOCK_MONOTONIC */

/* Both need the topology to be known, and stay the world's. */
const struct host *replay_world_host(const struct replay_world *world);
const struct procs *replay_world_procs(const struct replay_world *world);
const struct replay_pages *replay_world_pages(const struct replay_world *world);
