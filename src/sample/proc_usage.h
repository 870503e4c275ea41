#pragma once
/*
 * Proc usage: what a process has used so far and which address space it is in, from the texts of
 * /proc/PID. Buffer in, facts out.
 */
#include <stdint.h>
#include <sys/types.h>

struct proc_usage {
    uint64_t start_ticks; /* since boot */
    uint64_t minor_faults;
    uint64_t cpu_ticks; /* of sysconf(_SC_CLK_TCK) a second, all threads */
    uint64_t rss_pages;
    /* Start of the code and of the stack: another pair is another address space (exec). 1 or 0
       where the kernel does not tell. */
    uint64_t code_start, stack_start;
};

enum {
    PROC_USAGE_MALFORMED = 1,
};

/* Of stat. Return: 0 or PROC_USAGE_MALFORMED. */
int proc_usage_parse(const char *text, struct proc_usage *usage);

/* Of status: who traces it, 0 for nobody. Return: 0 or PROC_USAGE_MALFORMED. */
int proc_usage_parse_tracer(const char *text, pid_t *tracerp);
