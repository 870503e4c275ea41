#pragma once
/*
 * A cursor over text that need not end with a NUL. Each scan_... steps over what it took and
 * returns true, or leaves the cursor (and its output) as it was and returns false.
 *
 * What is called for every byte or number of a text is inline: reading maps must cost little beside
 * the kernel's printing of it (tests/bench/parsers.c), and calls were half of it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct scan {
    const char *at, *end; /* [at, end) */
};

/* Their values in hexadecimal by character; 16 for what is no digit. */
extern const uint8_t scan_digits[256];

static inline bool scan_at_end(const struct scan *scan)
{
    return scan->at >= scan->end;
}

static inline size_t scan_left(const struct scan *scan)
{
    return scan_at_end(scan) ? 0 : (size_t)(scan->end - scan->at);
}

/*
 * Takes the next line, without its newline. What is left without a newline is taken as well, but
 * returns false.
 */
bool scan_line(struct scan *text, struct scan *line);

/* Takes what stands before the next blank. Return: at least one character was there. */
bool scan_word(struct scan *scan, struct scan *word);

/* Takes blanks (not tabs). Return: at least one was there. */
static inline bool scan_blanks(struct scan *scan)
{
    static const char many[8] = "        "; /* maps pads names with up to 25 */
    const char *from = scan->at;

    while (scan_left(scan) >= sizeof many && !memcmp(scan->at, many, sizeof many))
        scan->at += sizeof many;
    while (!scan_at_end(scan) && *scan->at == ' ')
        scan->at++;
    return scan->at > from;
}

static inline bool scan_char(struct scan *scan, char c)
{
    if (scan_at_end(scan) || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

static inline bool scan_literal(struct scan *scan, const char *literal)
{
    size_t size = strlen(literal);

    if (scan_left(scan) < size || memcmp(scan->at, literal, size) != 0)
        return false;
    scan->at += size;
    return true;
}

/* One or more digits, no sign, at most `max`. */
static inline bool scan_in_base(struct scan *scan, unsigned base, uint64_t max, uint64_t *valuep)
{
    const char *at = scan->at;
    uint64_t value = 0;

    for (; at < scan->end; at++) {
        unsigned digit = scan_digits[(unsigned char)*at];

        if (digit >= base)
            break;
        if (value > max / base || digit > max - value * base)
            return false;
        value = value * base + digit;
    }
    if (at == scan->at)
        return false;
    scan->at = at;
    *valuep = value;
    return true;
}

static inline bool scan_decimal(struct scan *scan, uint64_t max, uint64_t *valuep)
{
    return scan_in_base(scan, 10, max, valuep);
}

static inline bool scan_hex(struct scan *scan, uint64_t max, uint64_t *valuep)
{
    return scan_in_base(scan, 16, max, valuep);
}
