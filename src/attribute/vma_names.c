/*
 * Most VMAs have no name, and most of those that have one share it with a neighbour or a few
 * others: a thousand thread stacks, a library's four parts. A small table of what was added last
 * under each hash finds these; the same name twice costs memory and nothing else. Whoever gives
 * 65,530 mappings names of their own gets no more than VMA_NAMES_BYTES.
 */
#include "attribute/vma_names.h"

#include <errno.h>
#include <string.h>

#include "util/array.h"

#define LEFT_OUT "..."

void vma_names_deinit(struct vma_names *names)
{
    free(names->text);
    *names = (struct vma_names){0};
}

/* FNV-1a. */
static unsigned hash_of(const char *name, size_t size)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return (hash ^ hash >> 16) % 256;
}

static int names_begin(struct vma_names *names)
{
    if (names->size)
        return 0;
    if (ARRAY_RESERVE(names->text, names->cap, sizeof "\0" LEFT_OUT) < 0)
        return -ENOMEM;
    memcpy(names->text, "\0" LEFT_OUT, sizeof "\0" LEFT_OUT);
    names->size = sizeof "\0" LEFT_OUT;
    return 0;
}

static int names_append(struct vma_names *names, const char *name, size_t size, uint32_t *offsetp)
{
    if (names->size + size + 1 > VMA_NAMES_BYTES) {
        *offsetp = VMA_NAME_LEFT_OUT;
        return 0;
    }
    if (ARRAY_RESERVE(names->text, names->cap, names->size + size + 1) < 0)
        return -ENOMEM;
    *offsetp = (uint32_t)names->size;
    memcpy(&names->text[names->size], name, size);
    names->text[names->size + size] = '\0';
    names->size += size + 1;
    return 0;
}

static bool is_name_at(const struct vma_names *names, uint32_t offset, const char *name,
                       size_t size)
{
    const char *known = &names->text[offset];

    return offset > VMA_NAME_LEFT_OUT && strlen(known) == size && !memcmp(known, name, size);
}

int vma_names_add(struct vma_names *names, struct vma_names_cache *cache, const char *name,
                  size_t size, uint32_t *offsetp)
{
    char cut[VMA_NAME_MAX];
    uint32_t *known;
    int r;

    *offsetp = VMA_NAME_NONE;
    if (!size)
        return 0;
    if (size > VMA_NAME_MAX) {
        memcpy(cut, LEFT_OUT, strlen(LEFT_OUT));
        memcpy(&cut[strlen(LEFT_OUT)], &name[size - VMA_NAME_MAX + strlen(LEFT_OUT)],
               VMA_NAME_MAX - strlen(LEFT_OUT));
        name = cut;
        size = VMA_NAME_MAX;
    }
    known = &cache->offsets[hash_of(name, size)];
    r = names_begin(names);
    if (!r && !is_name_at(names, *known, name, size))
        r = names_append(names, name, size, known);
    *offsetp = *known;
    return r;
}

const char *vma_names_at(const struct vma_names *names, uint32_t offset)
{
    return offset < names->size ? &names->text[offset] : "";
}
