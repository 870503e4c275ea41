/*
 * UTF-8
 *
 * Valid is what D-Bus implementations take: the shortest form, no surrogates, nothing above
 * U+10FFFF, and none of the 66 noncharacters, which libsystemd refuses although the standard allows
 * them. One process named with such a character would otherwise make a whole listing unreadable.
 */
#include "util/utf8.h"

#include <stdbool.h>
#include <string.h>

static size_t sequence_size(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        return 2;
    if (lead >= 0xE0 && lead <= 0xEF)
        return 3;
    if (lead >= 0xF0 && lead <= 0xF4)
        return 4;
    return 0;
}

static bool is_valid(uint32_t code, size_t size)
{
    static const uint32_t lowest[] = {[1] = 0, [2] = 0x80, [3] = 0x800, [4] = 0x10000};

    return code >= lowest[size] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF) &&
           (code < 0xFDD0 || code > 0xFDEF) && (code & 0xFFFE) != 0xFFFE;
}

uint32_t utf8_decode(const char *text, size_t *sizep)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t size = sequence_size(bytes[0]);
    uint32_t code = size <= 1 ? bytes[0] : bytes[0] & (0x7Fu >> size);

    *sizep = bytes[0] ? 1 : 0;
    if (size == 0)
        return UTF8_INVALID;
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            return UTF8_INVALID;
        code = code << 6 | (bytes[i] & 0x3F);
    }
    if (!is_valid(code, size))
        return UTF8_INVALID;
    if (code)
        *sizep = size;
    return code;
}

void utf8_copy(char *to, size_t size, const char *text)
{
    size_t used = 0, step;
    uint32_t code;

    while ((code = utf8_decode(text, &step)) != 0) {
        const char *from = code == UTF8_INVALID ? UTF8_REPLACEMENT : text;
        size_t n = code == UTF8_INVALID ? strlen(UTF8_REPLACEMENT) : step;

        if (used + n >= size)
            break;
        memcpy(to + used, from, n);
        used += n;
        text += step;
    }
    if (size)
        to[used] = '\0';
}
