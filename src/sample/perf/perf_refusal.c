/*
 * The texts. A limit is told with its value now, so that nobody has to look it up.
 */
#include "sample/perf/perf_refusal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "util/cleanup.h"

static unsigned long long limit_soft(int resource)
{
    struct rlimit limit = {0};

    (void)getrlimit(resource, &limit);
    return (unsigned long long)limit.rlim_cur;
}

/* The value of kernel.perf_event_paranoid as text. */
static void paranoid_read(const struct host *host, char *text, size_t text_size)
{
    CLEANUP(freep) char *buf = NULL;
    size_t size = 0;

    snprintf(text, text_size, "unknown");
    if (host->ops->read_file(host->self, "proc/sys/kernel/perf_event_paranoid", 16, &buf, &size))
        return;
    snprintf(text, text_size, "%.*s", (int)strcspn(buf, "\n"), buf);
}

static int refuse_permission(int error, const struct host *host, struct source_reason *reason)
{
    char paranoid[16];

    paranoid_read(host, paranoid, sizeof paranoid);
    snprintf(reason->text, sizeof reason->text,
             "perf_event_open: %s: kernel.perf_event_paranoid is %s: give CAP_PERFMON (up to 2) or "
             "CAP_SYS_ADMIN (3, Debian's default), or set it to 0; or a seccomp filter forbids it",
             strerrordesc_np(error), paranoid);
    return SOURCE_UNAVAILABLE;
}

int perf_refusal_open(int error, const struct host *host, struct source_reason *reason)
{
    const char *fix = "no fix is known";

    switch (error) {
    case EACCES:
    case EPERM:
        return refuse_permission(error, host, reason);
    case EMFILE:
        snprintf(reason->text, sizeof reason->text,
                 "perf_event_open: %s: each CPU takes a file and one more for each cgroup, "
                 "RLIMIT_NOFILE is %llu: raise LimitNOFILE=",
                 strerrordesc_np(error), limit_soft(RLIMIT_NOFILE));
        return SOURCE_UNAVAILABLE;
    case ENFILE:
        fix = "raise fs.file-max";
        break;
    case ENOMEM:
        fix = "the kernel is short of memory";
        break;
    case ENOENT:
    case ENOSYS:
    case EOPNOTSUPP:
        fix = "this kernel has no perf software events: use one with CONFIG_PERF_EVENTS";
        break;
    case EINVAL:
    case E2BIG:
        fix = "this kernel knows no user registers or no clock choice: use Linux 4.1 or later";
        break;
    }
    snprintf(reason->text, sizeof reason->text, "perf_event_open: %s: %s", strerrordesc_np(error),
             fix);
    return SOURCE_UNAVAILABLE;
}

int perf_refusal_map(int error, struct source_reason *reason)
{
    snprintf(reason->text, sizeof reason->text,
             "mmap of a perf ring: %s: RLIMIT_MEMLOCK is %llu bytes: raise LimitMEMLOCK= or "
             "kernel.perf_event_mlock_kb, or give CAP_IPC_LOCK",
             strerrordesc_np(error), limit_soft(RLIMIT_MEMLOCK));
    return SOURCE_UNAVAILABLE;
}

int perf_refusal_no_cpu(struct source_reason *reason)
{
    snprintf(reason->text, sizeof reason->text,
             "no CPU is left to sample: each is offline, isolated or nohz_full");
    return SOURCE_UNAVAILABLE;
}

bool perf_refusal_is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

bool perf_refusal_is_denial(int error)
{
    return error == EACCES || error == EPERM;
}
