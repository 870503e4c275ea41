#include "daemon/runnable.h"

#include <stdio.h>

#include "util/cleanup.h"

#define LOADAVG_BYTES 128

long runnable_parse(const char *text)
{
    unsigned long running, all;
    float load[3];

    if (sscanf(text, "%f %f %f %lu/%lu", &load[0], &load[1], &load[2], &running, &all) != 5 ||
        running > all)
        return -1;
    return (long)running;
}

bool runnable_any(const struct host *host)
{
    CLEANUP(freep) char *text = NULL;
    size_t size = 0;
    long n = -1;

    if (!host->ops->read_file(host->self, "proc/loadavg", LOADAVG_BYTES, &text, &size))
        n = runnable_parse(text);
    return n != 1;
}
