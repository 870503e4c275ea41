#include "sample/source_link.h"

#include <stdlib.h>

struct source_link *source_link_new(void *owner)
{
    struct source_link *link = calloc(1, sizeof *link);

    if (link)
        *link = (struct source_link){.n_refs = 1, .owner = owner};
    return link;
}

struct source_link *source_link_ref(struct source_link *link)
{
    __atomic_add_fetch(&link->n_refs, 1, __ATOMIC_RELAXED);
    return link;
}

struct source_link *source_link_unref(struct source_link *link)
{
    if (link && __atomic_sub_fetch(&link->n_refs, 1, __ATOMIC_ACQ_REL) == 0)
        free(link);
    return NULL;
}

struct source_link *source_link_cut(struct source_link *link)
{
    if (link)
        link->owner = NULL;
    return source_link_unref(link);
}
