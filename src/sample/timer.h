#pragma once
/*
 * The timer source behind its opening: from rings that are there already. timer_new opens them.
 */
#include <stdbool.h>

#include "numabd/sample.h"
#include "sample/perf_ring.h"

/*
 * Takes over *rings (which is PERF_RINGS_NULL afterwards, also on failure). `backward`: as
 * x86_line_decode.
 * Return: 0 or -ENOMEM.
 */
int timer_new_from_rings(struct source *source, const struct source_options *options, bool backward,
                         struct perf_rings *rings);
