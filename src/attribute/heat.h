#pragma once
/*
 * Heat: memory of which only is known that somebody touches it (idle page tracking). Such touches
 * are no evidence of who; they say which of a group's memory that no sample has shown is in use, so
 * that it goes along first.
 */
#include "numabd/attribute.h"

/*
 * A touch: the range around it is made where a group that has passed holds the address (*madep is
 * then set). Return: 0 (also when none was made) or -ENOMEM.
 */
int heat_add(struct space *space, uint64_t addr, bool may_grow, bool *madep);

/* Pieces that are looked at in a round, in all spaces: a few hash lookups each, 2 ms together. */
#define HEAT_LOOKED_AT_MAX 4096

/*
 * Pieces for attribute_list_unsampled, of one space; those that were looked at are added to
 * *n_lookedp. Return: how many.
 */
size_t heat_list(struct space *space, struct sample_range *ranges, size_t limit,
                 unsigned *n_lookedp);

/* By pid, then ascending. */
void heat_sort(struct sample_range *ranges, size_t n);
