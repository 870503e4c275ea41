#include "topology_meminfo.h"

#include <stdio.h>
#include <string.h>

#include "util/procfs.h"
#include "util/scan.h"

#define KIB UINT64_C(1024)

int meminfo_read(const struct topology *topology, const char *root, int node, char **textp,
                 size_t *sizep)
{
    char path[64];
    int r;

    snprintf(path, sizeof path, "sys/devices/system/node/node%d/meminfo", node);
    r = procfs_read(root, path, textp, sizep);
    if (r == PROCFS_GONE && topology->n_node_ids == 1)
        r = procfs_read(root, "proc/meminfo", textp, sizep);
    return r > 0 ? MEMINFO_UNKNOWN : r;
}

static void skip_node(struct scan *line)
{
    struct scan after = *line;
    uint64_t node;

    if (scan_literal(&after, "Node ") && scan_decimal(&after, UINT64_MAX, &node) &&
        scan_char(&after, ' '))
        *line = after;
}

uint64_t meminfo_bytes(const char *text, size_t size, const char *field)
{
    struct scan rest = {.at = text, .end = text + size}, line;
    uint64_t kib;

    while (!scan_at_end(&rest)) {
        (void)scan_line(&rest, &line);
        skip_node(&line);
        if (!scan_literal(&line, field) || !scan_char(&line, ':'))
            continue;
        (void)scan_blanks(&line);
        if (scan_decimal(&line, UINT64_MAX / KIB, &kib) && scan_literal(&line, " kB"))
            return kib * KIB;
    }
    return 0;
}
