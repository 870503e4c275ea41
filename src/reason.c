#include "numabd/reason.h"

static const struct {
    const char *name;
    const char *text;
} reasons[] = {
#define X(constant, name_, text_) [REASON_##constant] = {.name = name_, .text = text_},
    REASONS(X)
#undef X
};

const char *reason_name(enum reason reason)
{
    return reason < REASON_COUNT ? reasons[reason].name : "unknown";
}

const char *reason_text(enum reason reason)
{
    return reason < REASON_COUNT ? reasons[reason].text : "unknown";
}
