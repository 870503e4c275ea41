#pragma once
/*
 * What a target node may take in one round.
 */
#include "numabd/decide.h"

/*
 * Bytes kept free on a node: the configured headroom or 1 % of the node, whichever is more, but at
 * most 1/16 of the node (small nodes would otherwise never be used).
 */
uint64_t budget_headroom(const struct config *config, const struct node *node);

/*
 * Room above watermarks and headroom; clean inactive page cache counts when config says so and
 * nobody has to reclaim memory in the way of his own work (pressed, see pressure.h). Near the limit
 * it is taken in steps of a quarter of the headroom, since the room is read once a round.
 */
uint64_t budget_room(const struct config *config, const struct node *node, bool pressed);
