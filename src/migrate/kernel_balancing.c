#include "migrate/kernel_balancing.h"

#include <stdio.h>

const char *kernel_balancing_obstacle(const struct kernel_balancing_facts *facts)
{
    if (!facts->wanted)
        return "kernel_balancing = leave";
    if (facts->observing)
        return "numabd only observes";
    if (facts->blind)
        return "no source sees who accesses memory in all processes";
    if (facts->partial)
        return "numabd balances the processes of [include] only";
    return NULL;
}

static void leave(struct kernel_balancing *kernel, const char *why, kernel_balancing_say *say,
                  void *userdata)
{
    char line[512];

    snprintf(kernel->left, sizeof kernel->left, "%s", why);
    snprintf(line, sizeof line, "kernel balancing stays on: %s", why);
    say(userdata, line);
}

static int pause_it(struct kernel_balancing *kernel, unsigned long long mode,
                    kernel_balancing_say *say, void *userdata)
{
    unsigned long long paused = mode & ~(unsigned long long)KERNEL_BALANCING_NORMAL;
    struct undo_reason reason;
    char line[160];
    int r = undo_set(kernel->undo, UNDO_NUMA_BALANCING, mode, paused, &reason);

    if (r < 0)
        return r;
    if (r) {
        leave(kernel, reason.text, say, userdata);
        return 0;
    }
    kernel->paused = true;
    snprintf(line, sizeof line, "kernel.numa_balancing: %llu -> %llu while numabd balances", mode,
             paused);
    say(userdata, line);
    return 0;
}

size_t kernel_balancing_undo(struct kernel_balancing *kernel, kernel_balancing_say *say,
                             void *userdata)
{
    kernel->paused = false;
    kernel->n_ready = 0;
    return kernel->undo ? undo_restore(kernel->undo, say, userdata) : 0;
}

static void put_back(struct kernel_balancing *kernel, kernel_balancing_say *say, void *userdata)
{
    if (kernel_balancing_undo(kernel, say, userdata))
        leave(kernel, "it could not be put back", say, userdata);
}

static void describe(struct kernel_balancing *kernel, unsigned long long mode, const char *obstacle)
{
    const char *why = kernel->left[0] ? kernel->left : obstacle;

    if (kernel->paused && !(mode & KERNEL_BALANCING_NORMAL))
        snprintf(kernel->state, sizeof kernel->state, "paused");
    else if (!(mode & KERNEL_BALANCING_NORMAL))
        snprintf(kernel->state, sizeof kernel->state, "%s",
                 mode & KERNEL_BALANCING_TIERING ? "tiering" : "off");
    else
        snprintf(kernel->state, sizeof kernel->state, "on%s%s", why ? ": " : "", why ? why : "");
}

static int act(struct kernel_balancing *kernel, unsigned long long mode, const char *obstacle,
               kernel_balancing_say *say, void *userdata)
{
    bool normal = mode & KERNEL_BALANCING_NORMAL;

    kernel->n_ready = obstacle ? 0 : kernel->n_ready + 1;
    if (kernel->paused && normal) {
        undo_forget(kernel->undo, UNDO_NUMA_BALANCING);
        kernel->paused = false;
        leave(kernel, "somebody turned it on again", say, userdata);
    } else if (kernel->paused && obstacle) {
        put_back(kernel, say, userdata);
    } else if (!kernel->paused && normal && !kernel->left[0] &&
               kernel->n_ready >= KERNEL_BALANCING_ROUNDS) {
        return pause_it(kernel, mode, say, userdata);
    }
    return 0;
}

int kernel_balancing_round(struct kernel_balancing *kernel,
                           const struct kernel_balancing_facts *facts, kernel_balancing_say *say,
                           void *userdata)
{
    const char *obstacle = kernel_balancing_obstacle(facts);
    unsigned long long mode;
    int r;

    if (!kernel->undo)
        return 0;
    if (undo_get(kernel->undo, UNDO_NUMA_BALANCING, &mode)) {
        snprintf(kernel->state, sizeof kernel->state, "absent");
        return 0;
    }
    r = act(kernel, mode, obstacle, say, userdata);
    if (!undo_get(kernel->undo, UNDO_NUMA_BALANCING, &mode))
        describe(kernel, mode, obstacle);
    return r;
}

void kernel_balancing_reset(struct kernel_balancing *kernel)
{
    kernel->left[0] = '\0';
}
