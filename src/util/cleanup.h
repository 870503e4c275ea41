#pragma once
/*
 * Cleanup attributes: every local owner names its destructor where it is declared. A destructor
 * takes NULL and half-built objects and returns NULL.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))

/* CLEANUP_DEFINE(struct foo *, foo_free) makes foo_freep for CLEANUP(foo_freep). */
#define CLEANUP_DEFINE(type, function)                                                             \
    static inline void function##p(type *object)                                                   \
    {                                                                                              \
        if (*object)                                                                               \
            function(*object);                                                                     \
    }

/* Hands a pointer over: gives its value and leaves NULL behind. */
#define TAKE(pointer)                                                                              \
    __extension__({                                                                                \
        __auto_type taken_ = (pointer);                                                            \
        (pointer) = NULL;                                                                          \
        taken_;                                                                                    \
    })

CLEANUP_DEFINE(FILE *, fclose)
CLEANUP_DEFINE(DIR *, closedir)

static inline void freep(void *object)
{
    free(*(void **)object);
}

static inline int fd_close(int fd)
{
    if (fd >= 0)
        close(fd);
    return -1;
}

static inline void fd_closep(int *fd)
{
    *fd = fd_close(*fd);
}
