#pragma once
/*
 * The memory of a guest in the address space of its monitor, and the guest node of each piece.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/kvm/qemu_args.h"

struct vmm_range {
    uint64_t start, end; /* [start, end) */
    int node;            /* of the guest; -1: of no one in particular, all vCPUs use it */
};

struct vmm_memory {
    struct vmm_range *ranges;
    size_t n_ranges, cap;
};

/*
 * Appends the guest's memory to an empty list: what the command line names, else what looks like
 * it. `maps`: the text of /proc/PID/maps. Return: 0 or -ENOMEM.
 */
int vmm_memory_find(struct vmm_memory *memory, const struct qemu_args *args, const char *maps,
                    size_t size);
void vmm_memory_deinit(struct vmm_memory *memory);

/* Has the guest node memory of its own? */
bool vmm_memory_has_node(const struct vmm_memory *memory, int node);
