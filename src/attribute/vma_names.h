#pragma once
/*
 * The names of an address space's VMAs, as maps has them: each kept once, as far as is easily seen.
 */
#include <stddef.h>
#include <stdint.h>

#include "numabd/attribute.h"

/* A longer name keeps its end, behind "...": there stand the file's name and "(deleted)". */
#define VMA_NAME_MAX 255
/* All names of a space; names beyond it are VMA_NAME_LEFT_OUT. */
#define VMA_NAMES_BYTES ((size_t)4 << 20)

/* Offsets that stand for "" and, where names were left out, "...". */
#define VMA_NAME_NONE 0
#define VMA_NAME_LEFT_OUT 1

/* Remembers some of the names while a list is made. {0} at first. */
struct vma_names_cache {
    uint32_t offsets[256];
};

void vma_names_deinit(struct vma_names *names);
/* The offset of the name, which is added if need be. Return: 0 or -ENOMEM. */
int vma_names_add(struct vma_names *names, struct vma_names_cache *cache, const char *name,
                  size_t size, uint32_t *offsetp);
const char *vma_names_at(const struct vma_names *names, uint32_t offset);
