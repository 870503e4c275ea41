#pragma once
/*
 * Forgetting ranges.
 */
#include "numabd/attribute.h"

/*
 * May the range be forgotten? Not while it moves; never what a thread with its own policy used,
 * since it would come back unmarked. What is settled is left to its slab. Without samples a range
 * of a claim's memory stays until it has been seen where that says, or there are no pages.
 */
bool space_may_forget(const struct space *space, const struct range *range, double min_share,
                      uint64_t now);
