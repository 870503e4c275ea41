#pragma once
/*
 * The VMAs of an address space, from the text of /proc/PID/maps.
 */
#include "numabd/attribute.h"
#include "numabd/host.h"
#include "util/maps.h"

void vma_list_deinit(struct vma_list *list);

/*
 * Reads the text into an empty list. Malformed, overlapping and descending lines are left out (the
 * text is not one snapshot: mappings change while the kernel prints it).
 * Return: 0 or -ENOMEM.
 */
int vma_list_parse(struct vma_list *list, const char *text, size_t size);

/* The VMA that holds addr, or NULL. */
struct vma *vma_list_find(const struct vma_list *list, uint64_t addr);

#define VMA_IPC_UNKNOWN 1

/*
 * Reads which IPC namespace the process is in, where a VMA is SysV memory: shmids of containers are
 * alike. Runs in a worker. Where it cannot be read it stays unknown, one for all.
 */
void vma_list_set_ipc_ns(struct vma_list *list, const struct host *host, pid_t pid);

/* Can what was learned about `before` at its own addresses be used for `after`? */
bool vma_is_same_mapping(const struct vma *before, const struct vma *after);

/* Why this kind of mapping is never moved, or REASON_NONE. */
enum reason vma_kind(const struct maps_entry *entry);

/* Do both tell the same lines of maps? */
bool vma_list_is_same(const struct vma_list *a, const struct vma_list *b);

/*
 * Carries over from the previous list what is still true: the policy and page size of VMAs whose
 * borders and mapping did not change.
 */
void vma_list_inherit(struct vma_list *list, const struct vma_list *before);
