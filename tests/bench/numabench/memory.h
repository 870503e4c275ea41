#pragma once

/*
 * The memory of the workload: where it is mapped, and on which nodes its pages begin.
 *
 * Only hard-bind leaves a policy on the memory. For the others the populating thread runs under a
 * policy of its own for a moment, so that a balancer is free to move the pages afterwards.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "team.h"

/* Address space for BYTES, aligned to 2 MiB; no page of it is there yet. */
uintptr_t memory_map(size_t bytes, bool huge);

/* Exits with one line where the placement asks for what this machine does not have. */
void memory_check_placement(const struct options *options, const struct machine *machine);

/* Writes generation 0 to each word that MEMBER is to touch first. */
void memory_populate(const struct team *team, const struct member *member);

/* Keeps one page in the middle of MEMBER's memory from being moved, until the process ends. */
void memory_hold_page(const struct member *member);
