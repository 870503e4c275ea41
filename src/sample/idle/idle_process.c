#include "sample/idle/idle_process.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/pid_array.h"

static void process_forget(struct idle_process *process)
{
    idle_armed_deinit(&process->armed);
    page_frames_deinit(&process->next);
}

void idle_processes_deinit(struct idle_processes *processes)
{
    for (size_t i = 0; i < processes->n; i++)
        process_forget(&processes->items[i]);
    free(processes->items);
    *processes = (struct idle_processes){0};
}

/* Return: where the pid is or belongs. */
static size_t find_position(const struct idle_processes *processes, pid_t pid)
{
    return PID_ARRAY_POSITION(processes->items, processes->n, pid);
}

struct idle_process *idle_processes_find(const struct idle_processes *processes, pid_t pid)
{
    size_t at = find_position(processes, pid);

    return at < processes->n && processes->items[at].pid == pid ? &processes->items[at] : NULL;
}

struct idle_process *idle_processes_get(struct idle_processes *processes, pid_t pid,
                                        uint64_t start_ticks)
{
    struct idle_process *process = idle_processes_find(processes, pid);
    size_t at = find_position(processes, pid);

    if (process && process->start_ticks != start_ticks) {
        process_forget(process);
        process->start_ticks = start_ticks;
    }
    if (process)
        return process;
    if (ARRAY_RESERVE(processes->items, processes->cap, processes->n + 1) < 0)
        return NULL;
    process = &processes->items[at];
    memmove(process + 1, process, (processes->n++ - at) * sizeof *process);
    *process =
        (struct idle_process){.pid = pid, .start_ticks = start_ticks, .armed = IDLE_ARMED_NULL};
    return process;
}

void idle_processes_prune(struct idle_processes *processes,
                          bool (*keep)(void *userdata, const struct idle_process *process),
                          void *userdata)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < processes->n; i++) {
        struct idle_process *process = &processes->items[i];
        bool wanted = keep(userdata, process);

        if (!wanted) {
            process_forget(process);
            process->start_ticks = 0;
        }
        if (wanted || process->in_flight)
            processes->items[n_kept++] = *process;
    }
    processes->n = n_kept;
}
