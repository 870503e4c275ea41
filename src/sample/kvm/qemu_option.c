#include "sample/kvm/qemu_option.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A string that grows up to the size of its buffer; NULL for one that is stepped over. */
struct text {
    char *at;
    size_t size, used;
};

static void text_add(struct text *text, char c)
{
    if (!text)
        return;
    if (text->used + 1 < text->size)
        text->at[text->used++] = c;
    text->at[text->used] = '\0';
}

static struct text text_in(char *buffer, size_t size)
{
    buffer[0] = '\0';
    return (struct text){.at = buffer, .size = size};
}

struct qemu_options qemu_options_of(const char *argument)
{
    const char *at = argument + strspn(argument, " \t\n");
    bool json = *at == '{';

    return (struct qemu_options){.at = json ? at + 1 : argument, .json = json};
}

/* Up to the comma that ends it; two stand for one. */
static const char *plain_value(const char *at, struct text *value)
{
    for (; *at; at++) {
        if (*at == ',' && *++at != ',')
            return at;
        text_add(value, *at);
    }
    return at;
}

static bool plain_next(struct qemu_options *options, struct qemu_option *option)
{
    struct text key = text_in(option->key, sizeof option->key);
    struct text value = text_in(option->value, sizeof option->value);
    size_t n = strcspn(options->at, "=,");
    bool first = !options->begun;

    if (!*options->at)
        return false;
    options->begun = true;
    if (options->at[n] == '=' || !first) {
        for (size_t i = 0; i < n; i++)
            text_add(&key, options->at[i]);
        options->at += n;
    }
    if (*options->at == '=')
        options->at++;
    options->at = plain_value(options->at, &value);
    return true;
}

static void skip_space(struct qemu_options *options)
{
    options->at += strspn(options->at, " \t\n\r");
}

/* Takes the string at `at`. \u escapes keep their spelling: no name that matters here has any. */
static bool json_string(struct qemu_options *options, struct text *text)
{
    const char *at = options->at;

    if (*at++ != '"')
        return false;
    for (; *at && *at != '"'; at++) {
        if (*at == '\\' && *++at == '\0')
            return false;
        text_add(text, *at);
    }
    if (*at != '"')
        return false;
    options->at = at + 1;
    return true;
}

/* Steps over an array or object, and the strings in it. */
static bool json_skip(struct qemu_options *options)
{
    unsigned depth = 0;

    do {
        if (!*options->at)
            return false;
        if (*options->at == '"') {
            if (!json_string(options, NULL))
                return false;
            continue;
        }
        depth += *options->at == '[' || *options->at == '{';
        depth -= *options->at == ']' || *options->at == '}';
        options->at++;
    } while (depth > 0);
    return true;
}

static bool json_value(struct qemu_options *options, struct text *value)
{
    size_t n;

    if (*options->at == '"')
        return json_string(options, value);
    if (*options->at == '[' || *options->at == '{')
        return json_skip(options);
    n = strcspn(options->at, ",} \t\n\r");
    for (size_t i = 0; i < n; i++)
        text_add(value, options->at[i]);
    options->at += n;
    return n > 0;
}

static bool json_next(struct qemu_options *options, struct qemu_option *option)
{
    struct text key = text_in(option->key, sizeof option->key);
    struct text value = text_in(option->value, sizeof option->value);

    skip_space(options);
    if (options->begun && *options->at++ != ',')
        return false;
    options->begun = true;
    skip_space(options);
    if (!json_string(options, &key))
        return false;
    skip_space(options);
    if (*options->at++ != ':')
        return false;
    skip_space(options);
    if (!json_value(options, &value))
        return false;
    skip_space(options);
    return true;
}

bool qemu_option_next(struct qemu_options *options, struct qemu_option *option)
{
    bool found = options->json ? json_next(options, option) : plain_next(options, option);

    if (!found)
        options->at = "";
    return found;
}

/* Bytes of a suffix letter; 0 for another one. */
static uint64_t suffix_bytes(char c)
{
    static const char letters[] = "bkmgtpe";
    const char *at = c ? strchr(letters, c | 0x20) : NULL;

    return at ? UINT64_C(1) << (10 * (at - letters)) : 0;
}

/* ".5" as a share of `unit`, in bytes. */
static uint64_t fraction_bytes(const char **textp, uint64_t unit)
{
    double share = 0, digit = 0.1;
    const char *at = *textp;

    if (*at != '.')
        return 0;
    for (at++; *at >= '0' && *at <= '9'; at++, digit /= 10)
        share += (*at - '0') * digit;
    *textp = at;
    return (uint64_t)(share * (double)unit);
}

bool qemu_size_parse(const char *text, uint64_t unit, uint64_t *bytesp)
{
    bool hex = text[0] == '0' && (text[1] | 0x20) == 'x';
    unsigned long long number;
    uint64_t bytes, suffix;
    const char *behind;
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    number = strtoull(text, &end, hex ? 16 : 10);
    if (errno)
        return false;
    behind = end;
    fraction_bytes(&behind, 0);
    suffix = suffix_bytes(*behind);
    unit = suffix ? suffix : unit;
    if (behind[suffix ? 1 : 0] || __builtin_mul_overflow(number, unit, &bytes))
        return false;
    behind = end;
    if (__builtin_add_overflow(bytes, fraction_bytes(&behind, unit), &bytes) || bytes == 0)
        return false;
    *bytesp = bytes;
    return true;
}
