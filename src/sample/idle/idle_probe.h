#pragma once
/*
 * Idle probe: does idle-page tracking work here? Tried on numabd's own memory.
 */
#include "numabd/host.h"
#include "numabd/sample.h"

/* Return: 0, SOURCE_UNAVAILABLE with the reason, or a negative errno. */
int idle_probe(const struct host *host, struct source_reason *reason);

/* Says what an error of a file, or IDLE_SCAN_HIDDEN, means and what to change. */
void idle_probe_explain(int r, const char *path, struct source_reason *reason);
