/*
 * "a 4000000 7f0000401000 t4712 c1": nanoseconds since the last one, address, then the fields that
 * have changed, each with a letter in front. Letters and names that are not known are of a later
 * numabd: the field keeps its value.
 */
#include <string.h>

#include "sample/trace/trace_parse.h"
#include "util/array.h"

/* Return: the name's value, or `unknown`. */
static int find_name(const struct scan *word, const char *const *names, size_t n, int unknown)
{
    for (size_t i = 0; i < n; i++) {
        struct scan left = *word;

        if (scan_literal(&left, names[i]) && scan_at_end(&left))
            return (int)i;
    }
    return unknown;
}

static bool parse_weight(struct scan *word, double *weightp)
{
    char text[32], *end;
    size_t size = (size_t)(word->end - word->at);

    if (size == 0 || size >= sizeof text)
        return false;
    memcpy(text, word->at, size);
    text[size] = '\0';
    *weightp = strtod(text, &end);
    word->at = word->end;
    /* A day stands for more than any sample; NaN fails both. */
    return end == text + size && *weightp >= 0 && *weightp <= 86400;
}

static bool parse_pid(struct scan *word, pid_t *pidp)
{
    int value;

    if (!trace_scan_digits(word, &value) || value < 0)
        return false;
    *pidp = value;
    return true;
}

static bool parse_field(char letter, struct scan *word, struct access *access)
{
    switch (letter) {
    case 'p':
        return parse_pid(word, &access->pid) && scan_at_end(word);
    case 't':
        return parse_pid(word, &access->tid) && scan_at_end(word);
    case 'c':
        return trace_scan_digits(word, &access->cpu) && scan_at_end(word);
    case 'w':
        return parse_weight(word, &access->weight_sec);
    case 'k':
        access->kind = (enum access_kind)find_name(
            word, trace_access_kinds, ARRAY_LENGTH(trace_access_kinds), (int)access->kind);
        return true;
    case 's':
        access->source = (enum access_source)find_name(
            word, trace_access_sources, ARRAY_LENGTH(trace_access_sources), ACCESS_SOURCE_REPLAY);
        return true;
    case 'l':
        access->locality = (enum access_locality)find_name(
            word, trace_localities, ARRAY_LENGTH(trace_localities), ACCESS_LOCALITY_UNKNOWN);
        return true;
    default:
        return true;
    }
}

bool trace_parse_access(struct scan *line, struct trace_record *record)
{
    struct access *access = &record->access;
    uint64_t delta;
    struct scan word;
    bool back;

    if (!scan_blanks(line))
        return false;
    back = scan_char(line, '-');
    if (!scan_decimal(line, UINT64_MAX, &delta) || !scan_blanks(line) ||
        !scan_hex(line, UINT64_MAX, &access->addr))
        return false;
    access->when_nsec += back ? -delta : delta;
    while (scan_blanks(line) && scan_word(line, &word)) {
        char letter = *word.at++;

        if (!parse_field(letter, &word, access))
            return false;
    }
    record->pid = access->pid;
    return scan_at_end(line);
}
