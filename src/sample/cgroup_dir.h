#pragma once
/*
 * Cgroup directories: where perf finds the cgroup of a process.
 */
#include <stdbool.h>
#include <stddef.h>

/* The hierarchy that perf_event belongs to. */
struct cgroup_mount {
    char *path; /* NULL: none is mounted */
    bool v1;    /* a hierarchy of its own: paths are those of its line in /proc/PID/cgroup */
};

/*
 * Of the text of proc/mounts: the v1 hierarchy with perf_event, which then is missing from v2, else
 * the first cgroup2. The caller frees mount->path. Return: 0 or -ENOMEM.
 */
int cgroup_mount_find(const char *mounts, struct cgroup_mount *mount);

/*
 * The path in the v1 hierarchy of perf_event, of the text of proc/PID/cgroup; *pathp is NULL where
 * there is none. The caller frees it. Return: 0 or -ENOMEM.
 */
int cgroup_dir_v1_path(const char *text, char **pathp);

/*
 * A cgroup that events can be opened for: not the root, which holds everything, and within the
 * mount ("/../x" is outside this cgroup namespace). NULL is none.
 */
bool cgroup_dir_is_usable(const char *cgroup);

/* Is `cgroup` the same as `above`, or does it lie below it? */
bool cgroup_dir_is_within(const char *cgroup, const char *above);

/*
 * Orders so that what lies below a cgroup follows it directly ("/a", "/a/b", "/a-b"): as strcmp,
 * but
 * '/' comes before all else. Return: as strcmp.
 */
int cgroup_dir_compare(const char *a, const char *b);

/* As perf_kernel_ops.count_processes, of a directory on this machine. */
size_t cgroup_dir_count_processes(const char *path, size_t limit);
