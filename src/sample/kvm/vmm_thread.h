#pragma once
/*
 * A thread of a virtual machine monitor, from the text of /proc/PID/task/TID/stat. Is it a vCPU,
 * and how long did it run?
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct vmm_thread {
    pid_t tid;
    uint64_t start_ticks; /* since boot, USER_HZ; with the tid it names one thread */
    uint64_t cpu_ticks;   /* user and system time, USER_HZ */
    uint64_t guest_ticks; /* of that, time in the guest; 0 where the kernel does not account it */
    int cpu;              /* where it ran last */
    int index;            /* of the guest's CPU, by the thread's name; -1: the name tells none */
};

/* Return: 0, or VMM_THREAD_MALFORMED with *thread untouched. */
enum {
    VMM_THREAD_MALFORMED = 1
};
int vmm_thread_parse(const char *text, struct vmm_thread *thread);

/* By its name, or because it has run a guest. */
bool vmm_thread_is_vcpu(const struct vmm_thread *thread);

/*
 * What it ran between two readings, in ticks: time in the guest where that is accounted, since the
 * rest (exits, emulation, polling while halted) is spent on the monitor's memory. 0 for two
 * different threads.
 */
uint64_t vmm_thread_ran(const struct vmm_thread *before, const struct vmm_thread *after);
