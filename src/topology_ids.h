#pragma once
/*
 * Sets of node or CPU ids, as sysfs tells them: in lists ("0-3,8") and as directories ("node8").
 */
#include <stdbool.h>

#include "util/cleanup.h"

enum {
    IDS_UNKNOWN = 1, /* no such file or folder, or it holds something else */
};

struct ids {
    bool *has; /* [limit] */
    int limit;
    int n_ids; /* highest + 1 */
};

#define IDS_NULL ((struct ids){.has = NULL, .limit = 0, .n_ids = 0})

/* Return: 0 or -ENOMEM. */
int ids_init(struct ids *ids, int limit);
void ids_deinit(struct ids *ids);

/* `userdata` is a struct ids; the id is below its limit. For topology_parse_list. */
void ids_add(void *userdata, int id);

/* Adds the ids of the list in the file ROOT/PATH. Return: 0, IDS_UNKNOWN, or a negative errno. */
int ids_add_list(struct ids *ids, const char *root, const char *path);

/*
 * Adds each N that has an entry PREFIX<N> in the folder ROOT/PATH, written as the kernel writes it
 * (not node01, nodeX, node1.bak). Return: 0, IDS_UNKNOWN, or a negative errno.
 */
int ids_add_entries(struct ids *ids, const char *root, const char *path, const char *prefix);
