#include "sample/scope/cgroup_dir.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/procfs.h"

#define DEPTH_MAX 8          /* systemd's user slices are 6 deep */
#define DIRECTORIES_MAX 256  /* a look that costs some ms; the count is a lower bound then */
#define PROCS_BYTES_MAX 8192 /* a thousand pids: more than anybody asks for */

bool cgroup_dir_is_usable(const char *cgroup)
{
    if (!cgroup || cgroup[0] != '/' || cgroup[1] == '\0')
        return false;
    for (const char *at = cgroup; (at = strstr(at, "/..")); at += 3)
        if (at[3] == '/' || at[3] == '\0')
            return false;
    return true;
}

bool cgroup_dir_is_within(const char *cgroup, const char *above)
{
    size_t size = strlen(above);

    return !strncmp(cgroup, above, size) && (cgroup[size] == '/' || cgroup[size] == '\0');
}

int cgroup_dir_compare(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    if (*a == *b)
        return 0;
    if (*a == '\0' || *b == '\0')
        return *a ? 1 : -1;
    if (*a == '/' || *b == '/')
        return *a == '/' ? -1 : 1;
    return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

/* A look at a tree, bounded in depth, directories and what is counted. */
struct walk {
    size_t n_processes, limit, n_directories;
};

/* cgroup.procs cannot be read in threaded cgroups; their processes are listed further up. */
static size_t count_lines(const char *path)
{
    CLEANUP(freep) char *file = NULL, *buf = NULL;
    size_t size = 0, n = 0;

    if (asprintf(&file, "%s/cgroup.procs", path) < 0) {
        file = NULL;
        return 0;
    }
    if (procfs_read_head("", file, PROCS_BYTES_MAX, &buf, &size))
        return 0;
    for (size_t i = 0; i < size; i++)
        n += buf[i] == '\n';
    return n;
}

static void walk_directory(struct walk *walk, const char *path, unsigned depth)
{
    CLEANUP(closedirp) DIR *dir = NULL;
    const struct dirent *entry;

    if (walk->n_directories++ >= DIRECTORIES_MAX || depth > DEPTH_MAX)
        return;
    walk->n_processes += count_lines(path);
    if (walk->n_processes >= walk->limit || !(dir = opendir(path)))
        return;
    while (walk->n_processes < walk->limit && (entry = readdir(dir))) {
        CLEANUP(freep) char *child = NULL;

        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        if (asprintf(&child, "%s/%s", path, entry->d_name) < 0) {
            child = NULL;
            return;
        }
        walk_directory(walk, child, depth + 1);
    }
}

size_t cgroup_dir_count_processes(const char *path, size_t limit)
{
    struct walk walk = {.limit = limit};

    walk_directory(&walk, path, 0);
    return walk.n_processes;
}
