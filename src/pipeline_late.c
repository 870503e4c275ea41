/*
 * Late requests. A process with any of them out is stuck: nothing is sampled, asked or moved of it
 * until the last one has returned. They are counted by pid, whether the process has an address
 * space yet or not, and whichever stage they are of.
 */
#include <stdio.h>

#include "pipeline_state.h"
#include "util/array.h"

static struct late_process *late_find(const struct pipeline *pipeline, pid_t pid)
{
    for (size_t i = 0; i < pipeline->n_late; i++)
        if (pipeline->late[i].pid == pid)
            return &pipeline->late[i];
    return NULL;
}

bool pipeline_is_stuck(const struct pipeline *pipeline, pid_t pid)
{
    return late_find(pipeline, pid) != NULL;
}

void pipeline_on_late(struct pipeline *pipeline, pid_t pid, const char *name)
{
    struct late_process *late = late_find(pipeline, pid);

    if (late) {
        late->n_requests++;
        return;
    }
    if (ARRAY_RESERVE(pipeline->late, pipeline->late_cap, pipeline->n_late + 1) < 0)
        return;
    pipeline->late[pipeline->n_late++] = (struct late_process){.pid = pid, .n_requests = 1};
    attribute_set_stuck(pipeline->attribute, pid, true);
    if (pid)
        pipeline_log(pipeline, "process %d is stuck: %s did not return in time; it is left alone",
                     pid, name);
    else /* it asks several processes */
        pipeline_log(pipeline, "%s did not return in time: shared memory waits for it", name);
}

void pipeline_on_returned(struct pipeline *pipeline, pid_t pid)
{
    struct late_process *late = late_find(pipeline, pid);

    if (!late || --late->n_requests > 0)
        return;
    *late = pipeline->late[--pipeline->n_late];
    attribute_set_stuck(pipeline->attribute, pid, false);
}

void pipeline_on_lost(struct pipeline *pipeline, size_t n_lost)
{
    bool exhausted = n_lost >= WORKER_LOST_MAX;
    char why[256];

    if (exhausted && !pipeline->exhausted) {
        pipeline_describe_exhausted(pipeline, why, sizeof why);
        pipeline_log(pipeline, "observing from now on: %s", why);
    }
    pipeline->exhausted = exhausted;
}

bool pipeline_observes(const struct pipeline *pipeline)
{
    return pipeline->config->observe || pipeline->exhausted || pipeline->held;
}

void pipeline_hold(struct pipeline *pipeline, bool held)
{
    pipeline->held = held;
    if (held)
        migrate_recall(pipeline->migrate);
}

void pipeline_describe_exhausted(const struct pipeline *pipeline, char *why, size_t size)
{
    size_t used = (size_t)snprintf(why, size,
                                   "stuck processes block %d workers: nothing is moved until they "
                                   "go on or are ended:",
                                   WORKER_LOST_MAX);

    for (size_t i = 0; i < pipeline->n_late && used < size; i++)
        used +=
            (size_t)snprintf(&why[used], size - used, "%s %d", i ? "," : "", pipeline->late[i].pid);
}
