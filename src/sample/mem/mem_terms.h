#pragma once
/*
 * Memory event terms: how a PMU's sysfs folder spells an event, put into perf_event_attr. Pure text
 * in, bits out (Documentation/ABI/testing/sysfs-bus-event_source-devices-format and -events).
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/scan.h"

enum {
    /* no such field, or the value does not fit in it; attr is unchanged */
    MEM_TERMS_MISFIT = 1,
};

/* One term of "event=0xcd,umask=0x1,ldlat=3"; a name alone stands for 1. */
struct mem_term {
    char name[32];
    uint64_t value;
};

/* Takes the next term and the comma behind it. Return: one was there and well formed. */
bool mem_terms_next(struct scan *terms, struct mem_term *term);

/*
 * Puts a value into the bits that a format file names: "config:0-7", "config1:0-15", "config2:0",
 * or in pieces from the lowest, "config:0-7,32-35". Bits of the field that were set before are
 * cleared. Return: 0 or MEM_TERMS_MISFIT.
 */
int mem_terms_apply(struct perf_event_attr *attr, const char *format, uint64_t value);
