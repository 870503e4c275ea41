#include "sample/sources.h"

#include "util/array.h"

static const struct source_kind kinds[] = {
    {
        .name = "timer",
        .make = timer_new,
        .sees_who = true,
        .is_spare = true,
        .blind = "gathers, and what runs far from where the timer strikes",
    },
};

const struct source_kind *source_kinds(size_t *np)
{
    *np = ARRAY_LENGTH(kinds);
    return kinds;
}
