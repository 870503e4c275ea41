/*
 * What all sources share. A source is made by its own constructor and is opaque from then on.
 */
#include "numabd/sample.h"

void source_deinit(struct source *source)
{
    if (source->ops)
        source->ops->free(source->self);
    *source = (struct source){0};
}
