#pragma once
/*
 * Pressure: is this machine reclaiming memory in the way of those who allocate? Pure.
 *
 * Page cache counts as room for moves (budget.h), since kswapd frees it in the background. When
 * tasks have to free memory themselves it does not keep up: then only free memory counts, and
 * nodes that are short of it get nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/nsec.h"

/* Held against page cache for so long after the last sign. */
#define PRESSURE_NSEC (10 * NSEC_PER_SEC)

struct pressure {
    bool known;
    uint64_t n_direct;   /* events of direct reclaim since boot, at the last look */
    uint64_t until_nsec; /* 0: there was none */
};

/*
 * Direct reclaim in the text of /proc/vmstat: the sum of allocstall_* (times that a task had to
 * reclaim; "allocstall" before Linux 4.10) and of pgscan_direct (pages that it looked at). Reclaim
 * for a control group's own limit is in neither. Return: there was one of them at least.
 */
bool pressure_parse(const char *text, size_t size, uint64_t *n_directp);

/* n_direct as pressure_parse gives it. */
void pressure_note(struct pressure *pressure, uint64_t n_direct, uint64_t now);

bool pressure_is_on(const struct pressure *pressure, uint64_t now);
