#pragma once
/*
 * What the fuzz targets share. Each .c file beside this one is a target, a program of libFuzzer's
 * that is built by clang with ASan and UBSan: it feeds the bytes to a parser and checks what must
 * hold of whatever the parser accepts.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The entry point, as libFuzzer wants it. Return: 0, always. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unlike assert it is never left out, and needs no header that NDEBUG changes. */
#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

static inline void fuzz_fail(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

/* A copy with a NUL behind it and nothing more, so that ASan sees a read beyond it. To be freed. */
static inline char *fuzz_string(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    FUZZ_CHECK(text);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* Takes `size` bytes from the front, as many as there are; the rest of `to` is 0. */
static inline void fuzz_take(const uint8_t **datap, size_t *leftp, void *to, size_t size)
{
    size_t n = size < *leftp ? size : *leftp;

    memset(to, 0, size);
    if (n > 0)
        memcpy(to, *datap, n);
    *datap += n;
    *leftp -= n;
}

static inline uint8_t fuzz_byte(const uint8_t **datap, size_t *leftp)
{
    uint8_t byte;

    fuzz_take(datap, leftp, &byte, 1);
    return byte;
}
