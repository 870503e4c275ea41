#include "sim/server.h"

#include "sim/fail.h"

#define GROUP_THREADS (SIM_SERVER_THREADS / SIM_SERVER_GROUPS)
#define GROUP_HOT (SIM_SERVER_HOT / SIM_SERVER_GROUPS)
#define USES 4 /* mappings of a thread; each is used by four threads, too */
/* Mappings in use lie among those that are not. */
#define HOT_STEP (SIM_SERVER_VMAS / SIM_SERVER_HOT)
/* 256 KiB to 4 MiB. */
#define SMALLEST_PAGES 64
#define SIZES 5

/* Thread i's, as it is in this phase. */
static void choose_uses(struct sim_server *server, unsigned i)
{
    struct sim_thread *thread = server->process->threads[i];
    unsigned group = i / GROUP_THREADS;

    sim_thread_drop_uses(thread);
    for (unsigned use = 0; use < USES; use++) {
        size_t hot = group * GROUP_HOT + (i % GROUP_THREADS * USES + use) % GROUP_HOT;
        size_t vma = (hot * HOT_STEP + server->phase) % SIM_SERVER_VMAS;

        sim_thread_use(thread, vma, 0, server->process->vmas[vma].object->n_pages, 1);
    }
}

static void choose_all(struct sim_server *server)
{
    for (unsigned i = 0; i < SIM_SERVER_THREADS; i++)
        choose_uses(server, i);
}

/* Spread over all CPUs, or asleep. */
static void set_awake(struct sim_server *server, unsigned group, bool awake)
{
    for (unsigned i = 0; i < GROUP_THREADS; i++) {
        struct sim_thread *thread = server->process->threads[group * GROUP_THREADS + i];
        int cpu = (int)(i % (unsigned)server->machine->n_cpus);

        sim_machine_run_on(server->machine, thread, awake ? cpu : -1);
    }
}

void sim_server_init(struct sim_server *server, struct sim_machine *machine)
{
    *server = (struct sim_server){.machine = machine};
    server->process = sim_machine_add_process(machine, "server");
    for (size_t i = 0; i < SIM_SERVER_VMAS; i++) {
        size_t row = i / HOT_STEP; /* those in use at a time are of all sizes and nodes */

        sim_machine_map(machine, server->process, (uint64_t)SMALLEST_PAGES << (row % SIZES),
                        (int)(row % (size_t)machine->shape.n_nodes));
    }
    for (unsigned i = 0; i < SIM_SERVER_THREADS; i++)
        sim_process_add_thread(server->process);
    choose_all(server);
    for (unsigned group = 1; group < SIM_SERVER_GROUPS; group++)
        set_awake(server, group, true);
}

void sim_server_begin_second(struct sim_server *server, unsigned second)
{
    unsigned phase = second / SIM_SERVER_PHASE_SEC;
    unsigned asleep = second / SIM_SERVER_SLEEP_SEC % SIM_SERVER_GROUPS;

    if (asleep != server->asleep) {
        set_awake(server, server->asleep, true);
        set_awake(server, asleep, false);
        server->asleep = asleep;
    }
    if (phase != server->phase) {
        server->phase = phase;
        choose_all(server);
    }
}
