#include <stdlib.h>
#include <string.h>

#include "numabd/discover.h"

void process_deinit(struct process *process)
{
    free(process->exe);
    free(process->cgroup);
    process->exe = process->cgroup = NULL;
    process->uid_known = false;
}

void process_list_deinit(struct process_list *list)
{
    for (size_t i = 0; i < list->n_items; i++)
        process_deinit(&list->items[i]);
    free(list->items);
    *list = (struct process_list){0};
}

void procs_deinit(struct procs *procs)
{
    if (procs->ops && procs->ops->free)
        procs->ops->free(procs->self);
    *procs = (struct procs){0};
}

static int is_unit(const char *name, size_t size)
{
    return (size > 8 && !strncmp(name + size - 8, ".service", 8)) ||
           (size > 6 && !strncmp(name + size - 6, ".scope", 6));
}

char *process_unit(const struct process *process)
{
    const char *unit = NULL;
    size_t unit_size = 0, size;

    for (const char *at = process->cgroup; at && *at; at += size + (at[size] == '/')) {
        /* systemd puts "_" before units named like a file of the kernel's ("memory.service"). */
        size_t prefix = *at == '_';

        size = strcspn(at, "/");
        if (is_unit(at + prefix, size - prefix)) {
            unit = at + prefix;
            unit_size = size - prefix;
        }
    }
    return unit ? strndup(unit, unit_size) : NULL;
}
