#pragma once
/*
 * Values with units, as numabd.conf has them: "500 ms", "1.5 GiB", "60 %", "yes".
 */
#include <stdint.h>

enum value_kind {
    VALUE_TIME,      /* in nanoseconds */
    VALUE_SIZE,      /* in bytes */
    VALUE_BANDWIDTH, /* in bytes per second */
    VALUE_FREQUENCY, /* in Hz */
    VALUE_SHARE,     /* in permyriad */
    VALUE_ROUNDS,    /* a count; may go without its unit */
    VALUE_BITS,      /* the same */
    VALUE_SWITCH,    /* 0 or 1 */
    VALUE_CHOICE,    /* one of the setting's names (config_names.h) */
    VALUE_NAMES,     /* a bit for each of the setting's names */
    VALUE_KIND_COUNT
};

enum {
    VALUE_NOT_A_VALUE = 1, /* no number, or neither yes nor no */
    VALUE_NO_UNIT,         /* a bare number */
    VALUE_UNKNOWN_UNIT,
    VALUE_TOO_LARGE, /* for 64 bits */
};

/* A fraction of the base unit is rounded down. Return: 0 or one of the above. */
int value_parse(enum value_kind kind, const char *text, uint64_t *valuep);

/* What value_parse accepts, "ms, s or min". */
const char *value_units(enum value_kind kind);
