#pragma once
/*
 * The timer source behind its opening: on any kernel. timer_new takes the live one.
 */
#include <stdbool.h>

#include "numabd/sample.h"
#include "sample/perf/perf_kernel.h"

/*
 * `backward`: as x86_line_decode; what `kernel` points to outlives the source.
 * Return: 0, SOURCE_UNAVAILABLE, or a negative errno.
 */
int timer_new_from_kernel(struct source *source, const struct source_options *options,
                          bool backward, const struct perf_kernel *kernel,
                          struct source_reason *reason);
