#define _GNU_SOURCE
#include "team.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "fail.h"
#include "memory.h"
#include "thread.h"

/* Slices end at a huge page where they are large enough, so that no two threads share one. */
#define SLICE_ALIGN ((size_t)2 << 20)

static size_t round_slice(size_t bytes)
{
    size_t unit = bytes >= SLICE_ALIGN ? SLICE_ALIGN : TEAM_CHUNK_BYTES;

    return bytes / unit * unit;
}

static void place_members(struct team *team, unsigned int process, uintptr_t base, size_t bytes)
{
    const struct machine *machine = team->machine;
    struct machine_cpu *cpus = calloc(machine->n_cpus, sizeof(*cpus));
    size_t n_cpus, slice = round_slice(bytes / team->per_process);

    if (cpus == NULL)
        fail("out of memory");
    n_cpus = machine_choose_cpus(machine, team->options->workload, process, cpus);
    for (unsigned int i = 0; i < team->per_process; i++) {
        bool shared = team->options->workload->shared;

        team->members[process * team->per_process + i] = (struct member){
            .process = process,
            .index = i,
            .cpu = cpus[i % n_cpus],
            .base = base,
            .process_bytes = bytes,
            .start = shared ? 0 : i * slice,
            .end = shared ? bytes : (i + 1) * slice,
        };
    }
    free(cpus);
}

static unsigned int count_threads(const struct team *team)
{
    const struct workload *workload = team->options->workload;
    struct machine_cpu *cpus;
    size_t n;

    if (team->options->threads != 0)
        return team->options->threads;
    if (workload->n_processes > 1)
        return team->machine->n_cpus < 2 ? 1 : (unsigned int)(team->machine->n_cpus / 2);
    cpus = calloc(team->machine->n_cpus, sizeof(*cpus));
    if (cpus == NULL)
        fail("out of memory");
    n = machine_choose_cpus(team->machine, workload, 0, cpus);
    free(cpus);
    return (unsigned int)n;
}

static void *map_shared(size_t bytes)
{
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        fail_errno("cannot map the counters");
    return page;
}

void team_new(struct team *team, const struct options *options, const struct machine *machine)
{
    unsigned int n_processes = options->workload->n_processes;
    size_t slice, bytes;

    *team = (struct team){.options = options, .machine = machine};
    team->per_process = count_threads(team);
    team->n_members = team->per_process * n_processes;
    slice = round_slice(options->size_bytes / team->n_members);
    if (slice == 0)
        fail("--size is too small for %u threads", team->n_members);
    bytes = slice * team->per_process;
    team->members = calloc(team->n_members, sizeof(*team->members));
    if (team->members == NULL)
        fail("out of memory");
    for (unsigned int process = 0; process < n_processes; process++)
        place_members(team, process, memory_map(bytes, options->huge), bytes);
    team->shared =
        map_shared(sizeof(*team->shared) + team->n_members * sizeof(*team->shared->counters));
    team->shared->monitor = getpid();
}

void team_free(struct team *team)
{
    free(team->members);
    munmap(team->shared, sizeof(*team->shared) + team->n_members * sizeof(*team->shared->counters));
}

static void start_threads(const struct team *team, unsigned int process)
{
    for (unsigned int i = 0; i < team->n_members; i++)
        if (team->members[i].process == process)
            thread_start(team, &team->members[i], &team->shared->counters[i]);
}

/* A process of a team of several: lives until all are done, and passes a signal on. */
__attribute__((noreturn)) static void run_child(const struct team *team, unsigned int process)
{
    struct shared *shared = team->shared;
    sigset_t signals;
    int signal;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        fail_errno("prctl");
    if (getppid() != shared->monitor)
        _exit(1);
    start_threads(team, process);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGUSR2);
    while (atomic_load(&shared->finished) < team->n_members) {
        if (sigwait(&signals, &signal) == 0 && signal != SIGUSR2)
            kill(shared->monitor, signal);
    }
    _exit(0);
}

static void start_process(const struct team *team, unsigned int process)
{
    pid_t pid;

    if (team->options->workload->n_processes == 1) {
        team->shared->pids[process] = getpid();
        start_threads(team, process);
        return;
    }
    pid = fork();
    if (pid < 0)
        fail_errno("fork");
    if (pid == 0)
        run_child(team, process);
    team->shared->pids[process] = pid;
}

void team_check_children(const struct team *team)
{
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);

    if (pid <= 0 || atomic_load(&team->shared->finished) == team->n_members)
        return;
    if (WIFSIGNALED(status))
        fail("process %d was killed by signal %d", pid, WTERMSIG(status));
    _exit(1);
}

void team_start(struct team *team)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    sigaddset(&signals, SIGCHLD);
    fflush(stdout);
    for (unsigned int process = 0; process < team->options->workload->n_processes; process++)
        start_process(team, process);
    while (atomic_load(&team->shared->populated) < team->n_members) {
        if (sigwaitinfo(&signals, NULL) == SIGCHLD)
            team_check_children(team);
    }
}

void team_stop(struct team *team)
{
    struct shared *shared = team->shared;
    sigset_t signals;

    atomic_store(&shared->stop, true);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    sigaddset(&signals, SIGCHLD);
    while (atomic_load(&shared->finished) < team->n_members)
        if (sigwaitinfo(&signals, NULL) == SIGCHLD)
            team_check_children(team);
    if (team->options->workload->n_processes == 1)
        return;
    for (unsigned int process = 0; process < team->options->workload->n_processes; process++) {
        kill(shared->pids[process], SIGUSR2);
        waitpid(shared->pids[process], NULL, 0);
    }
}
