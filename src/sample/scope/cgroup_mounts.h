#pragma once
/*
 * Cgroup mounts: which hierarchies are mounted where, and which of them perf events know.
 */
#include <stddef.h>

struct cgroup_mounts {
    char unified[256];    /* mount point of v2, "" where it is not mounted */
    char perf_event[256]; /* mount point of v1's perf_event, "" where v2 has it (or nobody) */
    unsigned n_v1;        /* v1 hierarchies with controllers */
};

/* `text` is /proc/PID/mounts. Of several mounts of one hierarchy the first counts. */
void cgroup_mounts_parse(struct cgroup_mounts *mounts, const char *text);

/* Where perf events of cgroups are opened: a mount point, or "" for nowhere. */
const char *cgroup_mounts_perf(const struct cgroup_mounts *mounts);

/*
 * The path of a process in that hierarchy, from its /proc/PID/cgroup ("/" where the text does not
 * tell). Return: `path`.
 */
const char *cgroup_mounts_path(const struct cgroup_mounts *mounts, const char *text, char *path,
                               size_t path_size);
