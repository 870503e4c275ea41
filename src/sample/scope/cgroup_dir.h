#pragma once
/*
 * Cgroup directories: their paths below the mount, and what lives in them.
 */
#include <stdbool.h>
#include <stddef.h>

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
