#pragma once
/*
 * Fault probe: do the events of page faults arrive with their addresses? Tried on pages of our own.
 */
#include "numabd/sample.h"
#include "sample/fault/write_fault.h"

/*
 * Opens the events for this process, writes to new pages and looks for them, and closes the events.
 * Return: 0, SOURCE_UNAVAILABLE with the reason, or a negative errno.
 */
int fault_probe(const struct source_options *options, const struct write_fault_events *events,
                struct source_reason *reason);
