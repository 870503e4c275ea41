#pragma once
/*
 * A cursor over text that need not end with a NUL. Each scan_... steps over what it took and
 * returns true, or leaves the cursor (and its output) as it was and returns false.
 */
#include <stdbool.h>
#include <stdint.h>

struct scan {
    const char *at, *end; /* [at, end) */
};

/*
 * Takes the next line, without its newline. What is left without a newline is taken as well, but
 * returns false.
 */
bool scan_line(struct scan *text, struct scan *line);

/* Takes blanks (not tabs). Return: at least one was there. */
bool scan_blanks(struct scan *scan);

/* Takes what stands before the next blank. Return: at least one character was there. */
bool scan_word(struct scan *scan, struct scan *word);

bool scan_char(struct scan *scan, char c);
bool scan_literal(struct scan *scan, const char *literal);

/* One or more digits, no sign, at most `max`. */
bool scan_decimal(struct scan *scan, uint64_t max, uint64_t *valuep);
bool scan_hex(struct scan *scan, uint64_t max, uint64_t *valuep);

static inline bool scan_at_end(const struct scan *scan)
{
    return scan->at >= scan->end;
}
