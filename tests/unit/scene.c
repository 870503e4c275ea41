#include "scene.h"

#include <string.h>

#include "attribute/thread_mask.h"

static const uint8_t distances[SCENE_NODES * SCENE_NODES] = {10, 21, 255, 21, 10, 21, 255, 21, 10};

void scene_machine_init(struct scene_machine *machine)
{
    *machine = (struct scene_machine){0};
    memcpy(machine->distances, distances, sizeof(distances));
    for (int node = 0; node < SCENE_NODES; node++) {
        machine->rate_bytes[node] = 1024 * SCENE_MIB;
        machine->nodes[node] = (struct node){.online = true,
                                             .has_cpus = true,
                                             .has_memory = true,
                                             .total_bytes = 8192 * SCENE_MIB,
                                             .free_bytes = 4096 * SCENE_MIB};
    }
    machine->config = (struct config){
        .interval_nsec = NSEC_PER_SEC, .headroom_bytes = 256 * SCENE_MIB, .use_page_cache = true};
    machine->topology = (struct topology){.n_node_ids = SCENE_NODES,
                                          .n_memory_nodes = SCENE_NODES,
                                          .nodes = machine->nodes,
                                          .distances = machine->distances};
    machine->env = (struct decide_env){.topology = &machine->topology,
                                       .config = &machine->config,
                                       .rate_bytes = machine->rate_bytes,
                                       .sec_per_byte = DECIDE_SEC_PER_BYTE,
                                       .now = SCENE_NOW};
}

void scene_init(struct scene *scene, uint64_t start)
{
    *scene = (struct scene){0};
    scene->rate[0] = (struct tally_entry){.node = 0, .n = 500, .sec = 2};
    scene->residency[0] = (struct tally_entry){.node = 1, .n = 16};
    scene->target = (struct target){.pid = 100, .reason = REASON_NONE};
    scene->space = (struct space){.pid = 100, .policy_read_nsec = SCENE_NOW - NSEC_PER_SEC};
    scene->vma = (struct vma){.start = SCENE_BASE, .end = SCENE_BASE + (1 << 30)};
    scene->range = (struct range){
        .start = start,
        .end = start + RANGE_BYTES,
        .rate = {.entries = scene->rate, .n_entries = 1},
        .rate_sec = 2,
        .claim = {.node = 0, .n_passes = 2, .since_nsec = SCENE_NOW - 20 * NSEC_PER_SEC},
        .residency = {.entries = scene->residency, .n_entries = 1},
        .residency_nsec = SCENE_NOW - NSEC_PER_SEC,
        .observed_node = -1,
    };
    thread_mask_set(&scene->range.threads, 3);
    scene->candidate = (struct candidate){.target = &scene->target,
                                          .space = &scene->space,
                                          .vma = &scene->vma,
                                          .range = &scene->range};
}
