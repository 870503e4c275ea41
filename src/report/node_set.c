/*
 * Node set
 */
#include "report/node_set.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

enum {
    NODE_ID_MAX = 1023
}; /* MAX_NUMNODES of the largest kernel configurations, less one */

void node_set_deinit(struct node_set *set)
{
    free(set->ids);
    *set = (struct node_set){0};
}

int node_set_add(struct node_set *set, int id)
{
    size_t at = set->n_ids;

    while (at > 0 && set->ids[at - 1] >= id)
        at--;
    if (at < set->n_ids && set->ids[at] == id)
        return 0;
    if (ARRAY_RESERVE(set->ids, set->cap, set->n_ids + 1) < 0)
        return -ENOMEM;
    memmove(&set->ids[at + 1], &set->ids[at], (set->n_ids - at) * sizeof *set->ids);
    set->ids[at] = id;
    set->n_ids++;
    return 0;
}

static int parse_id(const char **textp, int *idp)
{
    unsigned long id;
    char *end;

    if (!isdigit((unsigned char)**textp))
        return -EINVAL;
    id = strtoul(*textp, &end, 10);
    if (id > NODE_ID_MAX)
        return -EINVAL;
    *textp = end;
    *idp = (int)id;
    return 0;
}

static int add_range(struct node_set *set, const char **textp)
{
    int first, last, r = parse_id(textp, &first);

    last = first;
    if (r == 0 && **textp == '-') {
        (*textp)++;
        r = parse_id(textp, &last);
    }
    for (int id = first; r == 0 && id <= last; id++)
        r = node_set_add(set, id);
    return r;
}

int node_set_add_list(struct node_set *set, const char *text)
{
    while (*text && *text != '\n') {
        int r = add_range(set, &text);

        if (r < 0)
            return r;
        if (*text == ',')
            text++;
        else if (*text && *text != '\n')
            return -EINVAL;
    }
    return 0;
}

int node_set_add_reports(struct node_set *set, const struct process_reports *reports)
{
    for (size_t i = 0; i < reports->n_items; i++) {
        const struct process_report *report = &reports->items[i];

        for (unsigned n = 0; n < report->n_nodes; n++)
            if (report->nodes[n].bytes && node_set_add(set, report->nodes[n].node) < 0)
                return -ENOMEM;
    }
    return 0;
}
