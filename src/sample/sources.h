#pragma once
/*
 * The kinds of sources that there are, in order of preference. The names of numabd.conf's `sources`
 * are in the same order (config_names.c).
 */
#include "numabd/sampler.h"

const struct source_kind *source_kinds(size_t *np);
