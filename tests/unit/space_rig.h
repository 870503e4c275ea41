#pragma once
/*
 * Address spaces from the text of maps, for the tests of spaces and requests.
 */
#include <stdio.h>

#include "attribute/space.h"
#include "attribute/vmas.h"

#define M ((uint64_t)1 << 20)
#define SPACE_PID 4711
#define SPACE_TICKS 99

/* A new space of SPACE_PID with these VMAs; NULL for none. */
struct space *space_rig_new(const char *maps);

/* As a re-read of maps. Return: ranges dropped. */
size_t space_rig_set(struct space *space, const char *maps);

/* n samples of thread `tid` from the node, a nanosecond apart from 1 on. Return: of the last one.
 */
int space_rig_add(struct space *space, pid_t tid, int node, uint64_t addr, unsigned n);

/* The list of a text that must be sound. */
struct vma_list vmas_of(const char *maps);
