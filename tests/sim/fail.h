#pragma once
/*
 * What the simulator itself cannot go on without: one line, and the program ends with 1. Kept in
 * every build, also with NDEBUG.
 */
#include <stdio.h>
#include <stdlib.h>

#define SIM_NEED(condition)                                                                        \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fflush(stdout);                                                                        \
            fprintf(stderr, "%s:%d: the simulator needs %s\n", __FILE__, __LINE__, #condition);    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline void *sim_calloc(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);

    SIM_NEED(memory != NULL);
    return memory;
}
