#pragma once
/*
 * What decide is asked about, by hand: a machine of three nodes, and a range that is to be moved.
 */
#include "numabd/decide.h"
#include "util/nsec.h"

#define SCENE_NODES 3
#define SCENE_MIB ((uint64_t)1 << 20)
#define SCENE_BASE UINT64_C(0x7f0000000000)
#define SCENE_NOW (1000 * NSEC_PER_SEC)

/* Everything that one candidate points to. */
struct scene {
    struct target target;
    struct space space;
    struct vma vma;
    struct range range;
    struct tally_entry rate[SCENE_NODES], residency[SCENE_NODES];
    bool allowed[SCENE_NODES];
    struct candidate candidate;
};

/* What decide sees of the machine. */
struct scene_machine {
    struct node nodes[SCENE_NODES];
    uint8_t distances[SCENE_NODES * SCENE_NODES];
    uint64_t rate_bytes[SCENE_NODES];
    struct config config;
    struct topology topology;
    struct decide_env env;
};

/* Room and rate for everything; node 2 cannot be reached from node 0. */
void scene_machine_init(struct scene_machine *machine);

/* 2 MiB on node 1, used all the time by one thread on node 0, confirmed 20 s ago: to be moved. */
void scene_init(struct scene *scene, uint64_t start);
