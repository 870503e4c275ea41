#pragma once
/*
 * The machine's nodes as files below a folder of their own: what topology reads.
 */
#include "sim/machine.h"

struct sim_root {
    char path[256];
};

void sim_root_init(struct sim_root *root, const struct sim_machine *machine);
/* Free memory, watermarks and page cache as they are now. */
void sim_root_write_room(const struct sim_root *root, const struct sim_machine *machine);
void sim_root_deinit(struct sim_root *root);
