#include "sample/sources.h"

#include "util/array.h"

const struct source_kind *source_kinds(size_t *n)
{
    static const struct source_kind kinds[] = {
        {.name = "timer",
         .make = timer_new,
         .sees_who = true,
         .n_events = 1,
         .sees = "reads and writes, by which thread",
         .blind =
             "vector gathers, and operands whose registers were overwritten; shares inside one "
             "range are rough; x86-64 only"},
    };

    *n = ARRAY_LENGTH(kinds);
    return kinds;
}
