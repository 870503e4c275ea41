/*
 * Text
 */
#include "report/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util/array.h"
#include "util/utf8.h"

const char *text_bytes(char text[static TEXT_SIZE], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    uint64_t tenths;

    /* 1023.95 and above would round to "1024". */
    while (unit + 1 < ARRAY_LENGTH(units) && value >= (unit ? 1023.5 : 1024)) {
        value /= 1024;
        unit++;
    }
    tenths = (uint64_t)(value * 10 + 0.5);
    if (tenths < 1000 && tenths % 10)
        snprintf(text, TEXT_SIZE, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10,
                 units[unit]);
    else
        snprintf(text, TEXT_SIZE, "%.0f %s", value, units[unit]);
    return text;
}

const char *text_mebibytes(char text[static TEXT_SIZE], uint64_t bytes)
{
    uint64_t mebibytes = bytes / (1 << 20) + (bytes % (1 << 20) >= 1 << 19);

    snprintf(text, TEXT_SIZE, "%" PRIu64 " MiB", mebibytes);
    return text;
}

const char *text_permyriad(char text[static TEXT_SIZE], int64_t permyriad)
{
    int64_t permille = (permyriad + 5) / 10;

    if (permyriad < 0)
        snprintf(text, TEXT_SIZE, "-");
    else
        snprintf(text, TEXT_SIZE, "%" PRId64 ".%" PRId64 " %%", permille / 10, permille % 10);
    return text;
}

const char *text_duration(char text[static TEXT_SIZE], uint64_t sec)
{
    uint64_t min = sec / 60, hours = min / 60, days = hours / 24;

    if (days)
        snprintf(text, TEXT_SIZE, "%" PRIu64 "d %" PRIu64 "h", days, hours % 24);
    else if (hours)
        snprintf(text, TEXT_SIZE, "%" PRIu64 "h %" PRIu64 "m", hours, min % 60);
    else if (min)
        snprintf(text, TEXT_SIZE, "%" PRIu64 "m %" PRIu64 "s", min, sec % 60);
    else
        snprintf(text, TEXT_SIZE, "%" PRIu64 "s", sec);
    return text;
}

/* C0, DEL and C1 draw; the others are the zero-width and direction marks, with which a name can
 * look like another name or swallow the rest of its line. */
static bool is_drawing(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0, 0x1F},        {0x7F, 0x9F},      {0xAD, 0xAD},     {0x61C, 0x61C},
                  {0x200B, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F}, {0xFEFF, 0xFEFF},
                  {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};

    for (size_t i = 0; i < ARRAY_LENGTH(ranges); i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

static size_t escape_one(char piece[static 16], const char *from, size_t *sizep)
{
    uint32_t code = utf8_decode(from, sizep);

    if (code == UTF8_INVALID)
        snprintf(piece, 16, "\\x%02x", (unsigned char)*from);
    else if (code == '\\')
        snprintf(piece, 16, "\\\\");
    else if (is_drawing(code))
        snprintf(piece, 16, code < 0x100 ? "\\x%02" PRIx32 : "\\u%04" PRIx32, code);
    else
        snprintf(piece, 16, "%.*s", (int)*sizep, from);
    return strlen(piece);
}

const char *text_escape(char *to, size_t size, const char *from)
{
    size_t used = 0, step, n;
    char piece[16];

    for (; *from; from += step) {
        n = escape_one(piece, from, &step);
        if (used + n >= size)
            break;
        memcpy(to + used, piece, n);
        used += n;
    }
    to[used] = '\0';
    return to;
}

size_t text_width(const char *text)
{
    size_t width = 0, size;

    for (; utf8_decode(text, &size) != 0; text += size)
        width++;
    return width;
}
