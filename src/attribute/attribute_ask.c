/*
 * When something is read of an address space, and what becomes of the answers.
 *
 * maps: at first sight, when samples fall outside the known VMAs, and with each policy refresh; at
 * most once per max(1 s, 20 x its cost). numa_maps: in turns (policy_turns.h). One request of each
 * kind is out for a space at a time.
 */
#include <errno.h>

#include "attribute/attribute_state.h"
#include "attribute/requests.h"
#include "attribute/space.h"
#include "attribute/space_scan.h"
#include "attribute/unknown.h"
#include "util/nsec.h"
#include "util/procfs.h"

#define READ_LANE 0
#define MAPS_PERIOD_NSEC NSEC_PER_SEC
#define MAPS_COST_FACTOR 20

/* The space that a request was for, if it is still there and the same program. */
static struct space *request_space(const struct request *request)
{
    struct attribute *attribute = request->work.owner;
    struct space *space = attribute_find(attribute, request->pid);

    return space && space->generation == request->generation ? space : NULL;
}

static void space_take_maps_fd(struct space *space, struct maps_request *maps)
{
    fd_close(space->maps_fd);
    space->maps_fd = maps->fd;
    maps->fd = -1;
}

/* Another program runs in it. */
static void attribute_reset_space(struct attribute *attribute, struct space *space)
{
    size_t n_dropped = 0;

    objects_leave(attribute->objects, space);
    space_reset(space, &n_dropped);
    attribute->n_ranges -= n_dropped;
    attribute_count_groups(attribute, space);
    space->generation = ++attribute->n_generations;
}

/* VMAs that are in use are pointed to: where nothing has changed they stay. */
static void attribute_take_vmas(struct attribute *attribute, struct space *space,
                                struct vma_list *vmas, size_t *n_droppedp)
{
    if (space->maps_taken && vma_list_is_same(&space->vmas, vmas))
        return;
    /* Without memory some objects are not known until the next time. */
    space->maps_taken = objects_follow(attribute->objects, space, vmas) == 0;
    space_set_vmas(space, vmas, n_droppedp);
}

static void on_maps(struct work *work)
{
    struct maps_request *maps = (struct maps_request *)work;
    struct attribute *attribute = work->owner;
    struct space *space = request_space(&maps->request);
    size_t n_dropped = 0;

    if (space) {
        space->maps_pending = false;
        space->maps_cost_nsec = maps->request.cpu_nsec;
        if (maps->request.r == PROCFS_GONE) {
            attribute_reset_space(attribute, space);
        } else if (!maps->request.r) {
            space_take_maps_fd(space, maps);
            attribute_take_vmas(attribute, space, &maps->vmas, &n_dropped);
        } else if (maps->request.r == PROCFS_DENIED) {
            space->denied = true;
        }
        attribute->n_ranges -= n_dropped;
        attribute_count_groups(attribute, space);
    }
    maps_request_free(work);
}

/* What it cost is known now: until then the estimate was charged. */
static void attribute_settle_policy(struct attribute *attribute, struct space *space,
                                    uint64_t cpu_nsec)
{
    uint64_t page_bytes = attribute->options.host->page_bytes;

    policy_turns_spend(&attribute->policy_turns, space->policy_want,
                       nsec_to_sec(cpu_nsec) - nsec_to_sec(policy_cost(space, page_bytes)));
    space->policy_cost_nsec = cpu_nsec;
}

static void on_policy(struct work *work)
{
    struct policy_request *policy = (struct policy_request *)work;
    struct attribute *attribute = work->owner;
    struct space *space = request_space(&policy->request);

    if (space) {
        space->policy_pending = false;
        if (policy->with_process)
            attribute_settle_policy(attribute, space, policy->request.cpu_nsec);
        if (!policy_request_apply(policy, space))
            space->maps_wanted = true;
        if (policy->with_process && !policy->request.r) {
            space->policy_read_nsec = space->policy_nsec;
            space_set_pages(space, &policy->pages);
        }
    }
    policy_request_free(work);
}

static void on_residency(struct work *work)
{
    struct residency_request *residency = (struct residency_request *)work;
    struct attribute *attribute = work->owner;
    struct space *space = request_space(&residency->request);

    residency_request_note(residency, space, &attribute->residency);
    if (residency->request.r >= 0)
        attribute_autonuma(attribute, space)->n_pte_updates += residency->n_pages;
    if (space) {
        space->residency_pending = false;
        if (residency->request.r == -EPERM)
            space->denied = true;
        if (residency->request.r >= 0)
            (void)residency_request_apply(residency, space);
    }
    residency_request_free(work);
}

static const struct work_ops maps_ops = {
    .name = "maps", .run = maps_request_run, .done = on_maps, .free = maps_request_free};
static const struct work_ops policy_ops = {
    .name = "numa_maps", .run = policy_request_run, .done = on_policy, .free = policy_request_free};
static const struct work_ops residency_ops = {.name = "residency",
                                              .run = residency_request_run,
                                              .done = on_residency,
                                              .free = residency_request_free};

void attribute_ask_maps(struct attribute *attribute, struct space *space, uint64_t now)
{
    uint64_t cost = space->maps_cost_nsec * MAPS_COST_FACTOR;
    uint64_t period = cost > MAPS_PERIOD_NSEC ? cost : MAPS_PERIOD_NSEC;
    struct maps_request *maps;

    if (!space->maps_wanted || space->maps_pending || space->stuck)
        return;
    if (space->maps_nsec && space->maps_nsec + period > now)
        return;
    if (maps_request_new(&maps, space, attribute->options.host, &maps_ops, attribute) < 0)
        return; /* asked again in the next round */
    space->maps_pending = true;
    space->maps_wanted = false;
    space->maps_nsec = now;
    worker_pool_submit(attribute->options.pool, READ_LANE, &maps->request.work);
}

static void attribute_ask_policy(struct attribute *attribute, struct space *space,
                                 enum policy_want want, uint64_t now)
{
    bool with_process = want != POLICY_NOT_WANTED;
    struct policy_request *policy;

    if (policy_request_new(&policy, space, attribute->options.host, with_process, &policy_ops,
                           attribute) < 0)
        return;
    space->policy_pending = true;
    if (with_process) {
        space->policy_nsec = now;
        space->policy_want = want;
        policy_turns_spend(&attribute->policy_turns, want,
                           nsec_to_sec(policy_cost(space, attribute->options.host->page_bytes)));
        /* Fresh maps first: one lane serves both in this order. */
        space->maps_wanted = true;
        attribute_ask_maps(attribute, space, now);
    }
    worker_pool_submit(attribute->options.pool, READ_LANE, &policy->request.work);
}

/* Policies of threads alone cost next to nothing. */
static void attribute_ask_threads(struct attribute *attribute, struct space *space, uint64_t now)
{
    bool unknown_vma = false, claims = false;

    if (space->policy_pending || !unknown_has_threads(space))
        return;
    unknown_find(space, &unknown_vma, &claims);
    if (claims || space->shared_claims)
        attribute_ask_policy(attribute, space, POLICY_NOT_WANTED, now);
}

int attribute_want_policy(struct attribute *attribute, const struct config *config,
                          struct space *space, uint64_t now)
{
    enum policy_want want;

    if (space->policy_pending || space->stuck || !space->maps_known)
        return 0;
    want = policy_want(space, config, now);
    if (want != POLICY_NOT_WANTED)
        return policy_turns_add(&attribute->policy_turns, space, want);
    attribute_ask_threads(attribute, space, now);
    return 0;
}

/* Those whose turn did not come need not wait for what their threads' policies are. */
void attribute_ask_policies(struct attribute *attribute, uint64_t now)
{
    struct policy_turns *turns = &attribute->policy_turns;
    struct policy_turn turn;

    while (policy_turns_next(turns, &turn))
        attribute_ask_policy(attribute, turn.space, turn.want, now);
    for (size_t i = 0; i < turns->n_items; i++)
        attribute_ask_threads(attribute, turns->items[i].space, now);
}

bool space_may_scan(const struct space *space, uint64_t now)
{
    return space->sampled_nsec + SPACE_IDLE_NSEC >= now && space->maps_known && !space->stuck &&
           !space->residency_pending;
}

void attribute_ask_residency(struct attribute *attribute, struct space *space, uint64_t now)
{
    struct residency_request *residency;
    int r = RESIDENCY_NOTHING_DUE;

    space->no_pagemap |= attribute->residency.no_pagemap;
    if (space->ranges || space->groups[SLAB_LEVEL])
        r = residency_request_new(&residency, space, attribute->options.host, now, &residency_ops,
                                  attribute);
    if (r < 0)
        return; /* the next round begins the pass anew */
    if (!r) {
        space->residency_pending = true;
        worker_pool_submit(attribute->options.pool, READ_LANE, &residency->request.work);
    }
    space_end_pass(space);
}
