#include "access.h"

/*
 * The pointer itself is the loop variable and every access goes through a volatile lvalue: the
 * compiler keeps each access, as one instruction with the current address in its base register,
 * which is what a sampling profiler can see.
 */

void do_read(const uintptr_t *word, const uintptr_t *end)
{
    for (; word < end; word++)
        (void)*(const volatile uintptr_t *)word;
}

void do_write(uintptr_t *word, const uintptr_t *end, uintptr_t generation)
{
    for (; word < end; word++)
        *(volatile uintptr_t *)word = (uintptr_t)word + generation;
}

void do_mixed(uintptr_t *word, const uintptr_t *end, uintptr_t generation)
{
    for (; word < end; word++) {
        (void)*(volatile uintptr_t *)word;
        *(volatile uintptr_t *)word = (uintptr_t)word + generation;
    }
}

size_t do_check(const uintptr_t *word, const uintptr_t *end, uintptr_t generation)
{
    size_t errors = 0;

    for (; word < end; word++)
        errors += *(const volatile uintptr_t *)word != (uintptr_t)word + generation;
    return errors;
}

size_t do_check_mixed(uintptr_t *word, const uintptr_t *end, uintptr_t expected, uintptr_t next)
{
    size_t errors = 0;

    for (; word < end; word++) {
        errors += *(volatile uintptr_t *)word != (uintptr_t)word + expected;
        *(volatile uintptr_t *)word = (uintptr_t)word + next;
    }
    return errors;
}

void access_plain(const struct sweep *sweep, uintptr_t *word, const uintptr_t *end)
{
    switch (sweep->kind) {
    case ACCESS_READ:
        do_read(word, end);
        break;
    case ACCESS_WRITE:
        do_write(word, end, sweep->next);
        break;
    case ACCESS_MIXED:
        do_mixed(word, end, sweep->next);
        break;
    }
}

size_t access_checked(const struct sweep *sweep, uintptr_t *word, const uintptr_t *end)
{
    switch (sweep->kind) {
    case ACCESS_READ:
        return do_check(word, end, sweep->expected);
    case ACCESS_WRITE:
        do_write(word, end, sweep->next);
        return 0;
    case ACCESS_MIXED:
        return do_check_mixed(word, end, sweep->expected, sweep->next);
    }
    return 0;
}
