#pragma once
/*
 * UTF-8 from untrusted bytes (process names, file contents): D-Bus and JSON carry nothing else.
 */
#include <stddef.h>
#include <stdint.h>

#define UTF8_INVALID UINT32_C(0xFFFFFFFF)
#define UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/*
 * The code point at `text`, with *sizep its bytes. A byte that begins no valid sequence gives
 * UTF8_INVALID and size 1; the NUL at the end gives 0 and size 0.
 */
uint32_t utf8_decode(const char *text, size_t *sizep);

/* Copies `text` with each invalid byte replaced by U+FFFD, cut at a whole character to `size`. */
void utf8_copy(char *to, size_t size, const char *text);
