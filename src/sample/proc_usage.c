/*
 * 4711 (any ( bytes\n) here) S 1 4711 ...: the name ends at the last parenthesis of the file; the
 * fields behind it have the numbers of proc_pid_stat(5).
 */
#include "sample/proc_usage.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    STAT_STATE = 3,
    STAT_MINOR_FAULTS = 10,
    STAT_USER = 14,
    STAT_SYSTEM = 15,
    STAT_START = 22,
    STAT_RSS = 24,
    STAT_CODE = 26,
    STAT_STACK = 28,
};

static void usage_take(struct proc_usage *usage, int field, uint64_t value)
{
    switch (field) {
    case STAT_MINOR_FAULTS:
        usage->minor_faults = value;
        break;
    case STAT_USER:
    case STAT_SYSTEM:
        usage->cpu_ticks += value;
        break;
    case STAT_START:
        usage->start_ticks = value;
        break;
    case STAT_RSS:
        usage->rss_pages = value;
        break;
    case STAT_CODE:
        usage->code_start = value;
        break;
    case STAT_STACK:
        usage->stack_start = value;
        break;
    }
}

int proc_usage_parse(const char *text, struct proc_usage *usage)
{
    *usage = (struct proc_usage){0};
    text = strrchr(text, ')');
    if (!text)
        return PROC_USAGE_MALFORMED;
    text++;
    for (int field = STAT_STATE; field <= STAT_STACK; field++) {
        text += strspn(text, " ");
        if (!*text || *text == '\n')
            return PROC_USAGE_MALFORMED;
        usage_take(usage, field, strtoull(text, NULL, 10));
        text += strcspn(text, " \n");
    }
    return 0;
}

int proc_usage_parse_tracer(const char *text, pid_t *tracerp)
{
    static const char key[] = "\nTracerPid:"; /* Name is the first line and escapes newlines */
    const char *at = strstr(text, key);
    char *end;
    long tracer;

    if (!at)
        return PROC_USAGE_MALFORMED;
    at += sizeof key - 1;
    tracer = strtol(at, &end, 10);
    if (end == at || *end != '\n' || tracer < 0 || tracer > INT_MAX)
        return PROC_USAGE_MALFORMED;
    *tracerp = (pid_t)tracer;
    return 0;
}
