#include "util/scan.h"

#include <stddef.h>
#include <string.h>

static size_t scan_left(const struct scan *scan)
{
    return scan_at_end(scan) ? 0 : (size_t)(scan->end - scan->at);
}

bool scan_line(struct scan *text, struct scan *line)
{
    const char *newline = scan_at_end(text) ? NULL : memchr(text->at, '\n', scan_left(text));

    *line = (struct scan){.at = text->at, .end = newline ? newline : text->end};
    text->at = newline ? newline + 1 : text->end;
    return newline;
}

bool scan_blanks(struct scan *scan)
{
    const char *from = scan->at;

    while (!scan_at_end(scan) && *scan->at == ' ')
        scan->at++;
    return scan->at > from;
}

bool scan_word(struct scan *scan, struct scan *word)
{
    const char *from = scan->at;

    while (!scan_at_end(scan) && *scan->at != ' ')
        scan->at++;
    if (scan->at == from)
        return false;
    *word = (struct scan){.at = from, .end = scan->at};
    return true;
}

bool scan_char(struct scan *scan, char c)
{
    if (scan_at_end(scan) || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

bool scan_literal(struct scan *scan, const char *literal)
{
    size_t size = strlen(literal);

    if (scan_left(scan) < size || memcmp(scan->at, literal, size) != 0)
        return false;
    scan->at += size;
    return true;
}

/* Its value in hexadecimal, 16 when it is no digit. */
static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 16;
}

static bool scan_number(struct scan *scan, unsigned base, uint64_t max, uint64_t *valuep)
{
    const char *at = scan->at;
    uint64_t value = 0;

    for (; at < scan->end && digit_value(*at) < base; at++) {
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit_value(*at), &value) || value > max)
            return false;
    }
    if (at == scan->at)
        return false;
    scan->at = at;
    *valuep = value;
    return true;
}

bool scan_decimal(struct scan *scan, uint64_t max, uint64_t *valuep)
{
    return scan_number(scan, 10, max, valuep);
}

bool scan_hex(struct scan *scan, uint64_t max, uint64_t *valuep)
{
    return scan_number(scan, 16, max, valuep);
}
