#pragma once
/*
 * Bytes in the last hour, by minute.
 */
#include <stdint.h>

#define HOUR_MINUTES 60

struct hour {
    uint64_t bytes[HOUR_MINUTES];
    uint64_t minute; /* the newest one counted */
};

void hour_add(struct hour *hour, uint64_t now, uint64_t bytes);
uint64_t hour_sum(struct hour *hour, uint64_t now);
