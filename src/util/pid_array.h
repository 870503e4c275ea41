#pragma once
/*
 * Arrays of structs whose first member is `pid`, ascending.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

static inline size_t pid_array_position(const void *items, size_t n, size_t size, pid_t pid)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (*(const pid_t *)((const uint8_t *)items + middle * size) < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where the pid is or belongs. */
#define PID_ARRAY_POSITION(items, n, pid_)                                                         \
    (sizeof(char[offsetof(__typeof__(*(items)), pid) == 0 ? 1 : -1])                               \
         ? pid_array_position(items, n, sizeof *(items), pid_)                                     \
         : 0)
