#include "config_value.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "util/array.h"
#include "util/nsec.h"

#define UNITS_MAX 5
#define FRACTION_DIGITS_MAX 6

struct unit {
    const char *name;
    uint64_t factor; /* of the base unit */
};

static const struct kind {
    const char *text;
    bool bare; /* a number without unit is clear enough */
    struct unit units[UNITS_MAX];
} kinds[VALUE_KIND_COUNT] = {
    [VALUE_TIME] = {.text = "ms, s or min",
                    .units = {{"ms", NSEC_PER_MSEC},
                              {"s", NSEC_PER_SEC},
                              {"min", 60 * NSEC_PER_SEC}}},
    [VALUE_SIZE] = {.text = "B, KiB, MiB, GiB or TiB",
                    .units = {{"B", 1},
                              {"KiB", UINT64_C(1) << 10},
                              {"MiB", UINT64_C(1) << 20},
                              {"GiB", UINT64_C(1) << 30},
                              {"TiB", UINT64_C(1) << 40}}},
    [VALUE_BANDWIDTH] = {.text = "KiB/s, MiB/s, GiB/s or TiB/s",
                         .units = {{"KiB/s", UINT64_C(1) << 10},
                                   {"MiB/s", UINT64_C(1) << 20},
                                   {"GiB/s", UINT64_C(1) << 30},
                                   {"TiB/s", UINT64_C(1) << 40}}},
    [VALUE_FREQUENCY] = {.text = "Hz or kHz", .units = {{"Hz", 1}, {"kHz", 1000}}},
    [VALUE_SHARE] = {.text = "%", .units = {{"%", 100}}},
    [VALUE_ROUNDS] = {.text = "rounds", .bare = true, .units = {{"rounds", 1}, {"round", 1}}},
    [VALUE_BITS] = {.text = "bits", .bare = true, .units = {{"bits", 1}}},
    [VALUE_SWITCH] = {.text = "yes or no"},
    [VALUE_CHOICE] = {.text = "A name"},
    [VALUE_NAMES] = {.text = "A list of names"},
};

const char *value_units(enum value_kind kind)
{
    return kinds[kind].text;
}

/* "12.5 s" as 12, 5 and 10 (the fraction is 5/10) with *textp behind it. */
struct number {
    uint64_t whole, fraction, scale;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int parse_whole(const char **textp, uint64_t *valuep)
{
    if (!is_digit(**textp))
        return VALUE_NOT_A_VALUE;
    for (*valuep = 0; is_digit(**textp); ++*textp)
        if (__builtin_mul_overflow(*valuep, 10, valuep) ||
            __builtin_add_overflow(*valuep, (uint64_t)(**textp - '0'), valuep))
            return VALUE_TOO_LARGE;
    return 0;
}

static int parse_number(const char **textp, struct number *number)
{
    int r = parse_whole(textp, &number->whole);

    number->fraction = 0;
    number->scale = 1;
    if (r || **textp != '.')
        return r;
    if (!is_digit(*++*textp))
        return VALUE_NOT_A_VALUE;
    for (int n = 0; is_digit(**textp); n++, ++*textp) {
        if (n == FRACTION_DIGITS_MAX)
            return VALUE_NOT_A_VALUE;
        number->fraction = number->fraction * 10 + (uint64_t)(**textp - '0');
        number->scale *= 10;
    }
    return 0;
}

static int find_unit(const struct kind *kind, const char *name, uint64_t *factorp)
{
    if (!*name && kind->bare) {
        *factorp = 1;
        return 0;
    }
    if (!*name)
        return VALUE_NO_UNIT;
    for (size_t i = 0; i < UNITS_MAX && kind->units[i].name; i++)
        if (!strcmp(kind->units[i].name, name)) {
            *factorp = kind->units[i].factor;
            return 0;
        }
    return VALUE_UNKNOWN_UNIT;
}

static int parse_switch(const char *text, uint64_t *valuep)
{
    bool yes = !strcasecmp(text, "yes");

    if (!yes && strcasecmp(text, "no"))
        return VALUE_NOT_A_VALUE;
    *valuep = yes;
    return 0;
}

int value_parse(enum value_kind kind, const char *text, uint64_t *valuep)
{
    struct number number;
    uint64_t factor, value;
    int r;

    if (kind == VALUE_SWITCH)
        return parse_switch(text, valuep);
    if (kind == VALUE_CHOICE || kind == VALUE_NAMES)
        return VALUE_NOT_A_VALUE; /* config_names.h parses these */
    if ((r = parse_number(&text, &number)))
        return r;
    if ((r = find_unit(&kinds[kind], text + strspn(text, " \t"), &factor)))
        return r;
    if (__builtin_mul_overflow(number.whole, factor, &value) ||
        __builtin_add_overflow(value, number.fraction * factor / number.scale, &value))
        return VALUE_TOO_LARGE;
    *valuep = value;
    return 0;
}
