#pragma once
/*
 * Objects and the spaces that map them, from the text of maps; a fake host and an inline pool.
 */
#include "attribute/objects.h"
#include "fake_host.h"
#include "space_rig.h"

#define OBJECT_RIG_SPACES 4

struct object_rig {
    struct fake_host fake;
    struct node nodes[3]; /* all have memory */
    struct topology topology;
    struct worker_pool *pool;
    struct objects *objects;
    struct space *spaces; /* by pid */
    size_t n_forgotten;   /* objects with memory that went */
    uint64_t now;
};

void object_rig_init(struct object_rig *rig, struct discover *discover);
void object_rig_deinit(struct object_rig *rig);

/* The process has these maps from now on; it is new if it was not known. */
struct space *object_rig_map(struct object_rig *rig, pid_t pid, const char *maps);
/* Its space goes. */
void object_rig_drop(struct object_rig *rig, pid_t pid);

/* n samples from the node, as the stage counts them. Return: of the last one. */
int object_rig_add(struct object_rig *rig, pid_t pid, int node, uint64_t addr, unsigned n);

/* The object that lies at an address of the process; NULL: none. */
struct object *object_rig_at(const struct object_rig *rig, pid_t pid, uint64_t addr);
struct range *object_rig_range(const struct object *object, uint64_t offset);
