#pragma once
/*
 * Time as unsigned nanoseconds of CLOCK_MONOTONIC (584 years fit). Stages get `now` as an argument;
 * only the daemon asks the clock.
 */
#include <stdint.h>
#include <time.h>

#define NSEC_PER_USEC UINT64_C(1000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define NSEC_PER_SEC UINT64_C(1000000000)
#define NSEC_NEVER UINT64_MAX

static inline uint64_t nsec_of_clock(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

static inline uint64_t nsec_now(void)
{
    return nsec_of_clock(CLOCK_MONOTONIC);
}

static inline double nsec_to_sec(uint64_t nsec)
{
    return (double)nsec / (double)NSEC_PER_SEC;
}
