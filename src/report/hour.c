#include "report/hour.h"

#include <string.h>

#include "util/nsec.h"

static void hour_advance(struct hour *hour, uint64_t now)
{
    uint64_t minute = now / (60 * NSEC_PER_SEC);

    if (minute >= hour->minute + HOUR_MINUTES)
        memset(hour->bytes, 0, sizeof hour->bytes);
    else
        for (uint64_t m = hour->minute + 1; m <= minute; m++)
            hour->bytes[m % HOUR_MINUTES] = 0;
    if (minute > hour->minute)
        hour->minute = minute;
}

void hour_add(struct hour *hour, uint64_t now, uint64_t bytes)
{
    hour_advance(hour, now);
    hour->bytes[hour->minute % HOUR_MINUTES] += bytes;
}

uint64_t hour_sum(struct hour *hour, uint64_t now)
{
    uint64_t sum = 0;

    hour_advance(hour, now);
    for (unsigned i = 0; i < HOUR_MINUTES; i++)
        sum += hour->bytes[i];
    return sum;
}
