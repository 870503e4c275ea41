#include "sample/fault/fault_target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sample/fault/fault_pace.h"
#include "util/array.h"
#include "util/pid_array.h"

void fault_targets_deinit(struct fault_targets *targets)
{
    for (size_t i = 0; i < targets->n_items; i++)
        fault_window_deinit(&targets->items[i].window);
    free(targets->items);
    *targets = (struct fault_targets){0};
}

/* Return: where the pid is or belongs. */
static size_t position_of(const struct fault_targets *targets, pid_t pid)
{
    return PID_ARRAY_POSITION(targets->items, targets->n_items, pid);
}

struct fault_target *fault_targets_find(const struct fault_targets *targets, pid_t pid)
{
    size_t at = position_of(targets, pid);

    return at < targets->n_items && targets->items[at].pid == pid ? &targets->items[at] : NULL;
}

/* Begins anew; a request that is under way no longer concerns it. */
static void target_begin(struct fault_target *target, uint64_t start_ticks)
{
    struct fault_window window = target->window;

    fault_window_reset(&window);
    *target = (struct fault_target){
        .pid = target->pid,
        .start_ticks = start_ticks,
        .in_flight = target->in_flight,
        .serial = target->serial + 1,
        .interval_nsec = FAULT_INTERVAL_MIN_NSEC,
        .window = window,
    };
}

static struct fault_target *target_get(struct fault_targets *targets, pid_t pid,
                                       uint64_t start_ticks)
{
    struct fault_target *target = fault_targets_find(targets, pid);
    size_t at = position_of(targets, pid);

    if (!target) {
        if (ARRAY_RESERVE(targets->items, targets->cap, targets->n_items + 1) < 0)
            return NULL;
        target = &targets->items[at];
        memmove(target + 1, target, (targets->n_items++ - at) * sizeof *target);
        *target = (struct fault_target){.pid = pid};
        target_begin(target, start_ticks);
    } else if (target->start_ticks != start_ticks) {
        target_begin(target, start_ticks);
    }
    return target;
}

/* What was late is not tried again as soon as it comes back, although it was no target meanwhile.
 */
static bool is_kept(const struct fault_target *target, uint64_t now)
{
    return target->present || target->in_flight ||
           (target->verdict == FAULT_LATE && target->due_nsec > now);
}

static void targets_drop_absent(struct fault_targets *targets, uint64_t now)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < targets->n_items; i++) {
        struct fault_target *target = &targets->items[i];

        if (!is_kept(target, now)) {
            fault_window_deinit(&target->window);
            continue;
        }
        if (!target->present && target->phase != FAULT_WAITING)
            target_begin(target, target->start_ticks);
        targets->items[n_kept++] = *target;
    }
    targets->n_items = n_kept;
}

int fault_targets_sync(struct fault_targets *targets, const struct sample_round *round,
                       size_t page_bytes)
{
    for (size_t i = 0; i < targets->n_items; i++)
        targets->items[i].present = false;
    for (size_t i = 0; i < round->n_targets; i++) {
        const struct sample_target *seen = &round->targets[i];
        struct fault_target *target;

        if (!seen->allows_faults)
            continue;
        target = target_get(targets, seen->pid, seen->start_ticks);
        if (!target)
            return -ENOMEM;
        target->present = true;
        target->rss_pages = seen->rss_bytes / page_bytes;
    }
    targets_drop_absent(targets, round->now);
    return 0;
}

size_t fault_targets_n_active(const struct fault_targets *targets)
{
    size_t n = 0;

    for (size_t i = 0; i < targets->n_items; i++)
        n += targets->items[i].phase != FAULT_WAITING;
    return n;
}

static bool is_due(const struct fault_target *target, uint64_t now)
{
    return target->present && !target->in_flight && target->phase == FAULT_WAITING &&
           target->due_nsec <= now;
}

size_t fault_targets_n_due(const struct fault_targets *targets, uint64_t now)
{
    size_t n = 0;

    for (size_t i = 0; i < targets->n_items; i++)
        n += is_due(&targets->items[i], now);
    return n;
}

struct fault_target *fault_targets_next_due(const struct fault_targets *targets, uint64_t now)
{
    struct fault_target *first = NULL;

    for (size_t i = 0; i < targets->n_items; i++) {
        struct fault_target *target = &targets->items[i];

        if (is_due(target, now) && (!first || target->due_nsec < first->due_nsec))
            first = target;
    }
    return first;
}

static void print_verdict(const struct fault_targets *targets, enum fault_verdict verdict,
                          FILE *file)
{
    pid_t last = 0;
    size_t n = 0;

    for (size_t i = 0; i < targets->n_items; i++) {
        if (targets->items[i].verdict != verdict)
            continue;
        last = targets->items[i].pid;
        n++;
    }
    if (n == 1)
        fprintf(file, ", 1 refused: %s (%d)", fault_verdict_text(verdict), (int)last);
    else if (n > 1)
        fprintf(file, ", %zu refused: %s (the last is %d)", n, fault_verdict_text(verdict),
                (int)last);
}

void fault_targets_print_refused(const struct fault_targets *targets, FILE *file)
{
    for (int verdict = FAULT_CLEAR + 1; verdict < FAULT_VERDICT_COUNT; verdict++)
        print_verdict(targets, (enum fault_verdict)verdict, file);
}
