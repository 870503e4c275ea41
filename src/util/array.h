#pragma once
/*
 * Growing a plain array: pointer, number used and capacity stay fields of their owner.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Makes room for `need` items of `size` bytes at *itemsp, doubling the capacity.
 * Return: 0, or -ENOMEM with the array unchanged.
 */
static inline int array_reserve(void *itemsp, size_t *capp, size_t need, size_t size)
{
    void **items = itemsp, *grown;
    size_t cap = *capp ? *capp : 8;

    if (need <= *capp)
        return 0;
    while (cap < need) {
        if (cap > SIZE_MAX / 2 / size)
            return -ENOMEM;
        cap *= 2;
    }
    grown = realloc(*items, cap * size);
    if (!grown)
        return -ENOMEM;
    *items = grown;
    *capp = cap;
    return 0;
}

#define ARRAY_RESERVE(items, cap, need) array_reserve(&(items), &(cap), (need), sizeof *(items))
#define ARRAY_LENGTH(items) (sizeof(items) / sizeof((items)[0]))
