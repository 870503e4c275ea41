#pragma once
/*
 * Memory of one node: nodeN/meminfo, or /proc/meminfo for a node that is the only one.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "numabd/topology.h"

enum {
    MEMINFO_UNKNOWN = 1 /* it cannot be read */
};

/* Return: 0, MEMINFO_UNKNOWN, or a negative errno. The caller frees *textp. */
int meminfo_read(const struct topology *topology, const char *root, int node, char **textp,
                 size_t *sizep);

/* The bytes of "Node 0 FIELD:  123 kB" or "FIELD:  123 kB", 0 when there is no such line. */
uint64_t meminfo_bytes(const char *text, size_t size, const char *field);
