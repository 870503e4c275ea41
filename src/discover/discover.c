/*
 * Targets are kept by pid over the scans. Each scan updates the cheap facts of every process,
 * judges it anew, and drops those that it did not see. What costs more (status, cgroup, exe, a
 * pidfd) is read of large processes only, at first sight, after a change of name (an exec shows as
 * one), and once a minute, since processes change their user and are moved between cgroups.
 *
 * Between scans, which may be far apart on a host with many processes, samples tell which processes
 * to look at, and pidfds which targets have ended.
 */
#include "numabd/discover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "discover/judge.h"
#include "util/cleanup.h"
#include "util/nsec.h"

#define SCAN_COST_FACTOR 200 /* scans take 1/200 = 0.5 % of one CPU at most */

struct discover {
    struct judge judge;
    struct target *targets;
    struct reason_counts counts;
    unsigned scan;
    uint64_t next_nsec; /* the next scan is due then */
    pid_t hints[DISCOVER_HINTS_MAX];
    size_t n_hints;
};

int discover_new(struct discover **discoverp, const struct procs *procs,
                 const struct topology *topology, pid_t self_pid)
{
    struct discover *discover = calloc(1, sizeof(*discover));

    if (!discover)
        return -ENOMEM;
    discover->judge.procs = procs;
    discover->judge.topology = topology;
    discover->judge.self_pid = self_pid;
    *discoverp = discover;
    return 0;
}

static void target_free(struct target *target)
{
    process_deinit(&target->process);
    pidref_deinit(&target->ref);
    free(target->mems_allowed);
    free(target);
}

static void remove_target(struct discover *discover, struct target *target)
{
    HASH_DEL(discover->targets, target);
    target_free(target);
}

struct discover *discover_free(struct discover *discover)
{
    struct target *target, *next;

    if (!discover)
        return NULL;
    HASH_ITER (hh, discover->targets, target, next) {
        remove_target(discover, target);
    }
    free(discover);
    return NULL;
}

struct target *discover_find(const struct discover *discover, pid_t pid)
{
    struct target *target;

    HASH_FIND_INT(discover->targets, &pid, target);
    return target;
}

struct target *discover_targets(const struct discover *discover)
{
    return discover->targets;
}

const struct reason_counts *discover_counts(const struct discover *discover)
{
    return &discover->counts;
}

void discover_reset(struct discover *discover)
{
    struct target *target, *next;

    discover->next_nsec = 0;
    HASH_ITER (hh, discover->targets, target, next) {
        target->detail_nsec = 0;
        target->large = false;
    }
}

static int add_target(struct discover *discover, pid_t pid, struct target **targetp)
{
    struct target *target = calloc(1, sizeof(*target));

    if (!target)
        return -ENOMEM;
    target->pid = pid;
    target->ref = PIDREF_NULL;
    target->reason = REASON_TOO_SMALL; /* until it is judged */
    HASH_ADD_INT(discover->targets, pid, target);
    *targetp = target;
    return 0;
}

/* The target of a process; a pid that is used again (other start time) is a new one. */
static int find_or_add(struct discover *discover, const struct process *seen,
                       struct target **targetp)
{
    struct target *target = discover_find(discover, seen->pid);

    if (target && target->process.start_ticks != seen->start_ticks) {
        remove_target(discover, target);
        target = NULL;
    }
    if (!target)
        return add_target(discover, seen->pid, targetp);
    *targetp = target;
    return 0;
}

/* A name with odd bytes always seems new, as read_detail gives it exactly: rare, and only costs. */
static void update_facts(struct target *target, const struct process *seen)
{
    struct process *process = &target->process;

    if (strcmp(process->comm, seen->comm))
        target->detail_nsec = 0;
    process->pid = seen->pid;
    process->start_ticks = seen->start_ticks;
    process->rss_bytes = seen->rss_bytes;
    process->n_threads = seen->n_threads;
    process->kernel_thread = seen->kernel_thread;
    memcpy(process->comm, seen->comm, sizeof(process->comm));
}

/* A pidfd that is refused (too many files, a kernel before 5.3) costs this process, not the scan.
 */
static int hold(const struct procs *procs, struct target *target)
{
    struct pidref ref = PIDREF_NULL;
    int r = 0;

    if (target->ref.pid)
        return 0;
    ref.pid = target->pid;
    ref.start_ticks = target->process.start_ticks;
    if (procs->ops->open_ref)
        r = procs->ops->open_ref(procs->self, &ref, ref.pid, ref.start_ticks);
    if (r == DISCOVER_GONE)
        return r;
    if (r)
        target->reason = REASON_NO_PERMISSION;
    else
        target->ref = ref;
    return 0;
}

/* Without memory nothing goes on; any other failure is one of the process that was read. */
static bool costs_all(int r)
{
    return r == -ENOMEM;
}

/* One that was excluded stays so until it can be judged. */
static void leave_alone(struct target *target)
{
    if (target->reason != REASON_EXCLUDED)
        target->reason = REASON_NO_PERMISSION;
}

static int scan_process(struct discover *discover, const struct config *config,
                        const struct process *seen, uint64_t now)
{
    struct target *target;
    int r;

    if ((r = find_or_add(discover, seen, &target)) < 0)
        return r;
    target->seen_scan = discover->scan;
    update_facts(target, seen);
    r = judge_target(&discover->judge, config, target, now);
    if (r < 0 && !costs_all(r)) {
        leave_alone(target);
        r = 0;
    }
    if (!r && target->reason == REASON_NONE)
        r = hold(discover->judge.procs, target);
    if (!r && target->reason != REASON_NONE)
        pidref_deinit(&target->ref);
    if (r == DISCOVER_GONE) {
        remove_target(discover, target);
        return 0;
    }
    return r;
}

static void prune(struct discover *discover)
{
    struct target *target, *next;

    discover->counts = (struct reason_counts){0};
    HASH_ITER (hh, discover->targets, target, next) {
        if (target->seen_scan == discover->scan)
            discover->counts.n[target->reason]++;
        else
            remove_target(discover, target);
    }
}

static int scan(struct discover *discover, const struct config *config, uint64_t now)
{
    CLEANUP(process_list_deinit) struct process_list list = {0};
    int r;

    if ((r = discover->judge.procs->ops->list(discover->judge.procs->self, &list)) < 0)
        return r;
    discover->scan++;
    for (size_t i = 0; i < list.n_items; i++)
        if ((r = scan_process(discover, config, &list.items[i], now)) < 0)
            return r;
    prune(discover);
    return 0;
}

static void add_hint(struct discover *discover, pid_t pid)
{
    for (size_t i = 0; i < discover->n_hints; i++)
        if (discover->hints[i] == pid)
            return;
    if (discover->n_hints < DISCOVER_HINTS_MAX)
        discover->hints[discover->n_hints++] = pid;
}

void discover_hint(struct discover *discover, pid_t pid)
{
    const struct target *target = discover_find(discover, pid);

    if (!target || target->reason == REASON_TOO_SMALL)
        add_hint(discover, pid);
}

void discover_recheck(struct discover *discover, pid_t pid)
{
    struct target *target = discover_find(discover, pid);

    if (!target)
        return;
    target->detail_nsec = 0;
    add_hint(discover, pid);
}

static void drop_ended(struct discover *discover)
{
    struct target *target, *next;

    HASH_ITER (hh, discover->targets, target, next) {
        if (target->reason != REASON_NONE || pidref_is_alive(&target->ref))
            continue;
        discover->counts.n[target->reason]--;
        remove_target(discover, target);
    }
}

static int look_at(struct discover *discover, const struct config *config, pid_t pid, uint64_t now)
{
    const struct procs *procs = discover->judge.procs;
    struct target *target = discover_find(discover, pid);
    struct process process = {0};
    int r = procs->ops->read_one(procs->self, pid, &process);

    if (r)
        return costs_all(r) ? r : 0;
    if (target)
        discover->counts.n[target->reason]--;
    r = scan_process(discover, config, &process, now);
    target = discover_find(discover, pid);
    if (target)
        discover->counts.n[target->reason]++;
    return r;
}

static int between_scans(struct discover *discover, const struct config *config, uint64_t now)
{
    int r = 0;

    drop_ended(discover);
    if (discover->judge.procs->ops->read_one)
        for (size_t i = 0; i < discover->n_hints && r >= 0; i++)
            r = look_at(discover, config, discover->hints[i], now);
    discover->n_hints = 0;
    return r;
}

void discover_look_closer(struct discover *discover, pid_t pid)
{
    struct target *target = discover_find(discover, pid);

    if (!target || target->closer)
        return;
    target->closer = true;
    discover_hint(discover, pid);
}

bool target_is_only_small(const struct target *target)
{
    return target->reason == REASON_TOO_SMALL && target->closer && target->detail_nsec;
}

int discover_round(struct discover *discover, const struct config *config, uint64_t now)
{
    uint64_t begin, pause;
    int r;

    if (now < discover->next_nsec)
        return between_scans(discover, config, now);
    discover->n_hints = 0;
    begin = nsec_of_clock(CLOCK_THREAD_CPUTIME_ID);
    r = scan(discover, config, now);
    pause = (nsec_of_clock(CLOCK_THREAD_CPUTIME_ID) - begin) * SCAN_COST_FACTOR;
    if (pause < config->interval_nsec)
        pause = config->interval_nsec;
    discover->next_nsec = now + pause;
    return r;
}
