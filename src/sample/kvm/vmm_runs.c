#include "sample/kvm/vmm_runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/maps.h"

static bool begins(const char *text, size_t size, const char *with)
{
    size_t n = strlen(with);

    return size >= n && memcmp(text, with, n) == 0;
}

bool vmm_run_name_begins(const struct vmm_run *run, const char *with)
{
    return begins(run->name, run->name_size, with);
}

bool vmm_run_name_holds(const struct vmm_run *run, const char *part)
{
    return memmem(run->name, run->name_size, part, strlen(part)) != NULL;
}

/* Return: whether it may hold guest memory: [heap], [stack] and their like do not. */
static bool entry_kind(const struct maps_entry *entry, enum vmm_run_kind *kindp)
{
    const char *name = entry->name;
    size_t size = entry->name_size;

    if ((entry->perms & (MAPS_READ | MAPS_WRITE)) != (MAPS_READ | MAPS_WRITE))
        return false;
    if (size == 0 || begins(name, size, "[anon:") || begins(name, size, "[anon_shmem:") ||
        begins(name, size, "/dev/zero") || begins(name, size, "/anon_hugepage"))
        *kindp = VMM_RUN_ANONYMOUS;
    else if (begins(name, size, "/memfd:"))
        *kindp = VMM_RUN_MEMFD;
    else if (name[0] == '/')
        *kindp = VMM_RUN_FILE;
    else
        return false;
    return true;
}

static bool run_continues(const struct vmm_run *run, const struct vmm_run *next)
{
    return run->end == next->start && run->kind == next->kind && run->shared == next->shared &&
           run->inode == next->inode && run->name_size == next->name_size &&
           memcmp(run->name, next->name, run->name_size) == 0;
}

bool vmm_runs_join(const struct vmm_runs *runs, size_t first, uint64_t bytes, struct vmm_run *run)
{
    struct vmm_run joined = runs->items[first];

    for (size_t i = first + 1; i < runs->n && joined.end - joined.start < bytes; i++) {
        if (!run_continues(&joined, &runs->items[i]))
            break;
        joined.end = runs->items[i].end;
    }
    *run = joined;
    return joined.end - joined.start == bytes;
}

static int runs_add(struct vmm_runs *runs, const struct vmm_run *run)
{
    if (ARRAY_RESERVE(runs->items, runs->cap, runs->n + 1) < 0)
        return -ENOMEM;
    runs->items[runs->n++] = *run;
    return 0;
}

/* ".../ld-linux-x86-64.so.2", ".../ld-musl-x86_64.so.1", ".../ld-2.31.so" */
static bool is_interpreter(const struct maps_entry *entry)
{
    const char *slash = memrchr(entry->name, '/', entry->name_size);

    return slash && begins(slash, entry->name_size - (size_t)(slash - entry->name), "/ld-");
}

static int runs_take(struct vmm_runs *runs, const struct maps_entry *entry)
{
    struct vmm_run run = {
        .start = entry->start,
        .end = entry->end,
        .shared = entry->perms & MAPS_SHARED,
        .inode = entry->inode,
        .name = entry->name,
        .name_size = entry->name_size,
    };

    if (!runs->interpreter && is_interpreter(entry))
        runs->interpreter = entry->start;
    return entry_kind(entry, &run.kind) ? runs_add(runs, &run) : 0;
}

int vmm_runs_parse(struct vmm_runs *runs, const char *maps, size_t size)
{
    const char *end = maps + size;
    struct maps_entry entry;
    int r = 0, parsed;

    while (!r && (parsed = maps_parse_line(&maps, end, &entry)) != MAPS_END)
        if (!parsed)
            r = runs_take(runs, &entry);
    return r;
}

void vmm_runs_deinit(struct vmm_runs *runs)
{
    free(runs->items);
    *runs = (struct vmm_runs){0};
}
