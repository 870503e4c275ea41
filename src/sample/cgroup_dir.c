/*
 * A line of proc/mounts: "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0"; blanks in a path are
 * written as \040. A line of proc/PID/cgroup: "8:perf_event,cpu:/machine/x".
 */
#include "sample/cgroup_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/procfs.h"
#include "util/scan.h"

#define DEPTH_MAX 8          /* systemd's user slices are 6 deep */
#define DIRECTORIES_MAX 256  /* a look that costs some ms; the count is a lower bound then */
#define PROCS_BYTES_MAX 8192 /* a thousand pids: more than anybody asks for */

static bool is_octal(const char *at, const char *end)
{
    if (end - at < 4 || at[0] != '\\')
        return false;
    for (int i = 1; i < 4; i++)
        if (at[i] < '0' || at[i] > '7')
            return false;
    return true;
}

static char *unescape(struct scan word)
{
    char *path = malloc((size_t)(word.end - word.at) + 1), *to = path;

    while (path && word.at < word.end) {
        if (is_octal(word.at, word.end)) {
            *to++ = (char)((word.at[1] - '0') * 64 + (word.at[2] - '0') * 8 + (word.at[3] - '0'));
            word.at += 4;
        } else {
            *to++ = *word.at++;
        }
    }
    if (path)
        *to = '\0';
    return path;
}

static bool word_is(struct scan word, const char *text)
{
    return scan_literal(&word, text) && scan_at_end(&word);
}

/* Is `item` in the list "a,b,c"? */
static bool list_has(struct scan list, const char *item)
{
    size_t size = strlen(item);

    while (list.at < list.end) {
        const char *comma = memchr(list.at, ',', (size_t)(list.end - list.at));
        const char *end = comma ? comma : list.end;

        if ((size_t)(end - list.at) == size && !memcmp(list.at, item, size))
            return true;
        list.at = comma ? comma + 1 : list.end;
    }
    return false;
}

static bool next_word(struct scan *line, struct scan *word)
{
    scan_blanks(line);
    return scan_word(line, word);
}

int cgroup_mount_find(const char *mounts, struct cgroup_mount *mount)
{
    struct scan text = {mounts, mounts + strlen(mounts)}, line, found = {NULL, NULL};
    struct scan device, path, type, options;

    *mount = (struct cgroup_mount){0};
    while (!mount->v1 && (scan_line(&text, &line) || !scan_at_end(&line))) {
        if (!next_word(&line, &device) || !next_word(&line, &path) || !next_word(&line, &type) ||
            !next_word(&line, &options))
            continue;
        mount->v1 = word_is(type, "cgroup") && list_has(options, "perf_event");
        if (mount->v1 || (!found.at && word_is(type, "cgroup2")))
            found = path;
    }
    if (found.at && !(mount->path = unescape(found)))
        return -ENOMEM;
    return 0;
}

int cgroup_dir_v1_path(const char *text, char **pathp)
{
    struct scan all = {text, text + strlen(text)}, line;

    *pathp = NULL;
    while (scan_line(&all, &line) || !scan_at_end(&line)) {
        const char *id_end = memchr(line.at, ':', (size_t)(line.end - line.at)), *path;
        struct scan names;

        if (!id_end || !(path = memchr(id_end + 1, ':', (size_t)(line.end - id_end - 1))))
            continue;
        names = (struct scan){id_end + 1, path};
        if (!list_has(names, "perf_event"))
            continue;
        *pathp = strndup(path + 1, (size_t)(line.end - path - 1));
        return *pathp ? 0 : -ENOMEM;
    }
    return 0;
}

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
