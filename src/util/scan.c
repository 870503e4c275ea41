#include "util/scan.h"

#define NO 16

const uint8_t scan_digits[256] = {
    [0 ... '0' - 1] = NO,
    ['0'] = 0,
    ['1'] = 1,
    ['2'] = 2,
    ['3'] = 3,
    ['4'] = 4,
    ['5'] = 5,
    ['6'] = 6,
    ['7'] = 7,
    ['8'] = 8,
    ['9'] = 9,
    ['9' + 1 ... 'A' - 1] = NO,
    ['A'] = 10,
    ['B'] = 11,
    ['C'] = 12,
    ['D'] = 13,
    ['E'] = 14,
    ['F'] = 15,
    ['F' + 1 ... 'a' - 1] = NO,
    ['a'] = 10,
    ['b'] = 11,
    ['c'] = 12,
    ['d'] = 13,
    ['e'] = 14,
    ['f'] = 15,
    ['f' + 1 ... 255] = NO,
};

bool scan_line(struct scan *text, struct scan *line)
{
    const char *newline = scan_at_end(text) ? NULL : memchr(text->at, '\n', scan_left(text));

    *line = (struct scan){.at = text->at, .end = newline ? newline : text->end};
    text->at = newline ? newline + 1 : text->end;
    return newline;
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
