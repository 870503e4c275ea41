#pragma once
/*
 * Node set: which nodes a listing has columns for, as ascending ids (ids are sparse).
 */
#include <stdbool.h>
#include <stddef.h>

#include "numabd/report.h"

struct node_set {
    int *ids;
    size_t n_ids, cap;
};

void node_set_deinit(struct node_set *set);

/* Return: 0, also when it is there already, or -ENOMEM. */
int node_set_add(struct node_set *set, int id);
/* Adds "0-3,8" as the files below /sys/devices/system/node hold it. Return: 0, -EINVAL (then
 * nothing was added), -ENOMEM. */
int node_set_add_list(struct node_set *set, const char *text);
/* Adds every node on which a process has memory. Return: 0 or -ENOMEM. */
int node_set_add_reports(struct node_set *set, const struct process_reports *reports);
