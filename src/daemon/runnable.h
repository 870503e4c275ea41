#pragma once
/*
 * Runnable: does anybody but the caller run on this machine? For a moment in which numabd has
 * nothing to watch, that costs far less than to look at all processes.
 */
#include <stdbool.h>

#include "numabd/host.h"

/*
 * How many tasks are running or ready to run, from the text of /proc/loadavg
 * ("0.20 0.18 0.12 1/80 11206": 1). Return: the number, or -1 when it is no such text. Pure.
 */
long runnable_parse(const char *text);

/* Are there tasks that run beside the caller's thread? When that cannot be told: yes. */
bool runnable_any(const struct host *host);
