/*
 * What costs more than a line of stat (status, cgroup, exe) is read of large processes only: at
 * first sight, after a change of name (an exec shows as one), and once a minute, since processes
 * change their user and are moved between cgroups.
 */
#include "discover/judge.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/nsec.h"

#define DETAIL_NSEC (60 * NSEC_PER_SEC)

/* With hysteresis, so that a process about as large as min_rss does not come and go. */
static bool is_large(const struct target *target, const struct config *config)
{
    uint64_t limit = config->min_rss_bytes;

    if (target->large)
        limit -= limit / 4;
    return target->process.rss_bytes && target->process.rss_bytes >= limit;
}

struct mems {
    bool *allowed;
    int n_node_ids;
};

static void allow_node(void *userdata, int id)
{
    struct mems *mems = userdata;

    if (id < mems->n_node_ids)
        mems->allowed[id] = true;
}

/* A list that cannot be understood allows all nodes, as the kernel refuses the others anyway. */
static int read_mems(const struct judge *judge, struct target *target)
{
    CLEANUP(freep) char *text = NULL;
    CLEANUP(freep) bool *allowed = NULL;
    int n_node_ids = judge->topology->n_node_ids;
    struct mems mems = {.n_node_ids = n_node_ids};
    int r = judge->procs->ops->read_mems_allowed(judge->procs->self, target->pid, &text);

    if (r < 0 || r == DISCOVER_GONE)
        return r;
    allowed = mems.allowed = calloc((size_t)n_node_ids + 1, sizeof(*allowed));
    if (!allowed)
        return -ENOMEM;
    free(TAKE(target->mems_allowed));
    if (!r && !topology_parse_list(text, TOPOLOGY_NODE_MAX, allow_node, &mems))
        target->mems_allowed = TAKE(allowed);
    return 0;
}

/* Return: 0, DISCOVER_GONE, or a negative errno. */
static int read_detail(const struct judge *judge, struct target *target, uint64_t now)
{
    int r;

    if (target->detail_nsec && now - target->detail_nsec < DETAIL_NSEC)
        return 0;
    r = judge->procs->ops->read_detail(judge->procs->self, &target->process);
    if (r)
        return r;
    r = read_mems(judge, target);
    if (r)
        return r;
    target->detail_nsec = now ? now : 1;
    return 0;
}

static bool has_one_node(const struct topology *topology, const bool *allowed)
{
    int n = 0;

    for (int node = 0; node < topology->n_node_ids; node++)
        n += topology_has_memory(topology, node) && (!allowed || allowed[node]);
    return n <= 1;
}

static enum reason judge_cheap(const struct judge *judge, const struct process *process)
{
    if (process->kernel_thread)
        return REASON_KERNEL_THREAD;
    if (process->pid == 1)
        return REASON_INIT;
    return process->pid == judge->self_pid ? REASON_SELF : REASON_NONE;
}

/*
 * Rules need facts that are read of large processes only: a small one is just too small, unless it
 * is to be looked at closer.
 */
static int judge_user(const struct judge *judge, const struct config *config, struct target *target,
                      uint64_t now, enum reason *reasonp)
{
    int r;

    target->large = is_large(target, config);
    if (!target->large && !target->closer) {
        *reasonp = REASON_TOO_SMALL;
        return 0;
    }
    if ((r = read_detail(judge, target, now)))
        return r;
    *reasonp = rules_judge(config, &target->process);
    if (*reasonp == REASON_NONE && has_one_node(judge->topology, target->mems_allowed))
        *reasonp = REASON_SINGLE_NODE;
    if (*reasonp == REASON_NONE && !target->large)
        *reasonp = REASON_TOO_SMALL;
    return 0;
}

int judge_target(const struct judge *judge, const struct config *config, struct target *target,
                 uint64_t now)
{
    enum reason reason = judge_cheap(judge, &target->process);
    int r = 0;

    if (reason == REASON_NONE)
        r = judge_user(judge, config, target, now, &reason);
    if (!r)
        target->reason = reason;
    return r;
}
