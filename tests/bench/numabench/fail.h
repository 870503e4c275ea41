#pragma once

/* A workload that cannot do what was asked is of no use: one line on stderr, exit 1. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* _exit: a thread or a child may be the one that fails. */
#define fail(format, ...)                                                                          \
    do {                                                                                           \
        fflush(stdout);                                                                            \
        fprintf(stderr, "numabench: " format "\n", ##__VA_ARGS__);                                 \
        _exit(1);                                                                                  \
    } while (0)

#define fail_errno(what) fail("%s: %s", what, strerror(errno))
