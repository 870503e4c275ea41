#pragma once
/*
 * Text: numbers and names as people read them. Every number comes with its unit.
 */
#include <stddef.h>
#include <stdint.h>

enum {
    TEXT_SIZE = 32
};

/* Each writes into `text` and returns it. */

/* "0 B", "512 KiB", "6.1 GiB", "12 GiB"; one digit after the point below 100 of a unit, unless 0.
 */
const char *text_bytes(char text[static TEXT_SIZE], uint64_t bytes);
/* Whole "MiB", rounded: columns that are compared over time keep one unit. */
const char *text_mebibytes(char text[static TEXT_SIZE], uint64_t bytes);
/* "41.2 %", or "-" for a negative (unknown) share. */
const char *text_permyriad(char text[static TEXT_SIZE], int64_t permyriad);
/* The two largest units: "45s", "2m 5s", "3h 12m", "3d 4h". */
const char *text_duration(char text[static TEXT_SIZE], uint64_t sec);

/*
 * Makes untrusted bytes safe for a terminal: control characters, invalid UTF-8 and characters that
 * turn or hide text become \xNN or \uNNNN, a backslash is doubled. Cut at a whole escape to `size`.
 */
const char *text_escape(char *to, size_t size, const char *from);

/* Columns that escaped text takes (one a code point). */
size_t text_width(const char *text);
