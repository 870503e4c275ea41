#pragma once
/*
 * Replay: the pipeline over a recorded trace, as fast as it can, on the clock of the trace. Nothing
 * of the machine that it runs on is read or changed.
 */
#include <stdio.h>

#include "numabd/config.h"

struct replay_options {
    const char *text; /* the trace */
    size_t size;
    struct config *config; /* taken over */
    FILE *out;             /* a line for each planned move and each event, then the status */
};

/* How it ended. */
struct replay_end {
    size_t line;       /* of the trace, where it stopped early */
    char message[256]; /* why; "" when it did not */
    bool cut;          /* the trace just ends there */
};

/*
 * What was before a bad line is replayed and counts. Return: 0 or a negative errno.
 */
int replay(const struct replay_options *options, struct replay_end *end);

/* `numabd --replay FILE`: messages go to stderr. Return: 0, REPLAY_FAILED or REPLAY_BAD_CONFIG. */
enum {
    REPLAY_FAILED = 1,
    REPLAY_BAD_CONFIG,
};
struct daemon_options;
int replay_file(const char *path, const struct daemon_options *options);
