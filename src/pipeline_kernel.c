/*
 * The kernel's own balancing, as far as a round concerns it.
 */
#include "pipeline_state.h"

static void say(void *userdata, const char *line)
{
    pipeline_log(userdata, "%s", line);
}

void pipeline_set_undo(struct pipeline *pipeline, struct undo *undo)
{
    pipeline->kernel = (struct kernel_balancing){.undo = undo};
}

size_t pipeline_undo(struct pipeline *pipeline)
{
    return kernel_balancing_undo(&pipeline->kernel, say, pipeline);
}

int pipeline_follow_kernel(struct pipeline *pipeline)
{
    const struct sampler *sampler = pipeline->sampler;
    const struct kernel_balancing_facts facts = {
        .wanted = pipeline->config->kernel_balancing == KERNEL_BALANCING_PAUSE,
        .observing = pipeline_observes(pipeline),
        .blind = pipeline_is_idle(pipeline) || !sampler || sampler_gap(sampler)[0],
        .partial = pipeline->config->include.n_rules > 0,
    };

    return kernel_balancing_round(&pipeline->kernel, &facts, say, pipeline);
}
