/*
 * Lists as the kernel prints them, "0-3,8,10-11". libnuma's numa_parse_nodestring() and
 * numa_parse_cpustring() cannot be used: they refuse ids that the running host does not have, so
 * that the list of another, larger machine below a root could not be read.
 */
#include <errno.h>
#include <string.h>

#include "numabd/topology.h"
#include "util/scan.h"

static void skip_space(struct scan *scan)
{
    while (scan_char(scan, ' ') || scan_char(scan, '\t') || scan_char(scan, '\n'))
        ;
}

/* "8" or "10-11" */
static bool scan_range(struct scan *scan, uint64_t max, uint64_t *firstp, uint64_t *lastp)
{
    if (!scan_decimal(scan, max, firstp))
        return false;
    *lastp = *firstp;
    return !scan_char(scan, '-') || (scan_decimal(scan, max, lastp) && *lastp >= *firstp);
}

/* Without `visit` only proves the list to be sound. */
static bool scan_list(struct scan scan, uint64_t max, void (*visit)(void *userdata, int id),
                      void *userdata)
{
    uint64_t first, last;

    skip_space(&scan);
    if (scan_at_end(&scan))
        return true;
    do {
        skip_space(&scan);
        if (!scan_range(&scan, max, &first, &last))
            return false;
        for (uint64_t id = first; visit && id <= last; id++)
            visit(userdata, (int)id);
        skip_space(&scan);
    } while (scan_char(&scan, ','));
    return scan_at_end(&scan);
}

int topology_parse_list(const char *text, int limit, void (*visit)(void *userdata, int id),
                        void *userdata)
{
    struct scan scan = {.at = text, .end = text + strlen(text)};
    uint64_t max = limit > 0 ? (uint64_t)limit - 1 : 0;

    if (limit <= 0)
        return -EINVAL;
    if (!scan_list(scan, max, NULL, NULL))
        return -EINVAL;
    (void)scan_list(scan, max, visit, userdata);
    return 0;
}
