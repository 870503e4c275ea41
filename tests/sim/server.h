#pragma once
/*
 * A server: 1,024 threads, 20,000 mappings, and at a time a twentieth of them in use. Threads come
 * in four groups with mappings of their own, and one of the groups sleeps, longer than masks
 * remember it. The mappings in use change now and then.
 */
#include "sim/machine.h"

#define SIM_SERVER_THREADS 1024
#define SIM_SERVER_VMAS 20000
#define SIM_SERVER_HOT 1000
#define SIM_SERVER_GROUPS 4
/* Two windows of 4 s, and more. */
#define SIM_SERVER_SLEEP_SEC 12
#define SIM_SERVER_PHASE_SEC 30

struct sim_server {
    struct sim_machine *machine;
    struct sim_process *process;
    unsigned phase;
    unsigned asleep; /* group */
};

/* 31 GiB, spread over all nodes. */
void sim_server_init(struct sim_server *server, struct sim_machine *machine);
/* What `second` of the run begins with. */
void sim_server_begin_second(struct sim_server *server, unsigned second);
