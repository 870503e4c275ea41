#pragma once
/*
 * Where the pages of a replayed trace lie. Two worlds are kept for each page: the recorded one, in
 * which the moves of then happened, and the replayed one, in which those of now do. What the trace
 * says about a page is news for the replayed world only if it differs from the recorded one.
 */
#include <stdint.h>
#include <sys/types.h>

/* Kept are pages of at most so many blocks of 512: 512 GiB of 2 MiB each, 1.1 GiB here. */
#define REPLAY_BLOCKS_MAX ((size_t)1 << 18)

struct replay_block;

struct replay_pages {
    struct replay_block *blocks;
    uint64_t page_bytes;
};

void replay_pages_deinit(struct replay_pages *pages);

/* The trace: a page was asked for; a page was moved (status TRACE_UNWRITTEN: nothing was said). */
void replay_pages_observe(struct replay_pages *pages, pid_t pid, uint64_t addr, int status);
void replay_pages_note_move(struct replay_pages *pages, pid_t pid, uint64_t addr, int node,
                            int status);
void replay_pages_forget(struct replay_pages *pages, pid_t pid);

/*
 * The replayed world. A page that the trace does not tell about lies where the nearest one of its
 * block lies. Return: a node or a negative errno.
 */
int replay_pages_ask(const struct replay_pages *pages, pid_t pid, uint64_t addr);
/* A page that refused to move in the trace refuses again. */
int replay_pages_move(struct replay_pages *pages, pid_t pid, uint64_t addr, int node);

/* The node, other than `to`, that most pages of [start, end) lie on; -1 where none is known. */
int replay_pages_most(const struct replay_pages *pages, pid_t pid, uint64_t start, uint64_t end,
                      int to);
