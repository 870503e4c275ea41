/*
 * numabench - a workload for NUMA balancers: the four memory patterns of the autonuma benchmark,
 * with memory and threads begun where the command line says, and a line a second that says how far
 * the memory is from the threads that use it.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "numabench/fail.h"
#include "numabench/machine.h"
#include "numabench/measure.h"
#include "numabench/memory.h"
#include "numabench/options.h"
#include "numabench/team.h"

static double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void print_line(const struct options *options, double seconds,
                       const struct measurement *result)
{
    printf("numabench %s %3.0f s  passes %lu  distance %.2f  remote %.1f %%\n",
           options->workload->name, seconds, result->passes, result->distance,
           result->remote_percent);
    fflush(stdout);
}

static void print_result(const struct team *team, double seconds, const struct measurement *first,
                         const struct measurement *last)
{
    const struct options *options = team->options;

    printf("RESULT workload=%s label=%s seconds=%.1f passes=%lu", options->workload->name,
           options->label, seconds, last->passes);
    printf(" distance_first=%.2f distance_last=%.2f remote_first=%.1f remote_last=%.1f",
           first->distance, last->distance, first->remote_percent, last->remote_percent);
    for (unsigned int i = 0; i < options->workload->n_processes; i++)
        printf("%s%d", i == 0 ? " pid=" : ",", team->shared->pids[i]);
    printf(" errors=%lu mib_per_second=%.0f\n", last->errors,
           seconds > 0 ? last->mib / seconds : 0);
    fflush(stdout);
}

static void print_start(const struct team *team)
{
    const struct options *options = team->options;

    printf("numabench %s  pid", options->workload->name);
    for (unsigned int i = 0; i < options->workload->n_processes; i++)
        printf(" %d", team->shared->pids[i]);
    printf("  threads %u  memory %zu MiB\n", team->n_members, options->size_bytes >> 20);
    fflush(stdout);
}

static int wait_signal(double seconds)
{
    struct timespec timeout;
    sigset_t signals;

    if (seconds < 0)
        seconds = 0;
    timeout.tv_sec = (time_t)seconds;
    timeout.tv_nsec = (long)((seconds - (double)timeout.tv_sec) * 1e9);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGUSR2);
    sigaddset(&signals, SIGCHLD);
    return sigtimedwait(&signals, NULL, &timeout);
}

/*
 * Until a signal, the time limit, or the last pass. LAST is what the last line showed; returns when
 * that was.
 */
static double monitor(const struct team *team, struct measure *measure, double start,
                      struct measurement *last)
{
    const struct options *options = team->options;
    double limit = options->seconds, next = 1, seconds, measured = 0;

    for (;;) {
        double until = limit > 0 && limit < next ? limit : next;
        int signal = wait_signal(start + until - now_seconds());

        if (signal == SIGTERM || signal == SIGINT)
            return measured;
        if (signal == SIGCHLD)
            team_check_children(team);
        if (atomic_load(&team->shared->finished) == team->n_members)
            return measured;
        seconds = now_seconds() - start;
        if (seconds >= next || signal == SIGUSR1) {
            measure_take(measure, team, last);
            measured = seconds;
            if (!options->quiet || signal == SIGUSR1)
                print_line(options, seconds, last);
        }
        while (next <= seconds)
            next++;
        if (limit > 0 && seconds >= limit)
            return measured;
    }
}

static unsigned long run(struct team *team, struct measure *measure)
{
    struct measurement first, last;
    double start, seconds, measured;

    team_start(team);
    if (!team->options->quiet)
        print_start(team);
    measure_take(measure, team, &first);
    if (!team->options->quiet)
        print_line(team->options, 0, &first);
    last = first;
    start = now_seconds();
    atomic_store(&team->shared->go, true);
    measured = monitor(team, measure, start, &last);
    seconds = now_seconds() - start;
    /* A moment since the last line holds too few accesses to say anything. */
    if (measured == 0 || seconds - measured > 0.5)
        measure_take(measure, team, &last);
    team_stop(team);
    measure_count(team, &last);
    print_result(team, seconds, &first, &last);
    return last.errors;
}

/* In every thread and child; each waits for what concerns it. */
static void block_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGUSR2);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, NULL);
}

int main(int argc, char **argv)
{
    struct options options;
    struct machine machine;
    struct measure measure;
    struct team team;
    unsigned long errors;

    options_parse(&options, argc, argv);
    machine_read(&machine);
    memory_check_placement(&options, &machine);
    block_signals();
    team_new(&team, &options, &machine);
    measure_new(&measure, &team);
    errors = run(&team, &measure);
    measure_free(&measure);
    team_free(&team);
    free(machine.cpus);
    return errors > 0;
}
