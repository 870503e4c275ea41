/*
 * What comes back of moves: cool-downs, and what is known now of where pages lie.
 */
#include <errno.h>

#include "attribute/objects.h"
#include "attribute/ranges.h"
#include "attribute/tally.h"
#include "pipeline_state.h"

/* Cool-downs are doubled at most so often: 5 rounds become 320. */
#define COOL_DOWN_SHIFT_MAX 6

/* Where most of the pages lay that do not lie on `to`; -1 when all did. */
static int most_elsewhere(const struct tally *pages, int to)
{
    const struct tally_entry *most = NULL;

    for (size_t i = 0; i < pages->n_entries; i++) {
        const struct tally_entry *entry = &pages->entries[i];

        if (entry->node != to && (!most || entry->n > most->n))
            most = entry;
    }
    return most ? most->node : -1;
}

/*
 * What a move says about its range: a cool-down, doubled each time that pages were refused and each
 * time that it moved back to where it came from.
 */
static void range_on_outcome(struct pipeline *pipeline, struct range *range,
                             const struct moved_range *moved, int node, uint64_t now)
{
    uint64_t cool_down = pipeline->config->cool_down_rounds * pipeline->config->interval_nsec;
    unsigned shift;

    range->moving -= range->moving > 0;
    range->n_refusals = moved->n_failed ? range->n_refusals + 1 : 0;
    if (tally_n(&moved->after, node) > tally_n(&moved->before, node))
        range_note_move(range, most_elsewhere(&moved->before, node), node, now);
    shift = range->n_refusals + range->n_returns;
    cool_down <<= shift < COOL_DOWN_SHIFT_MAX ? shift : COOL_DOWN_SHIFT_MAX;
    range->cool_down_nsec = now + cool_down;
}

static struct range *moved_range_find(const struct pipeline *pipeline,
                                      const struct outcome *outcome,
                                      const struct moved_range *moved)
{
    return attribute_find_range(pipeline->attribute, outcome->pid, moved->object,
                                moved->object ? moved->offset : moved->start, moved->rank);
}

/* Nothing more comes of the move. Shared memory is still there: another mapper may serve for it. */
static void release_ranges(struct pipeline *pipeline, const struct outcome *outcome)
{
    for (size_t i = 0; i < outcome->n_ranges; i++) {
        struct range *range = moved_range_find(pipeline, outcome, &outcome->ranges[i]);

        if (range)
            range->moving -= range->moving > 0;
    }
}

/* Private memory may move without CAP_SYS_NICE, shared memory not. */
static void on_denied(struct pipeline *pipeline, struct space *space, const struct outcome *outcome)
{
    struct object *object = NULL;

    if (!outcome->shared) {
        space->denied = true;
        return;
    }
    for (size_t i = 0; i < outcome->n_ranges; i++) {
        object = attribute_find_object(pipeline->attribute, outcome->ranges[i].object);
        if (!object || object->denied)
            continue;
        object->denied = true;
        pipeline_log(
            pipeline, "shared memory (inode %llu) of process %d: %s: it is observed from now on",
            (unsigned long long)object->key.inode, space->pid, reason_text(REASON_NO_PERMISSION));
    }
}

static void on_moved(struct pipeline *pipeline, struct space *space, const struct outcome *outcome,
                     const struct moved_range *moved)
{
    struct range *range = moved_range_find(pipeline, outcome, moved);
    size_t page_bytes = pipeline->options.host->page_bytes;
    uint64_t now = pipeline->now;

    /* Made anew while the move was out, maybe in another mapping: it learns nothing of it. */
    if (range && !range->moving)
        range = NULL;
    space_apply_move(space, moved->start, range, &moved->before, &moved->after, page_bytes, now);
    if (!range)
        return;
    range_on_outcome(pipeline, range, moved, outcome->node, now);
}

static void pipeline_count_move(struct pipeline *pipeline, struct space *space,
                                const struct outcome *outcome)
{
    bool is_same = space && space->start_ticks == outcome->start_ticks;
    struct autonuma *counts = attribute_autonuma(pipeline->attribute, is_same ? space : NULL);

    counts->n_pte_updates += outcome->ledger.n_asked;
    counts->n_migrated += outcome->ledger.n_moved;
}

/* Is there anything to learn from the outcome? Else its ranges are let go. */
static bool is_void(struct pipeline *pipeline, const struct space *space,
                    const struct outcome *outcome)
{
    bool is_same = space && space->generation == outcome->generation;

    if (is_same && !outcome->recalled && !outcome->gone)
        return false;
    if (is_same || outcome->shared)
        release_ranges(pipeline, outcome);
    if (is_same && outcome->gone)
        attribute_drop(pipeline->attribute, outcome->pid);
    return true;
}

void pipeline_on_outcome(void *userdata, const struct outcome *outcome)
{
    struct pipeline *pipeline = userdata;
    struct space *space = attribute_find(pipeline->attribute, outcome->pid);
    size_t page_bytes = pipeline->options.host->page_bytes;

    pipeline_count_move(pipeline, space, outcome);
    hour_add(&pipeline->hour, pipeline->now, outcome->ledger.n_moved * page_bytes);
    if (is_void(pipeline, space, outcome))
        return;
    if (outcome->call_error == EPERM)
        on_denied(pipeline, space, outcome);
    /* Its cpuset no longer holds the node. */
    if (outcome->call_error == EACCES)
        discover_recheck(pipeline->discover, outcome->pid);
    if (outcome->ledger.n_moved)
        space->moved_nsec = pipeline->now;
    for (size_t i = 0; i < outcome->n_ranges; i++)
        on_moved(pipeline, space, outcome, &outcome->ranges[i]);
}
