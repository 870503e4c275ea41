/*
 * All address spaces, and the table of ranges that they share.
 */
#include "attribute/attribute_state.h"

#include <errno.h>
#include <string.h>

#include "attribute/attribute_state.h"
#include "attribute/groups.h"
#include "attribute/heat.h"
#include "attribute/objects.h"
#include "attribute/slots.h"
#include "attribute/space.h"
#include "attribute/space_scan.h"
#include "attribute/tally.h"
#include "util/nsec.h"

/* Of each kind: 2 GiB in ranges, 32 GiB in slabs: what can be asked for in a round. */
#define GAPS_PER_ROUND 1024
/* Gaps of a large group leave room for ranges that samples fall into. */
#define GAPS_MAX (FINE_MAX / 2)
#define VMAS_PER_RANGE 16
/* Slabs leave room for the groups that hold them: a third of theirs, were there one of each size.
 */
#define SLABS_MAX (COARSE_MAX / 4 * 3)

/* The memory of an object goes, and all that was learned about it. */
static void on_forget(void *userdata, const struct space *memory)
{
    struct attribute *attribute = userdata;

    attribute->n_ranges -= HASH_COUNT(memory->ranges);
    attribute->n_small -= memory->n_small;
    attribute->n_coarse -= memory->n_coarse;
    attribute_counts_add(&attribute->gone, memory);
}

int attribute_new(struct attribute **attributep, const struct attribute_options *options)
{
    CLEANUP(attribute_freep) struct attribute *attribute = calloc(1, sizeof *attribute);
    const struct objects_options objects = {
        .topology = options->topology,
        .host = options->host,
        .pool = options->pool,
        .discover = options->discover,
        .residency = attribute ? &attribute->residency : NULL,
        .forget = on_forget,
        .userdata = attribute,
    };

    if (!attribute || objects_new(&attribute->objects, &objects) < 0)
        return -ENOMEM;
    attribute->options = *options;
    *attributep = TAKE(attribute);
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
    policy_turns_deinit(&attribute->policy_turns);
    objects_free(attribute->objects);
    free(attribute);
    return NULL;
}

void attribute_drop(struct attribute *attribute, pid_t pid)
{
    struct space *space = attribute_find(attribute, pid);

    if (!space)
        return;
    objects_leave(attribute->objects, space);
    attribute->n_ranges -= HASH_COUNT(space->ranges);
    attribute->n_small -= space->n_small;
    attribute->n_coarse -= space->n_coarse;
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

void attribute_count_groups(struct attribute *attribute, struct space *space)
{
    size_t n_small = HASH_COUNT(space->groups[0]);
    size_t n_coarse = groups_count_coarse(space->groups);

    attribute->n_small = attribute->n_small - space->n_small + n_small;
    attribute->n_coarse = attribute->n_coarse - space->n_coarse + n_coarse;
    space->n_small = n_small;
    space->n_coarse = n_coarse;
}

/*
 * One process must not fill the table with addresses that it only reserved: four times the ranges
 * that its resident memory fills, and some for the small ones. From there on those hardly used go.
 */
static size_t space_ranges_enough(const struct space *space)
{
    return (size_t)(4 * (space->rss_bytes / RANGE_BYTES) + 64);
}

/* Where VMAs are smaller than a range each has one of its own: one of 16 may, at most 4,096. */
static size_t space_ranges_max(const struct space *space)
{
    return space_ranges_enough(space) + space->vmas.n_items / VMAS_PER_RANGE;
}

/*
 * What may still be made. Where the fine ones are full, memory is judged by its slabs; where those
 * are too, by ever larger groups, so that it is not forgotten.
 */
unsigned attribute_grain(const struct attribute *attribute, const struct space *space)
{
    size_t n_coarse = attribute->n_coarse + GROUP_LEVELS, limit = SLABS_MAX;
    unsigned grain = GRAIN_RANGES;

    if (HASH_COUNT(space->ranges) >= space_ranges_max(space))
        return GRAIN_NONE;
    if (attribute->n_ranges + attribute->n_small + 2 > FINE_MAX)
        grain = 1 + SLAB_LEVEL;
    for (unsigned rank = 2 + SLAB_LEVEL; rank <= GRAIN_NONE && n_coarse > limit; rank++) {
        limit += (COARSE_MAX - SLABS_MAX) / (GROUP_LEVELS - 1 - SLAB_LEVEL);
        grain = rank;
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
    if (r == SPACE_UNMOVABLE)
        r = attribute_push_shared(attribute, space, access, node);
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

/* How many may be made in this round, for one space, where n of `most` are there. */
static size_t gaps_room(size_t n, size_t most)
{
    size_t room = n < most ? most - n : 0;

    return room < GAPS_PER_ROUND ? room : GAPS_PER_ROUND;
}

static void attribute_fill(struct attribute *attribute, struct space *space)
{
    size_t n_fine = attribute->n_ranges + attribute->n_small;

    space_fill_slabs(space, gaps_room(attribute->n_coarse, SLABS_MAX));
    attribute_count_groups(attribute, space);
    attribute->n_ranges += space_fill_gaps(space, gaps_room(n_fine, GAPS_MAX));
}

int attribute_set_filter(struct space *space, const struct config *config)
{
    space->mask_window_nsec = config->mask_window_nsec;
    space->min_share = config->min_share_permyriad / 10000.0;
    return space_set_filter(space, config->scan_filter, config->mask_bits);
}

void attribute_close_space(struct attribute *attribute, struct space *space, double min_share,
                           double elapsed_sec, uint64_t now)
{
    size_t n_dropped = 0;

    space->pressed = attribute->n_coarse + GAPS_PER_ROUND > SLABS_MAX;
    space->crowded = HASH_COUNT(space->ranges) >= space_ranges_enough(space);
    space_close_round(space, min_share, elapsed_sec, now, &n_dropped);
    attribute->n_ranges -= n_dropped;
    attribute_count_groups(attribute, space);
    attribute_fill(attribute, space);
}

static bool space_is_idle(const struct space *space, uint64_t now)
{
    return space->sampled_nsec + SPACE_IDLE_NSEC < now && !space->shared_policy_wanted;
}

/* One space's evidence, and what it asks for first. Return: 0 or -ENOMEM. */
static int attribute_round_space(struct attribute *attribute, const struct config *config,
                                 struct space *space, double elapsed_sec, uint64_t now)
{
    if (attribute_set_filter(space, config) < 0)
        return -ENOMEM;
    /* Before the mask window may end: who is at work in it counts. */
    if (space_may_scan(space, now))
        space_begin_pass(space, now);
    attribute_close_space(attribute, space, space->min_share, elapsed_sec, now);
    if (space_is_idle(space, now))
        return 0;
    attribute_ask_maps(attribute, space, now);
    return attribute_want_policy(attribute, config, space, now);
}

/* Shared memory first: what it wants of its mappers' policies is asked for in the same round. */
int attribute_round(struct attribute *attribute, const struct config *config, uint64_t now)
{
    double elapsed_sec =
        nsec_to_sec(attribute->round_nsec ? now - attribute->round_nsec : config->interval_nsec);
    struct space *space, *next;
    int r;

    attribute->round_nsec = now;
    policy_turns_begin(&attribute->policy_turns,
                       config_cpu_budget(config, topology_n_cpus(attribute->options.topology)),
                       now);
    r = attribute_round_objects(attribute, config, elapsed_sec, now);
    HASH_ITER (hh, attribute->spaces, space, next)
        if (!r)
            r = attribute_round_space(attribute, config, space, elapsed_sec, now);
    if (r < 0)
        return r;
    attribute_ask_policies(attribute, now);
    HASH_ITER (hh, attribute->spaces, space, next)
        if (space_may_scan(space, now))
            attribute_ask_residency(attribute, space, now);
    return 0;
}
