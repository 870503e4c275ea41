#pragma once
/*
 * Policies that claims wait for.
 */
#include "numabd/attribute.h"

/* *vmap: of the VMA of a claim; *threadp: there is a claim at all, so threads may matter. */
void unknown_find(const struct space *space, bool *vmap, bool *threadp);

/* Is there a thread whose policy was not read yet? */
bool unknown_has_threads(const struct space *space);
