/*
 * All address spaces, and when something is read of them.
 *
 * maps: at first sight, when samples fall outside the known VMAs, and with each policy refresh; at
 * most once per max(1 s, 20 x its cost). numa_maps: when a claim needs a policy that is not known,
 * and for totals at most once per max(5 s, 500 x its cost), so 0.2 % of a CPU. One request of each
 * kind is out for a space at a time.
 */
#include <errno.h>
#include <string.h>

#include "attribute/counts.h"
#include "attribute/groups.h"
#include "attribute/heat.h"
#include "attribute/requests.h"
#include "attribute/slots.h"
#include "attribute/space.h"
#include "attribute/space_scan.h"
#include "attribute/tally.h"
#include "attribute/unknown.h"
#include "util/nsec.h"
#include "util/procfs.h"

#define READ_LANE 0
#define MAPS_PERIOD_NSEC NSEC_PER_SEC
#define MAPS_COST_FACTOR 20
#define POLICY_PERIOD_NSEC (5 * NSEC_PER_SEC)
/* A claim waits for the policy: then it is read as often as maps. */
#define POLICY_WANTED_PERIOD_NSEC NSEC_PER_SEC
#define POLICY_COST_FACTOR 500
#define POLICY_WANTED_COST_FACTOR 20
/* 2 GiB a round: what can be asked for and moved in a few rounds. */
#define GAPS_PER_ROUND 1024
/* Gaps of a large group leave room for ranges that samples fall into. */
#define GAPS_MAX (RANGES_MAX / 2)
/*
 * Kept for groups. 2 TiB used evenly fill the table to here with 22,000 ranges and all that holds
 * them, among that a group for 99 % of all 512 MiB.
 */
#define GROUPS_KEPT (RANGES_MAX / 8)

struct attribute {
    struct attribute_options options;
    struct space *spaces;
    size_t n_ranges, n_groups; /* together at most RANGES_MAX */
    uint64_t n_capped;
    uint64_t round_nsec; /* the last round, 0 = none yet */
    uint64_t n_generations;
    pid_t listed_pid; /* the last that attribute_list_unsampled looked at; the next is first */
    struct attribute_counts gone; /* of spaces that were dropped */
};

int attribute_new(struct attribute **attributep, const struct attribute_options *options)
{
    struct attribute *attribute = calloc(1, sizeof *attribute);

    if (!attribute)
        return -ENOMEM;
    attribute->options = *options;
    *attributep = attribute;
    return 0;
}

struct attribute *attribute_free(struct attribute *attribute)
{
    struct space *space, *next;

    if (!attribute)
        return NULL;
    HASH_ITER (hh, attribute->spaces, space, next) {
        HASH_DEL(attribute->spaces, space);
        space_free(space);
    }
    free(attribute);
    return NULL;
}

struct space *attribute_find(const struct attribute *attribute, pid_t pid)
{
    struct space *space;

    HASH_FIND(hh, attribute->spaces, &pid, sizeof pid, space);
    return space;
}

struct space *attribute_spaces(const struct attribute *attribute)
{
    return attribute->spaces;
}

size_t attribute_n_ranges(const struct attribute *attribute)
{
    return attribute->n_ranges;
}

size_t attribute_n_groups(const struct attribute *attribute)
{
    return attribute->n_groups;
}

uint64_t attribute_n_capped(const struct attribute *attribute)
{
    return attribute->n_capped;
}

struct attribute_counts *attribute_gone(struct attribute *attribute)
{
    return &attribute->gone;
}

void attribute_drop(struct attribute *attribute, pid_t pid)
{
    struct space *space = attribute_find(attribute, pid);

    if (!space)
        return;
    attribute->n_ranges -= HASH_COUNT(space->ranges);
    attribute->n_groups -= space->n_groups;
    attribute_counts_add(&attribute->gone, space);
    HASH_DEL(attribute->spaces, space);
    space_free(space);
}

void attribute_set_stuck(struct attribute *attribute, pid_t pid, bool stuck)
{
    struct space *space = attribute_find(attribute, pid);

    if (space)
        space->stuck = stuck;
}

static int attribute_get_space(struct attribute *attribute, const struct target *target,
                               struct space **spacep)
{
    struct space *space = attribute_find(attribute, target->pid);
    int r;

    if (space && space->start_ticks != target->process.start_ticks) {
        attribute_drop(attribute, target->pid);
        space = NULL;
    }
    if (!space) {
        r = space_new(&space, target);
        if (r < 0)
            return r;
        space->generation = ++attribute->n_generations;
        HASH_ADD(hh, attribute->spaces, pid, sizeof space->pid, space);
    }
    space->rss_bytes = target->process.rss_bytes;
    space->n_threads = target->process.n_threads;
    *spacep = space;
    return 0;
}

/* Groups come and go with what is done to a space. */
static void attribute_count_groups(struct attribute *attribute, struct space *space)
{
    size_t n = groups_count(space->groups);

    attribute->n_groups = attribute->n_groups - space->n_groups + n;
    space->n_groups = n;
}

/*
 * One process must not fill the table with addresses that it only reserved: four times the ranges
 * that its resident memory fills, and some for the small ones.
 */
static size_t space_ranges_max(const struct space *space)
{
    return (size_t)(4 * (space->rss_bytes / RANGE_BYTES) + 64);
}

/*
 * What may still be made. The last entries of the table are kept for groups, those of the largest
 * ones longest: memory too large for its ranges to fit is then judged by groups, not forgotten.
 */
static unsigned attribute_grain(const struct attribute *attribute, const struct space *space)
{
    size_t n_most = attribute->n_ranges + attribute->n_groups + 1 + GROUP_LEVELS;
    size_t limit = RANGES_MAX - GROUPS_KEPT;
    unsigned grain = GRAIN_RANGES;

    if (HASH_COUNT(space->ranges) >= space_ranges_max(space))
        return GRAIN_NONE;
    while (grain < GRAIN_NONE && n_most > limit) {
        limit += GROUPS_KEPT / GROUP_LEVELS;
        grain++;
    }
    return grain;
}

static int attribute_push_touch(struct attribute *attribute, struct space *space,
                                const struct access *access)
{
    bool made = false;
    bool may_grow = attribute_grain(attribute, space) == GRAIN_RANGES;
    int r = heat_add(space, access->addr, may_grow, &made);

    attribute->n_ranges += made;
    return r;
}

static int attribute_push_one(struct attribute *attribute, struct space *space,
                              const struct access *access)
{
    int node = topology_cpu_node(attribute->options.topology, access->cpu);
    unsigned grain = attribute_grain(attribute, space);
    bool made = false;
    int r;

    if (access->kind == ACCESS_TOUCH)
        return attribute_push_touch(attribute, space, access);
    if (node < 0)
        return 0;
    space_count_fault(space, access, node);
    r = space_add_access(space, access, node, grain, &made);
    if (made)
        attribute->n_ranges++;
    attribute_count_groups(attribute, space);
    space->n_accesses++;
    space->sampled_nsec = access->when_nsec;
    space->sampled_tid = access->tid;
    if (r == SPACE_CAPPED)
        attribute->n_capped++;
    if (r == SPACE_OUTSIDE) {
        space->n_outside++;
        if (access->when_nsec > space->maps_nsec)
            space->maps_wanted = true;
    }
    return r < 0 ? r : 0;
}

static void attribute_ask_maps(struct attribute *attribute, struct space *space, uint64_t now);

int attribute_push(struct attribute *attribute, const struct target *target,
                   const struct access *accesses, size_t n)
{
    struct space *space;
    int r;

    r = attribute_get_space(attribute, target, &space);
    for (size_t i = 0; i < n && !r; i++)
        r = attribute_push_one(attribute, space, &accesses[i]);
    /* The first maps are asked for at once: without them every sample until the round is lost. */
    if (!r && n && !space->maps_known)
        attribute_ask_maps(attribute, space, accesses[n - 1].when_nsec);
    return r;
}

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

    space_reset(space, &n_dropped);
    attribute->n_ranges -= n_dropped;
    attribute_count_groups(attribute, space);
    space->generation = ++attribute->n_generations;
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
            space_set_vmas(space, &maps->vmas, &n_dropped);
        } else if (maps->request.r == PROCFS_DENIED) {
            space->denied = true;
        }
        attribute->n_ranges -= n_dropped;
        attribute_count_groups(attribute, space);
    }
    maps_request_free(work);
}

static void on_policy(struct work *work)
{
    struct policy_request *policy = (struct policy_request *)work;
    struct space *space = request_space(&policy->request);

    if (space) {
        space->policy_pending = false;
        if (policy->with_process)
            space->policy_cost_nsec = policy->request.cpu_nsec;
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
    struct space *space = request_space(&residency->request);

    if (residency->request.r >= 0)
        attribute_autonuma(work->owner, space)->n_pte_updates +=
            residency->n_ranges * RESIDENCY_PAGES_PER_RANGE;
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

static uint64_t period_at_least(uint64_t period, uint64_t cost, uint64_t factor)
{
    return cost * factor > period ? cost * factor : period;
}

static void attribute_ask_maps(struct attribute *attribute, struct space *space, uint64_t now)
{
    uint64_t period = period_at_least(MAPS_PERIOD_NSEC, space->maps_cost_nsec, MAPS_COST_FACTOR);
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

static void attribute_ask_policy(struct attribute *attribute, const struct config *config,
                                 struct space *space, uint64_t now)
{
    uint64_t cost = space->policy_cost_nsec, since = now - space->policy_nsec;
    bool unknown_vma = false, claims = false, with_process;
    struct policy_request *policy;

    if (space->policy_pending || space->stuck || !space->maps_known)
        return;
    unknown_find(space, &unknown_vma, &claims);
    unknown_vma |= space_awaits_move(space, config->min_share_permyriad / 10000.0, now);
    with_process = unknown_vma && since >= period_at_least(POLICY_WANTED_PERIOD_NSEC, cost,
                                                           POLICY_WANTED_COST_FACTOR);
    if (space->rss_bytes <= config->numa_maps_limit_bytes &&
        since >= period_at_least(POLICY_PERIOD_NSEC, cost, POLICY_COST_FACTOR))
        with_process = true;
    if (!with_process && !(claims && unknown_has_threads(space)))
        return;
    if (policy_request_new(&policy, space, attribute->options.host, with_process, &policy_ops,
                           attribute) < 0)
        return;
    space->policy_pending = true;
    if (with_process) {
        space->policy_nsec = now;
        /* Fresh maps first: one lane serves both in this order. */
        space->maps_wanted = true;
        attribute_ask_maps(attribute, space, now);
    }
    worker_pool_submit(attribute->options.pool, READ_LANE, &policy->request.work);
}

/* Nothing is refreshed for a process that nobody runs in, or whose answers are still out. */
static bool space_may_scan(const struct space *space, uint64_t now)
{
    return space->sampled_nsec + SPACE_IDLE_NSEC >= now && space->maps_known && !space->stuck &&
           !space->residency_pending;
}

/* The pass that has begun is worked on as far as one request reaches. */
static void attribute_ask_residency(struct attribute *attribute, struct space *space, uint64_t now)
{
    struct residency_request *residency;
    int r = RESIDENCY_NOTHING_DUE;

    if (space->ranges)
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

/* Ranges that may be made for gaps in this round, for one space. */
static size_t attribute_room(const struct attribute *attribute)
{
    size_t n = attribute->n_ranges + attribute->n_groups;
    size_t room = n < GAPS_MAX ? GAPS_MAX - n : 0;

    return room < GAPS_PER_ROUND ? room : GAPS_PER_ROUND;
}

size_t attribute_list_unsampled(struct attribute *attribute, uint64_t now,
                                struct sample_range *ranges, size_t limit)
{
    struct space *space = attribute_find(attribute, attribute->listed_pid);
    unsigned n_looked = 0;
    size_t n = 0;

    for (unsigned i = HASH_COUNT(attribute->spaces);
         i > 0 && n < limit && n_looked < HEAT_LOOKED_AT_MAX; i--) {
        space = space && space->hh.next ? space->hh.next : attribute->spaces;
        attribute->listed_pid = space->pid;
        if (space->sampled_nsec + SPACE_IDLE_NSEC >= now && !space->stuck)
            n += heat_list(space, &ranges[n], limit - n, &n_looked);
    }
    heat_sort(ranges, n);
    return n;
}

static int attribute_set_filter(struct space *space, const struct config *config)
{
    space->mask_window_nsec = config->mask_window_nsec;
    return space_set_filter(space, config->scan_filter, config->mask_bits);
}

static void attribute_close_space(struct attribute *attribute, struct space *space,
                                  double min_share, double elapsed_sec, uint64_t now)
{
    size_t n_dropped = 0;

    space_close_round(space, min_share, elapsed_sec, now, &n_dropped);
    attribute->n_ranges -= n_dropped;
    attribute_count_groups(attribute, space);
    attribute->n_ranges += space_fill_gaps(space, attribute_room(attribute));
}

int attribute_round(struct attribute *attribute, const struct config *config, uint64_t now)
{
    double min_share = config->min_share_permyriad / 10000.0;
    double elapsed_sec =
        nsec_to_sec(attribute->round_nsec ? now - attribute->round_nsec : config->interval_nsec);
    struct space *space, *next;

    attribute->round_nsec = now;
    HASH_ITER (hh, attribute->spaces, space, next) {
        bool scans = space_may_scan(space, now);

        if (attribute_set_filter(space, config) < 0)
            return -ENOMEM;
        /* Before the mask window may end: who is at work in it counts. */
        if (scans)
            space_begin_pass(space, now);
        attribute_close_space(attribute, space, min_share, elapsed_sec, now);
        if (space->sampled_nsec + SPACE_IDLE_NSEC < now)
            continue;
        attribute_ask_maps(attribute, space, now);
        attribute_ask_policy(attribute, config, space, now);
        if (scans)
            attribute_ask_residency(attribute, space, now);
    }
    return 0;
}
