/*
 * What was learned about addresses stays with them only while the same mapping lies there. maps
 * shows no identity for anonymous memory: the same kind of mapping at the same addresses counts as
 * the same one; its policy counts only if its borders did not move either, since mbind splits VMAs.
 */
#include "attribute/vmas.h"

#include <stdio.h>
#include <string.h>

#include "attribute/vma_names.h"
#include "util/array.h"
#include "util/scan.h"

void vma_list_deinit(struct vma_list *list)
{
    free(list->items);
    free(list->marks);
    vma_names_deinit(&list->names);
    *list = (struct vma_list){0};
}

static bool name_is(const struct maps_entry *entry, const char *prefix)
{
    size_t size = strlen(prefix);

    return entry->name_size >= size && !memcmp(entry->name, prefix, size);
}

static bool is_special(const struct maps_entry *entry)
{
    static const char *const prefixes[] = {
        "[vvar",    "[vdso",    "[vsyscall",   "[vectors",
        "[uprobes", "[sigpage", "anon_inode:", "/secretmem",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(prefixes); i++)
        if (name_is(entry, prefixes[i]))
            return true;
    /* Device memory; /dev/zero and /dev/shm are ordinary shared memory. */
    return name_is(entry, "/dev/") && !name_is(entry, "/dev/zero") && !name_is(entry, "/dev/shm/");
}

enum reason vma_kind(const struct maps_entry *entry)
{
    /* Of hugetlbfs only usual mounts are known by name (/dev/hugepages1G); numa_maps marks all. */
    if (name_is(entry, "/anon_hugepage") || name_is(entry, "/dev/hugepages"))
        return REASON_HUGETLB;
    if (is_special(entry))
        return REASON_SPECIAL;
    if (!(entry->perms & (MAPS_READ | MAPS_WRITE | MAPS_EXEC)))
        return REASON_INACCESSIBLE;
    if (entry->perms & MAPS_SHARED)
        return REASON_SHARED_MAPPING;
    if (entry->inode && !(entry->perms & MAPS_WRITE))
        return REASON_SHARED_RO;
    return REASON_NONE;
}

/* Attached by shmat, of a segment in ordinary pages. */
static bool is_sysv(const struct maps_entry *entry)
{
    return entry->perms & MAPS_SHARED && name_is(entry, "/SYSV");
}

static struct vma vma_of_entry(const struct maps_entry *entry)
{
    return (struct vma){
        .start = entry->start,
        .end = entry->end,
        .perms = entry->perms,
        .offset = entry->offset,
        .dev_major = entry->dev_major,
        .dev_minor = entry->dev_minor,
        .inode = entry->inode,
        .ipc_ns = is_sysv(entry) ? VMA_IPC_UNKNOWN : 0,
        .kind = vma_kind(entry),
        .policy = REASON_POLICY_UNKNOWN,
    };
}

/* Return: 0 or -ENOMEM. */
static int vma_list_mark(struct vma_list *list)
{
    size_t n = list->n_items / VMA_MARK_STEP;

    list->marks = calloc(n + 1, sizeof *list->marks);
    if (!list->marks)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        list->marks[i] = list->items[(i + 1) * VMA_MARK_STEP - 1].end;
    return 0;
}

/* It is kept for long and seldom grows. */
static void vma_list_trim(struct vma_list *list)
{
    struct vma *items =
        list->n_items ? reallocarray(list->items, list->n_items, sizeof *items) : NULL;

    if (!items)
        return;
    list->items = items;
    list->cap = list->n_items;
}

int vma_list_parse(struct vma_list *list, const char *text, size_t size)
{
    const char *end = text + size;
    struct vma_names_cache cache = {{0}};
    struct maps_entry entry;
    int r;

    while ((r = maps_parse_line(&text, end, &entry)) != MAPS_END) {
        uint64_t last = list->n_items ? list->items[list->n_items - 1].end : 0;

        if (r < 0 || entry.start < last)
            continue;
        if (ARRAY_RESERVE(list->items, list->cap, list->n_items + 1) < 0)
            return -ENOMEM;
        list->items[list->n_items] = vma_of_entry(&entry);
        if (vma_names_add(&list->names, &cache, entry.name, entry.name_size,
                          &list->items[list->n_items].name) < 0)
            return -ENOMEM;
        list->n_items++;
    }
    vma_list_trim(list);
    return vma_list_mark(list);
}

/* The marks first: few enough to stay in the cache, where the VMAs of a large process do not. */
static void find_steps(const struct vma_list *list, uint64_t addr, size_t *lowp, size_t *highp)
{
    size_t low = 0, high = list->n_items / VMA_MARK_STEP;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list->marks[middle] <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    *lowp = low * VMA_MARK_STEP;
    *highp = *lowp + VMA_MARK_STEP < list->n_items ? *lowp + VMA_MARK_STEP : list->n_items;
}

static uint64_t read_ipc_ns(const struct host *host, pid_t pid)
{
    char path[64], text[64];
    struct scan scan;
    uint64_t inode;

    snprintf(path, sizeof path, "proc/%d/ns/ipc", pid);
    if (!host->ops->read_link || host->ops->read_link(host->self, path, text, sizeof text))
        return VMA_IPC_UNKNOWN;
    scan = (struct scan){.at = text, .end = text + strlen(text)};
    if (!scan_literal(&scan, "ipc:[") || !scan_decimal(&scan, UINT64_MAX, &inode) || !inode)
        return VMA_IPC_UNKNOWN;
    return inode;
}

void vma_list_set_ipc_ns(struct vma_list *list, const struct host *host, pid_t pid)
{
    uint64_t ipc_ns = 0;

    for (size_t i = 0; i < list->n_items; i++) {
        if (!list->items[i].ipc_ns)
            continue;
        if (!ipc_ns)
            ipc_ns = read_ipc_ns(host, pid);
        list->items[i].ipc_ns = ipc_ns;
    }
}

struct vma *vma_list_find(const struct vma_list *list, uint64_t addr)
{
    size_t low = 0, high = list->n_items;

    if (list->marks)
        find_steps(list, addr, &low, &high);
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list->items[middle].end <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->n_items && list->items[low].start <= addr ? &list->items[low] : NULL;
}

/* A SysV segment's inode is its id, and the first one's id is 0: only the device tells. */
static bool is_anonymous(const struct vma *vma)
{
    return !vma->inode && !vma->dev_major && !vma->dev_minor;
}

bool vma_is_same_mapping(const struct vma *before, const struct vma *after)
{
    if (before->inode != after->inode || before->dev_major != after->dev_major ||
        before->dev_minor != after->dev_minor || before->kind != after->kind)
        return false;
    if ((before->perms ^ after->perms) & MAPS_SHARED)
        return false;
    if (is_anonymous(before))
        return true;
    return before->start - before->offset == after->start - after->offset;
}

static bool is_same_line(const struct vma *a, const struct vma *b)
{
    return a->start == b->start && a->end == b->end && a->perms == b->perms &&
           a->offset == b->offset && a->inode == b->inode && a->dev_major == b->dev_major &&
           a->dev_minor == b->dev_minor && a->ipc_ns == b->ipc_ns && a->kind == b->kind &&
           a->name == b->name;
}

static bool are_same_names(const struct vma_names *a, const struct vma_names *b)
{
    return a->size == b->size && (!a->size || !memcmp(a->text, b->text, a->size));
}

bool vma_list_is_same(const struct vma_list *a, const struct vma_list *b)
{
    size_t i = 0;

    while (i < a->n_items && i < b->n_items && is_same_line(&a->items[i], &b->items[i]))
        i++;
    return i == a->n_items && i == b->n_items && are_same_names(&a->names, &b->names);
}

void vma_list_inherit(struct vma_list *list, const struct vma_list *before)
{
    size_t o = 0;

    for (size_t i = 0; i < list->n_items; i++) {
        struct vma *vma = &list->items[i];
        const struct vma *old;

        while (o < before->n_items && before->items[o].start < vma->start)
            o++;
        if (o == before->n_items)
            return;
        old = &before->items[o];
        if (old->start == vma->start && old->end == vma->end && old->perms == vma->perms &&
            vma_is_same_mapping(old, vma)) {
            vma->policy = old->policy;
            vma->n_mapped = old->n_mapped;
            vma->page_bytes = old->page_bytes;
        }
    }
}
