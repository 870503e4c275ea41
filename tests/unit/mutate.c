#include "mutate.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_SEED 20261101
#define N_CHANGES_MAX 4

struct mutate mutate_init(int argc, char **argv)
{
    uint64_t seed = DEFAULT_SEED;

    if (argc == 3 && strcmp(argv[1], "-s") == 0)
        seed = strtoull(argv[2], NULL, 0);
    print_message("seed %llu (change with -s SEED)\n", (unsigned long long)seed);
    return (struct mutate){.state = seed};
}

/* splitmix64 */
static uint64_t next_number(struct mutate *mutate)
{
    uint64_t z = mutate->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

size_t mutate_below(struct mutate *mutate, size_t n)
{
    return (size_t)(next_number(mutate) % n);
}

/* Mostly what means something to a parser. */
static char any_byte(struct mutate *mutate)
{
    static const char telling[] = " \n\t\\-=:,()|/[]N0123456789abcdefrwxps.+\r";

    if (mutate_below(mutate, 4) == 0)
        return (char)mutate_below(mutate, 256);
    return telling[mutate_below(mutate, sizeof telling)]; /* its NUL included */
}

/* `text` has room for twice its size plus one. Return: the new size. */
static size_t change(struct mutate *mutate, char *text, size_t size)
{
    size_t at = mutate_below(mutate, size + 1), left = size - at;

    switch (mutate_below(mutate, 5)) {
    case 0:
        if (left > 0)
            text[at] = any_byte(mutate);
        return size;
    case 1:
        memmove(text + at + 1, text + at, left);
        text[at] = any_byte(mutate);
        return size + 1;
    case 2:
        if (left == 0)
            return size;
        memmove(text + at, text + at + 1, left - 1);
        return size - 1;
    case 3: /* doubles the rest: long numbers, repeated fields */
        memcpy(text + size, text + at, left);
        return size + left;
    default:
        return mutate_below(mutate, 4) == 0 ? at : size;
    }
}

char *mutate_copy(struct mutate *mutate, const char *text, size_t *sizep)
{
    size_t size = strlen(text), n = 1 + mutate_below(mutate, N_CHANGES_MAX);
    char *work = malloc((size + 1) << (N_CHANGES_MAX + 1)), *exact;

    assert_non_null(work);
    memcpy(work, text, size);
    while (n-- > 0)
        size = change(mutate, work, size);
    exact = malloc(size > 0 ? size : 1);
    assert_non_null(exact);
    memcpy(exact, work, size);
    free(work);
    *sizep = size;
    return exact;
}
