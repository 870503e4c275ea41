/*
 * A pass is one round: every VMA is judged, those let through are worked on until the budget of the
 * round is spent, and what is left over stays begun, so that the next pass goes on with it. The
 * items lie beside the VMAs and not in them: 65,530 VMAs take 5 MiB here, and masks only where
 * samples fell.
 *
 * Most VMAs of a large process are used by nobody for long, and their verdict is the same in each
 * pass. They rest, and are counted without being looked at: a pass costs as much as there are VMAs
 * that were used lately. A sample wakes one of them, the chance that one starves wakes all.
 */
#include "attribute/scans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int scans_new(struct scans **scansp, enum scan_filter_kind kind, unsigned n_words)
{
    struct scans *scans = calloc(1, sizeof *scans);

    if (!scans)
        return -ENOMEM;
    scans->filter.kind = kind;
    scans->n_words = scan_filter_words(&scans->filter, n_words);
    *scansp = scans;
    return 0;
}

static void scans_drop_items(struct scans *scans)
{
    for (size_t i = 0; i < scans->n_items; i++)
        scan_state_deinit(&scans->items[i].state);
    free(scans->items);
    free(scans->watched);
    scans->items = NULL;
    scans->watched = NULL;
    scans->n_items = scans->n_watched = 0;
}

static void scans_watch(struct scans *scans, size_t index)
{
    scans->items[index].watched = true;
    scans->watched[scans->n_watched++] = (uint32_t)index;
}

static void scans_watch_all(struct scans *scans)
{
    scans->n_watched = 0;
    for (size_t i = 0; i < scans->n_items; i++)
        scans_watch(scans, i);
    memset(scans->n_resting, 0, sizeof scans->n_resting);
    scans->oldest_pass = INT64_MAX;
}

static void scans_wake(struct scans *scans, size_t index)
{
    struct vma_scan *item = &scans->items[index];

    if (item->watched)
        return;
    scans->n_resting[item->verdict]--;
    scans_watch(scans, index);
}

/* It is not in watched any more. */
static void scans_let_rest(struct scans *scans, struct vma_scan *item)
{
    item->watched = false;
    scans->n_resting[item->verdict]++;
    if (item->verdict == SCAN_INACTIVE && item->state.complete_pass < scans->oldest_pass)
        scans->oldest_pass = item->state.complete_pass;
}

struct scans *scans_free(struct scans *scans)
{
    if (scans)
        scans_drop_items(scans);
    free(scans);
    return NULL;
}

void scans_reset(struct scans *scans)
{
    scans_drop_items(scans);
    scans->pass = (struct scan_pass){0};
}

/* From those of the VMAs from *firstp on that overlap this one; VMAs behind it begin there too. */
static void follow_one(const struct scans *scans, const struct vma_list *before, size_t *firstp,
                       const struct vma *vma, struct vma_scan *item)
{
    size_t i = *firstp;
    bool found = false;

    while (i < scans->n_items && before->items[i].end <= vma->start)
        i++;
    *firstp = i;
    for (; i < scans->n_items && before->items[i].start < vma->end; i++) {
        const struct vma_scan *old = &scans->items[i];

        if (!vma_is_same_mapping(&before->items[i], vma))
            continue;
        if (found)
            scan_state_merge(&item->state, &old->state);
        else
            scan_state_inherit(&item->state, &old->state);
        if (item->finished_nsec < old->finished_nsec)
            item->finished_nsec = old->finished_nsec;
        if (before->items[i].start >= vma->start)
            item->moved_bytes += old->moved_bytes;
        item->verdict = found && scan_verdict_lets(item->verdict) ? item->verdict : old->verdict;
        found = true;
    }
}

void scans_follow(struct scans *scans, const struct vma_list *before, const struct vma_list *after,
                  uint64_t now)
{
    struct vma_scan *items = calloc(after->n_items + 1, sizeof *items);
    uint32_t *watched = calloc(after->n_items + 1, sizeof *watched);
    size_t first = 0, n_items = items && watched ? after->n_items : 0;

    for (size_t i = 0; i < n_items; i++) {
        const struct vma *vma = &after->items[i];

        scan_state_init(&items[i].state, vma->kind, scans->n_words, scans->pass.number, now);
        follow_one(scans, before, &first, vma, &items[i]);
    }
    scans_drop_items(scans);
    scans->items = items;
    scans->watched = watched;
    scans->n_items = n_items;
    scans_watch_all(scans);
}

int scans_note(struct scans *scans, size_t index, pid_t tid, unsigned slot, bool shared)
{
    struct recent *recent;

    scans->counts.n_noted++;
    scans->counts.n_shared += shared;
    if (index >= scans->n_items)
        return 0;
    recent = &scans->items[index].state.recent;
    if (!scan_filter_remembers(&scans->filter, recent))
        return 0;
    scans_wake(scans, index);
    return recent_note(recent, scan_filter_bit(&scans->filter, tid, slot));
}

void scans_note_moved(struct scans *scans, size_t index, uint64_t moved_bytes)
{
    if (index < scans->n_items)
        scans->items[index].moved_bytes += moved_bytes;
}

/* None that rests has a mask. */
void scans_rotate(struct scans *scans)
{
    for (size_t i = 0; scan_filter_forgets(&scans->filter) && i < scans->n_watched; i++)
        recent_rotate(&scans->items[scans->watched[i]].state.recent);
}

/* The first inactive VMA from pass->turn on, or from the start. */
static size_t find_turn(const struct scans *scans, const struct vma_list *vmas)
{
    size_t found = scans->n_items;

    for (size_t i = 0; i < scans->n_items; i++) {
        if (scans->items[i].verdict != SCAN_INACTIVE)
            continue;
        if (vmas->items[i].start >= scans->pass.turn)
            return i;
        if (found == scans->n_items)
            found = i;
    }
    return found;
}

static void scans_force_one(struct scans *scans, const struct vma_list *vmas)
{
    size_t index = find_turn(scans, vmas);

    scans_wake(scans, index);
    scans->items[index].verdict = SCAN_NO_ALTERNATIVE;
    scans->pass.turn = vmas->items[index].end;
}

static void scans_judge(struct scans *scans, const struct scan_who *who, uint64_t now)
{
    for (size_t i = 0; i < scans->n_watched; i++) {
        struct vma_scan *item = &scans->items[scans->watched[i]];

        item->verdict = scan_filter_judge(&scans->filter, &scans->pass, &item->state, who, now);
        scan_pass_count(&scans->pass, item->verdict);
    }
}

/* Opens those that are let through; those that no pass need look at rest from now on. */
static void scans_open(struct scans *scans)
{
    size_t n = 0;

    for (size_t i = 0; i < scans->n_watched; i++) {
        uint32_t index = scans->watched[i];
        struct vma_scan *item = &scans->items[index];

        item->left_over = false;
        if (scan_state_rests(&item->state, item->verdict)) {
            scans_let_rest(scans, item);
            continue;
        }
        scans->counts.n[item->verdict]++;
        if (scan_verdict_lets(item->verdict))
            scan_state_begin(&item->state);
        scans->watched[n++] = index;
    }
    scans->n_watched = n;
}

void scans_begin_pass(struct scans *scans, const struct vma_list *vmas, const struct scan_who *who,
                      uint64_t now)
{
    scans->pass_nsec = now;
    if (scan_filter_starves(&scans->pass, scans->oldest_pass, who->n_threads))
        scans_watch_all(scans);
    scans->pass.n_scanned = 0;
    scans->pass.n_inactive = scans->n_resting[SCAN_INACTIVE];
    scans_judge(scans, who, now);
    if (scan_filter_wants_one(&scans->filter, &scans->pass))
        scans_force_one(scans, vmas);
    scans_open(scans);
    for (int verdict = 0; verdict < SCAN_VERDICT_COUNT; verdict++)
        scans->counts.n[verdict] += scans->n_resting[verdict];
}

bool scans_lets(const struct scans *scans, size_t index)
{
    return index >= scans->n_items || scan_verdict_lets(scans->items[index].verdict);
}

void scans_leave_over(struct scans *scans, size_t index)
{
    if (index < scans->n_items)
        scans->items[index].left_over = true;
}

void scans_end_pass(struct scans *scans, const struct vma_list *vmas)
{
    for (size_t i = 0; i < scans->n_watched; i++) {
        uint32_t index = scans->watched[i];
        struct vma_scan *item = &scans->items[index];

        if (item->verdict == SCAN_UNJUDGED || !scan_verdict_lets(item->verdict) || item->left_over)
            continue;
        scan_state_finish(&item->state, &scans->pass);
        item->finished_nsec = scans->pass_nsec;
        scans->counts.scanned_bytes += vmas->items[index].end - vmas->items[index].start;
    }
    scans->counts.n_passes++;
    scan_pass_end(&scans->pass);
}

void scan_counts_add(struct scan_counts *counts, const struct scan_counts *more)
{
    counts->n_noted += more->n_noted;
    counts->n_shared += more->n_shared;
    counts->n_passes += more->n_passes;
    counts->scanned_bytes += more->scanned_bytes;
    for (int verdict = 0; verdict < SCAN_VERDICT_COUNT; verdict++)
        counts->n[verdict] += more->n[verdict];
}
