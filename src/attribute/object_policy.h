#pragma once
/*
 * Memory policies of an object. mbind on shared memory sets them for its offsets, whoever maps them
 * (mm/mempolicy.c: mpol_set_shared_policy), and numa_maps of a process shows the one at the start
 * of each of its own VMAs only: one process binds a part, and the others, which map the whole as
 * one VMA, show nothing of it. So what any mapper has shown is remembered until a VMA that starts
 * at the same offset shows the default policy.
 */
#include "attribute/objects.h"

/* More than that becomes one that covers all of them. */
#define OBJECT_POLICIES_MAX 64

/* Remembers a policy of [start, end). Return: 0 or -ENOMEM. */
int object_note_policy(struct object *object, uint64_t start, uint64_t end, enum reason reason);

/* Has anybody who maps it from this offset on shown its policy? */
bool object_knows_policy_at(const struct object *object, uint64_t offset);

/* Takes what the windows show now. Return: 0 or -ENOMEM. */
int object_follow_policies(struct object *object);

/* NONE, the policy of some of [start, end), or POLICY_UNKNOWN. */
enum reason object_policy(const struct object *object, uint64_t start, uint64_t end);
