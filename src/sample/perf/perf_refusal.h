#pragma once
/*
 * Perf refusal: what the kernel's refusal of an event or a ring means, with what an administrator
 * can change; one line. It is not an error of ours: numabd then runs without this source.
 */
#include "numabd/sample.h"

/* Each returns SOURCE_UNAVAILABLE with the reason filled in. `error` is a positive errno. */
int perf_refusal_open(int error, const struct host *host, struct source_reason *reason);
int perf_refusal_map(int error, struct source_reason *reason);
int perf_refusal_no_cpu(struct source_reason *reason);

/* Files or ring memory have run out: the same with fewer events may work. */
bool perf_refusal_is_shortage(int error);
/* Permission is missing. */
bool perf_refusal_is_denial(int error);
