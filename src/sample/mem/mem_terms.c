/*
 * A PMU says in format/NAME where the field NAME lies in the config words, and in events/NAME which
 * values its fields have for that event. Fields may lie in pieces since their hardware grew: AMD's
 * event numbers are config:0-7,32-35, Intel's umask2 made umask config:8-15,40-47.
 */
#include "sample/mem/mem_terms.h"

#include <string.h>

#include "util/array.h"

#define PIECES_MAX 8

struct piece {
    unsigned low, high; /* bits, both included */
};

struct field {
    unsigned word; /* 0: config, 1: config1, 2: config2 */
    struct piece pieces[PIECES_MAX];
    size_t n_pieces;
};

static bool scan_number(struct scan *scan, uint64_t *valuep)
{
    if (scan_literal(scan, "0x"))
        return scan_hex(scan, UINT64_MAX, valuep);
    return scan_decimal(scan, UINT64_MAX, valuep);
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool scan_name(struct scan *scan, char *name, size_t size)
{
    size_t n = 0;

    while (scan->at + n < scan->end && is_name_char(scan->at[n]))
        n++;
    if (n == 0 || n >= size)
        return false;
    memcpy(name, scan->at, n);
    name[n] = '\0';
    scan->at += n;
    return true;
}

bool mem_terms_next(struct scan *terms, struct mem_term *term)
{
    struct mem_term next = {.value = 1};
    struct scan at = *terms;

    if (!scan_name(&at, next.name, sizeof next.name))
        return false;
    if (scan_char(&at, '=') && !scan_number(&at, &next.value))
        return false;
    if (!scan_at_end(&at) && !scan_char(&at, ','))
        return false;
    *terms = at;
    *term = next;
    return true;
}

static bool scan_piece(struct scan *scan, struct piece *piece)
{
    uint64_t low, high;

    if (!scan_decimal(scan, 63, &low))
        return false;
    high = low;
    if (scan_char(scan, '-') && !scan_decimal(scan, 63, &high))
        return false;
    *piece = (struct piece){(unsigned)low, (unsigned)high};
    return low <= high;
}

/* config1 and config2 before config, which begins both. */
static bool scan_word_name(struct scan *scan, unsigned *wordp)
{
    static const struct {
        const char *name;
        unsigned word;
    } names[] = {{"config1:", 1}, {"config2:", 2}, {"config:", 0}};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (scan_literal(scan, names[i].name)) {
            *wordp = names[i].word;
            return true;
        }
    return false;
}

static bool field_parse(struct field *field, const char *format)
{
    struct scan scan = {format, format + strcspn(format, "\n")};

    *field = (struct field){0};
    if (!scan_word_name(&scan, &field->word))
        return false;
    do {
        if (field->n_pieces == PIECES_MAX || !scan_piece(&scan, &field->pieces[field->n_pieces++]))
            return false;
    } while (scan_char(&scan, ','));
    return scan_at_end(&scan);
}

static uint64_t ones(unsigned n_bits)
{
    return n_bits >= 64 ? UINT64_MAX : (UINT64_C(1) << n_bits) - 1;
}

/* Return: the word with the value in it, or false in *fitsp. */
static uint64_t field_put(const struct field *field, uint64_t word, uint64_t value, bool *fitsp)
{
    for (size_t i = 0; i < field->n_pieces; i++) {
        unsigned low = field->pieces[i].low, n_bits = field->pieces[i].high - low + 1;
        uint64_t mask = ones(n_bits);

        word = (word & ~(mask << low)) | ((value & mask) << low);
        value = n_bits >= 64 ? 0 : value >> n_bits;
    }
    *fitsp = value == 0;
    return word;
}

int mem_terms_apply(struct perf_event_attr *attr, const char *format, uint64_t value)
{
    uint64_t words[] = {attr->config, attr->config1, attr->config2};
    struct field field;
    bool fits;

    if (!field_parse(&field, format))
        return MEM_TERMS_MISFIT;
    words[field.word] = field_put(&field, words[field.word], value, &fits);
    if (!fits)
        return MEM_TERMS_MISFIT;
    attr->config = words[0];
    attr->config1 = words[1];
    attr->config2 = words[2];
    return 0;
}
