/*
 * Node set
 */
#include "report/node_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "numabd/topology.h"
#include "util/array.h"

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

struct list_reader {
    struct node_set *set;
    int r;
};

static void list_reader_visit(void *userdata, int id)
{
    struct list_reader *reader = userdata;

    if (!reader->r)
        reader->r = node_set_add(reader->set, id);
}

int node_set_add_list(struct node_set *set, const char *text)
{
    struct list_reader reader = {.set = set};
    int r = topology_parse_list(text, TOPOLOGY_NODE_MAX, list_reader_visit, &reader);

    return r < 0 ? r : reader.r;
}

int node_set_add_reports(struct node_set *set, const struct process_reports *reports)
{
    for (size_t i = 0; i < reports->n_items; i++) {
        const struct node_list *nodes = &reports->items[i].nodes;

        for (unsigned n = 0; n < nodes->n_items; n++)
            if (nodes->items[n].bytes && node_set_add(set, nodes->items[n].node) < 0)
                return -ENOMEM;
    }
    return 0;
}
