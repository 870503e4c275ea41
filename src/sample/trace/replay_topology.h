#pragma once
/*
 * The topology of a trace.
 */
#include "sample/trace/trace.h"

/* With the ids of a machine record; no node is online yet. Return: 0 or -ENOMEM. */
int replay_topology_new(struct topology **topologyp, const struct trace_record *machine);

/* Takes node, cpus, isolated and room. Return: the record fits what is known. */
bool replay_topology_take(struct topology *topology, const struct trace_record *record);
