/*
 * Targets are gone through in the order of their cgroups, where all that lies below a cgroup
 * follows it directly; so one look back, at the last cgroup that was chosen, tells what is covered.
 *
 *     /a           2 targets, chosen           cover /a
 *     /a/b         1 target, lies within /a    cover /a
 *     /crowd       1 of 500 processes, small   its threads
 *     /crowd/x     1 target, chosen            cover /crowd/x
 *     (none)       40 threads                  the whole system, and then for all
 */
#include "sample/scope/scope_plan.h"

#include <errno.h>
#include <stdlib.h>

#include "sample/scope/cgroup_dir.h"
#include "util/cleanup.h"

struct entry {
    const struct scope_plan_target *target;
    struct scope_plan_choice *choice;
};

static bool is_small(const struct scope_plan_target *target)
{
    return target->n_threads <=
           (target->had_threads ? SCOPE_PLAN_SMALL_KEPT : SCOPE_PLAN_SMALL_THREADS);
}

static bool has_cgroup(const struct scope_plan_target *target)
{
    return target->cgroup && !target->cgroup_failed;
}

static int entry_compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (!has_cgroup(x->target) || !has_cgroup(y->target))
        return has_cgroup(y->target) - has_cgroup(x->target);
    return cgroup_dir_compare(x->target->cgroup, y->target->cgroup);
}

/* How many of the n entries lie in the cgroup of the first, or below it. */
static size_t count_within(const struct entry *entries, size_t n)
{
    size_t count = 0;

    while (count < n && has_cgroup(entries[count].target) &&
           cgroup_dir_is_within(entries[count].target->cgroup, entries[0].target->cgroup))
        count++;
    return count;
}

/* How many of the n entries have the very cgroup of the first. */
static size_t count_same(const struct entry *entries, size_t n)
{
    size_t count = 0;

    while (count < n && has_cgroup(entries[count].target) &&
           !cgroup_dir_compare(entries[count].target->cgroup, entries[0].target->cgroup))
        count++;
    return count;
}

static bool is_crowded(const struct entry *first, size_t n_within)
{
    size_t n_processes = first->target->n_processes;

    return n_processes >= SCOPE_PLAN_CROWD_MIN && n_processes >= SCOPE_PLAN_CROWD_FACTOR * n_within;
}

/* Few threads in a cgroup where most samples would be of others. */
static bool wants_threads(const struct entry *entries, size_t n_same, size_t n_within)
{
    unsigned n_threads = 0;

    for (size_t i = 0; i < n_same; i++) {
        if (!is_small(entries[i].target))
            return false;
        n_threads += entries[i].target->n_threads;
    }
    return n_threads <= SCOPE_PLAN_SMALL_KEPT && is_crowded(entries, n_within);
}

static void choose_cgroups(enum sample_scope scope, struct entry *entries, size_t n)
{
    const char *chosen = NULL;
    size_t n_same;

    for (size_t i = 0; i < n && has_cgroup(entries[i].target); i += n_same) {
        const char *cgroup = entries[i].target->cgroup;

        n_same = count_same(&entries[i], n - i);
        if ((!chosen || !cgroup_dir_is_within(cgroup, chosen)) &&
            (scope == SAMPLE_SCOPE_CGROUP ||
             !wants_threads(&entries[i], n_same, count_within(&entries[i], n - i))))
            chosen = cgroup;
        if (!chosen || !cgroup_dir_is_within(cgroup, chosen))
            continue;
        for (size_t j = i; j < i + n_same; j++)
            *entries[j].choice =
                (struct scope_plan_choice){.cover = SCOPE_COVER_CGROUP, .cgroup = chosen};
    }
}

/* The cgroup that was chosen and holds the target although its own one failed, or NULL. */
static const char *covering(const struct entry *entries, size_t n, const char *cgroup)
{
    for (size_t i = 0; cgroup && i < n; i++)
        if (entries[i].choice->cover == SCOPE_COVER_CGROUP &&
            cgroup_dir_is_within(cgroup, entries[i].choice->cgroup))
            return entries[i].choice->cgroup;
    return NULL;
}

static enum scope_plan_note choose_threads(const struct entry *entries, size_t n)
{
    size_t n_threads = 0;

    for (size_t i = 0; i < n; i++) {
        const char *cgroup = NULL;

        if (entries[i].choice->cover == SCOPE_COVER_NONE)
            cgroup = covering(entries, n, entries[i].target->cgroup);
        if (cgroup)
            *entries[i].choice =
                (struct scope_plan_choice){.cover = SCOPE_COVER_CGROUP, .cgroup = cgroup};
        if (entries[i].choice->cover != SCOPE_COVER_NONE)
            continue;
        if (!has_cgroup(entries[i].target) && !is_small(entries[i].target))
            return SCOPE_PLAN_NO_CGROUP;
        n_threads += entries[i].target->n_threads;
        entries[i].choice->cover = SCOPE_COVER_THREADS;
    }
    return n_threads > SCOPE_PLAN_THREADS_MAX ? SCOPE_PLAN_MANY_THREADS : SCOPE_PLAN_AS_ASKED;
}

static void choose_all(struct scope_plan_choice *choices, size_t n, enum scope_cover cover)
{
    for (size_t i = 0; i < n; i++)
        choices[i] = (struct scope_plan_choice){.cover = cover};
}

static int plan_auto(enum sample_scope scope, const struct scope_plan_target *targets, size_t n,
                     struct scope_plan_choice *choices, enum scope_plan_note *notep)
{
    CLEANUP(freep) struct entry *entries = calloc(n + 1, sizeof *entries);

    if (!entries)
        return -ENOMEM;
    choose_all(choices, n, SCOPE_COVER_NONE);
    for (size_t i = 0; i < n; i++)
        entries[i] = (struct entry){&targets[i], &choices[i]};
    qsort(entries, n, sizeof *entries, entry_compare);
    choose_cgroups(scope, entries, n);
    *notep = choose_threads(entries, n);
    if (*notep != SCOPE_PLAN_AS_ASKED)
        choose_all(choices, n, SCOPE_COVER_SYSTEM);
    return 0;
}

static unsigned threads_of(const struct scope_plan_target *targets, size_t n)
{
    unsigned n_threads = 0;

    for (size_t i = 0; i < n; i++)
        n_threads += targets[i].n_threads;
    return n_threads;
}

int scope_plan_make(enum sample_scope scope, const struct scope_plan_target *targets, size_t n,
                    struct scope_plan_choice *choices, enum scope_plan_note *notep)
{
    int r;

    *notep = SCOPE_PLAN_AS_ASKED;
    if (scope == SAMPLE_SCOPE_SYSTEM) {
        choose_all(choices, n, SCOPE_COVER_SYSTEM);
        return 0;
    }
    if (scope == SAMPLE_SCOPE_THREAD && threads_of(targets, n) <= SCOPE_PLAN_THREADS_MAX) {
        choose_all(choices, n, SCOPE_COVER_THREADS);
        return 0;
    }
    r = plan_auto(scope, targets, n, choices, notep);
    if (scope == SAMPLE_SCOPE_THREAD && *notep == SCOPE_PLAN_AS_ASKED)
        *notep = SCOPE_PLAN_MANY_THREADS;
    return r;
}
