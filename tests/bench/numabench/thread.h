#pragma once

/*
 * One worker thread: pins itself if wanted, populates its part of the memory, waits for the start,
 * sweeps until told to stop or done, and checks its part once more when values are verified.
 */

#include "team.h"

void thread_start(const struct team *team, const struct member *member, struct counters *counters);
