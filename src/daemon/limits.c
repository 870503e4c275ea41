#include "daemon/limits.h"

#include <malloc.h>
#include <sys/resource.h>

/* glibc's own threshold before it begins to raise it. */
#define LARGE_BYTES (128 << 10)

void limits_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

void limits_return_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
}
