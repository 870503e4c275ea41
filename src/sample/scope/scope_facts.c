#include "sample/scope/scope_facts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "sample/scope/cgroup_dir.h"
#include "util/cleanup.h"

#define MOUNTS_BYTES_MAX ((size_t)4 << 20) /* hosts of containers have thousands of mounts */
#define CGROUP_BYTES_MAX 8192              /* a dozen lines */
#define V1_ROUNDS 8                        /* processes seldom change their cgroup */
#define COUNT_NSEC (60 * NSEC_PER_SEC)     /* how crowded a cgroup is changes slowly, too */

static void process_drop(struct scope_facts *facts, struct scope_process *process)
{
    HASH_DELETE(hh, facts->processes, process);
    free(process->v1_path);
    free(process);
}

static void cgroup_drop(struct scope_facts *facts, struct scope_cgroup *cgroup)
{
    HASH_DELETE(hh, facts->cgroups, cgroup);
    free(cgroup->path);
    free(cgroup);
}

/* Drops what was last seen before `round`; a cgroup that failed is remembered until its retry. */
static void facts_sweep(struct scope_facts *facts, unsigned round, uint64_t now)
{
    struct scope_process *process, *next_process;
    struct scope_cgroup *cgroup, *next_cgroup;

    HASH_ITER (hh, facts->processes, process, next_process) {
        if (process->seen < round)
            process_drop(facts, process);
    }
    HASH_ITER (hh, facts->cgroups, cgroup, next_cgroup) {
        if (cgroup->seen < round && retry_is_due(&cgroup->retry, now))
            cgroup_drop(facts, cgroup);
    }
}

void scope_facts_deinit(struct scope_facts *facts)
{
    facts_sweep(facts, UINT32_MAX, NSEC_NEVER);
}

const char *scope_facts_mount(const struct scope_facts *facts)
{
    const char *mount = cgroup_mounts_perf(&facts->mounts);

    return mount[0] ? mount : NULL;
}

struct scope_process *scope_facts_process(const struct scope_facts *facts, pid_t pid)
{
    struct scope_process *process;

    HASH_FIND(hh, facts->processes, &pid, sizeof pid, process);
    return process;
}

struct scope_cgroup *scope_facts_cgroup(const struct scope_facts *facts, const char *path)
{
    struct scope_cgroup *cgroup;

    HASH_FIND_STR(facts->cgroups, path, cgroup);
    return cgroup;
}

/* A process with the same pid that started later knows nothing of the earlier one. */
static struct scope_process *process_get(struct scope_facts *facts,
                                         const struct sample_target *target)
{
    struct scope_process *process = scope_facts_process(facts, target->pid);

    if (process && process->start_ticks != target->start_ticks) {
        process_drop(facts, process);
        process = NULL;
    }
    if (!process) {
        process = calloc(1, sizeof *process);
        if (!process)
            return NULL;
        process->pid = target->pid;
        process->start_ticks = target->start_ticks;
        HASH_ADD(hh, facts->processes, pid, sizeof process->pid, process);
    }
    process->seen = facts->round;
    return process;
}

static int cgroup_get(struct scope_facts *facts, const char *path, struct scope_cgroup **cgroupp)
{
    struct scope_cgroup *cgroup = scope_facts_cgroup(facts, path);
    char *copy;

    if (!cgroup) {
        cgroup = calloc(1, sizeof *cgroup);
        copy = strdup(path);
        if (!cgroup || !copy) {
            free(copy);
            free(cgroup);
            return -ENOMEM;
        }
        cgroup->path = copy;
        HASH_ADD_KEYPTR(hh, facts->cgroups, cgroup->path, strlen(cgroup->path), cgroup);
    }
    cgroup->seen = facts->round;
    *cgroupp = cgroup;
    return 0;
}

/* Return: 0 or -ENOMEM; a file that cannot be read is no mount. */
static int look_for_mount(struct scope_facts *facts, uint64_t now)
{
    CLEANUP(freep) char *text = NULL;
    size_t size = 0;
    int r;

    if (scope_facts_mount(facts) || !retry_is_due(&facts->mount_retry, now))
        return 0;
    r = facts->host->ops->read_file(facts->host->self, "proc/mounts", MOUNTS_BYTES_MAX, &text,
                                    &size);
    if (r == 0)
        cgroup_mounts_parse(&facts->mounts, text);
    if (!scope_facts_mount(facts))
        retry_failed(&facts->mount_retry, now);
    return r == -ENOMEM ? r : 0;
}

static int look_for_v1_path(struct scope_facts *facts, struct scope_process *process)
{
    CLEANUP(freep) char *text = NULL;
    char path[sizeof "proc//cgroup" + 3 * sizeof(pid_t)], cgroup[PATH_MAX];
    size_t size = 0;

    if (process->looked && facts->round - process->looked < V1_ROUNDS)
        return 0;
    process->looked = facts->round;
    free(process->v1_path);
    process->v1_path = NULL;
    snprintf(path, sizeof path, "proc/%d/cgroup", (int)process->pid);
    if (facts->host->ops->read_file(facts->host->self, path, CGROUP_BYTES_MAX, &text, &size))
        return 0;
    process->v1_path = strdup(cgroup_mounts_path(&facts->mounts, text, cgroup, sizeof cgroup));
    return process->v1_path ? 0 : -ENOMEM;
}

static int path_of(struct scope_facts *facts, const struct sample_target *target,
                   struct scope_process *process, const char **pathp)
{
    int r;

    *pathp = target->cgroup;
    if (!scope_facts_mount(facts))
        *pathp = NULL;
    if (!facts->mounts.perf_event[0])
        return 0;
    r = look_for_v1_path(facts, process);
    *pathp = process->v1_path;
    return r;
}

static void count_processes(struct scope_facts *facts, struct scope_cgroup *cgroup, size_t limit,
                            uint64_t now)
{
    CLEANUP(freep) char *path = NULL;

    if (cgroup->counted_nsec && now - cgroup->counted_nsec < COUNT_NSEC)
        return;
    if (asprintf(&path, "%s%s", scope_facts_mount(facts), cgroup->path) < 0) {
        path = NULL;
        return;
    }
    cgroup->counted_nsec = now ? now : 1;
    cgroup->n_processes = facts->kernel.ops->count_processes(facts->kernel.self, path, limit);
}

/* Could an event be opened for it? */
static bool cgroup_opens(const struct scope_facts *facts, const struct scope_cgroup *cgroup)
{
    const struct perf_kernel *kernel = &facts->kernel;
    CLEANUP(freep) char *path = NULL;
    int dir_fd, fd;

    if (asprintf(&path, "%s%s", scope_facts_mount(facts), cgroup->path) < 0) {
        path = NULL;
        return false;
    }
    dir_fd = kernel->ops->open_dir(kernel->self, path);
    if (dir_fd < 0)
        return false;
    fd =
        kernel->ops->open(kernel->self, &facts->attr, dir_fd, facts->cpu, -1, PERF_FLAG_PID_CGROUP);
    kernel->ops->close(kernel->self, dir_fd);
    if (fd >= 0)
        kernel->ops->close(kernel->self, fd);
    return fd >= 0;
}

/*
 * After one failure the cgroup is tried once more (it may just be coming or going), then not until
 * its retry is due; and then by one event, so that the place that stands in is not given up in
 * vain.
 */
static bool cgroup_has_failed(const struct scope_facts *facts, struct scope_cgroup *cgroup,
                              uint64_t now)
{
    if (cgroup->retry.delay_nsec <= RETRY_FIRST_NSEC)
        return false;
    if (!retry_is_due(&cgroup->retry, now))
        return true;
    if (cgroup_opens(facts, cgroup))
        return false;
    retry_failed(&cgroup->retry, now);
    return true;
}

static int look_at(struct scope_facts *facts, const struct sample_round *round,
                   const struct sample_target *target, enum sample_scope scope,
                   struct scope_plan_target *plan, struct scope_process *process)
{
    const size_t enough = SCOPE_PLAN_CROWD_MIN + SCOPE_PLAN_CROWD_FACTOR * round->n_targets;
    struct scope_cgroup *cgroup = NULL;
    const char *path;
    int r;

    *plan = (struct scope_plan_target){
        .n_threads = target->n_threads ? target->n_threads : 1,
        .had_threads = process->choice.cover == SCOPE_COVER_THREADS,
    };
    r = path_of(facts, target, process, &path);
    if (r < 0 || !cgroup_dir_is_usable(path))
        return r;
    r = cgroup_get(facts, path, &cgroup);
    if (r < 0)
        return r;
    if (scope == SAMPLE_SCOPE_AUTO && target->n_threads <= SCOPE_PLAN_SMALL_KEPT)
        count_processes(facts, cgroup, enough, round->now);
    plan->cgroup = cgroup->path;
    plan->cgroup_failed = cgroup_has_failed(facts, cgroup, round->now);
    plan->n_processes = cgroup->n_processes;
    return 0;
}

int scope_facts_look(struct scope_facts *facts, const struct sample_round *round,
                     enum sample_scope scope, struct scope_plan_target *plan,
                     struct scope_process **processes)
{
    int r;

    facts->round++;
    r = look_for_mount(facts, round->now);
    for (size_t i = 0; i < round->n_targets && r == 0; i++) {
        processes[i] = process_get(facts, &round->targets[i]);
        r = processes[i] ? look_at(facts, round, &round->targets[i], scope, &plan[i], processes[i])
                         : -ENOMEM;
    }
    if (r == 0)
        facts_sweep(facts, facts->round, round->now);
    return r;
}
