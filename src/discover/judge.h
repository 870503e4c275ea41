#pragma once
/*
 * The reason why a process is left alone, or none.
 */
#include "numabd/discover.h"

struct judge {
    const struct procs *procs;
    const struct topology *topology;
    pid_t self_pid;
};

/*
 * Sets target->reason from its cheap facts and the config, and reads what else that needs.
 * Return: 0, or with the reason as it was DISCOVER_GONE or a negative errno.
 */
int judge_target(const struct judge *judge, const struct config *config, struct target *target,
                 uint64_t now);
