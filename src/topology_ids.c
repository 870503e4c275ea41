#include "topology_ids.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numabd/topology.h"
#include "util/error.h"
#include "util/procfs.h"
#include "util/scan.h"

int ids_init(struct ids *ids, int limit)
{
    ids->has = calloc((size_t)limit, sizeof *ids->has);
    if (!ids->has)
        return -ENOMEM;
    ids->limit = limit;
    ids->n_ids = 0;
    return 0;
}

void ids_deinit(struct ids *ids)
{
    free(ids->has);
    *ids = IDS_NULL;
}

void ids_add(void *userdata, int id)
{
    struct ids *ids = userdata;

    ids->has[id] = true;
    if (id >= ids->n_ids)
        ids->n_ids = id + 1;
}

int ids_add_list(struct ids *ids, const char *root, const char *path)
{
    CLEANUP(freep) char *text = NULL;
    size_t size;
    int r;

    r = procfs_read(root, path, &text, &size);
    if (r)
        return r < 0 ? r : IDS_UNKNOWN;
    return topology_parse_list(text, ids->limit, ids_add, ids) < 0 ? IDS_UNKNOWN : 0;
}

static bool entry_id(const char *name, const char *prefix, int limit, int *idp)
{
    struct scan scan = {.at = name, .end = name + strlen(name)};
    uint64_t id;

    if (!scan_literal(&scan, prefix) || (*scan.at == '0' && scan.end - scan.at > 1) ||
        !scan_decimal(&scan, (uint64_t)limit - 1, &id) || !scan_at_end(&scan))
        return false;
    *idp = (int)id;
    return true;
}

int ids_add_entries(struct ids *ids, const char *root, const char *path, const char *prefix)
{
    CLEANUP(freep) char *full = NULL;
    CLEANUP(closedirp) DIR *dir = NULL;
    const struct dirent *entry;
    int id;

    if (asprintf(&full, "%s/%s", root, path) < 0) {
        full = NULL;
        return -ENOMEM;
    }
    dir = opendir(full);
    if (!dir)
        return errno == ENOMEM || errno == EMFILE || errno == ENFILE ? error_errno() : IDS_UNKNOWN;
    while ((entry = readdir(dir)))
        if (entry_id(entry->d_name, prefix, ids->limit, &id))
            ids_add(ids, id);
    return 0;
}
