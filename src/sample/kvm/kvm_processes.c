#include "sample/kvm/kvm_processes.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"

static struct kvm_process *process_free(struct kvm_process *process)
{
    if (!process)
        return NULL;
    vmm_deinit(&process->vmm);
    free(process);
    return NULL;
}

static struct kvm_process *process_new(struct kvm_processes *processes,
                                       const struct sample_target *target)
{
    struct kvm_process *process = calloc(1, sizeof *process);

    if (!process)
        return NULL;
    process->pid = target->pid;
    process->start_ticks = target->start_ticks;
    process->serial = ++processes->n_serials;
    process->spread.random = process->serial;
    return process;
}

struct kvm_process *kvm_processes_find(const struct kvm_processes *processes, pid_t pid)
{
    size_t low = 0, high = processes->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (processes->items[middle]->pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < processes->n && processes->items[low]->pid == pid ? processes->items[low] : NULL;
}

bool kvm_process_is_machine(const struct kvm_process *process)
{
    return process->vmm.n_vcpus > 0;
}

size_t kvm_processes_machines(const struct kvm_processes *processes)
{
    size_t n = 0;

    for (size_t i = 0; i < processes->n; i++)
        n += kvm_process_is_machine(processes->items[i]);
    return n;
}

uint64_t kvm_processes_guest_bytes(const struct kvm_processes *processes)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < processes->n; i++) {
        const struct vmm_memory *memory = &processes->items[i]->vmm.memory;

        for (size_t j = 0; j < memory->n_ranges; j++)
            bytes += memory->ranges[j].end - memory->ranges[j].start;
    }
    return bytes;
}

/* The known process that the target is, taken out of the list; *atp goes on behind it. */
static struct kvm_process *take_known(struct kvm_processes *processes, size_t *atp,
                                      const struct sample_target *target)
{
    struct kvm_process **items = processes->items;
    size_t at = *atp;

    while (at < processes->n && items[at]->pid < target->pid)
        at++;
    *atp = at;
    if (at >= processes->n || items[at]->pid != target->pid ||
        items[at]->start_ticks != target->start_ticks)
        return NULL;
    *atp = at + 1;
    return TAKE(items[at]);
}

static void drop_items(struct kvm_processes *processes)
{
    for (size_t i = 0; i < processes->n; i++)
        process_free(processes->items[i]);
    free(processes->items);
}

int kvm_processes_follow(struct kvm_processes *processes, const struct sample_round *round)
{
    struct kvm_process **followed = calloc(round->n_targets + 1, sizeof *followed);
    size_t at = 0, n = 0;

    for (; n < round->n_targets && followed; n++) {
        struct kvm_process *known = take_known(processes, &at, &round->targets[n]);

        followed[n] = known ? known : process_new(processes, &round->targets[n]);
        if (!followed[n])
            break;
    }
    drop_items(processes);
    processes->items = followed;
    processes->n = n;
    return n < round->n_targets || !followed ? -ENOMEM : 0;
}

void kvm_processes_deinit(struct kvm_processes *processes)
{
    drop_items(processes);
    *processes = (struct kvm_processes){0};
}
