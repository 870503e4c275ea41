/*
 * /proc/PID/cgroup and /proc/PID/mounts: a path is one line of the text, its unit is one component
 * of it, mount points and paths fit their buffers, and no path that is used leads out of its mount.
 */
#include "discover/proc_text.h"
#include "fuzz.h"
#include "sample/scope/cgroup_dir.h"
#include "sample/scope/cgroup_mounts.h"
#include "util/cleanup.h"

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), n = strlen(end);

    return size > n && !strcmp(text + size - n, end);
}

static void check_unit(char *path)
{
    const struct process process = {.cgroup = path};
    CLEANUP(freep) char *unit = process_unit(&process);

    if (!unit)
        return;
    FUZZ_CHECK(strstr(path, unit) && !strchr(unit, '/'));
    FUZZ_CHECK(ends_with(unit, ".service") || ends_with(unit, ".scope"));
}

static void check_usable(const char *path)
{
    if (!cgroup_dir_is_usable(path))
        return;
    FUZZ_CHECK(path[0] == '/' && path[1]);
    FUZZ_CHECK(!strstr(path, "/../") && !ends_with(path, "/.."));
    FUZZ_CHECK(cgroup_dir_is_within(path, path) && cgroup_dir_compare(path, path) == 0);
}

static void check_path(const char *text)
{
    CLEANUP(freep) char *path = NULL, *line = NULL, *again = NULL;

    if (proc_text_cgroup(text, &path)) {
        FUZZ_CHECK(!path);
        return;
    }
    FUZZ_CHECK(strstr(text, path) && !strchr(path, '\n'));
    FUZZ_CHECK(*path == '/');
    FUZZ_CHECK(asprintf(&line, "3:cpuset:/x\n0::%s (deleted)\n", path) > 0);
    FUZZ_CHECK(proc_text_cgroup(line, &again) == 0 && !strcmp(again, path));
    check_unit(path);
    check_usable(path);
}

static void check_mounts(const char *text)
{
    struct cgroup_mounts mounts;
    char path[64];

    cgroup_mounts_parse(&mounts, text);
    FUZZ_CHECK(memchr(mounts.unified, '\0', sizeof mounts.unified));
    FUZZ_CHECK(memchr(mounts.perf_event, '\0', sizeof mounts.perf_event));
    FUZZ_CHECK(cgroup_mounts_perf(&mounts) != NULL);
    FUZZ_CHECK(cgroup_mounts_path(&mounts, text, path, sizeof path) == path);
    FUZZ_CHECK(memchr(path, '\0', sizeof path) && !strchr(path, '\n'));
    FUZZ_CHECK(*path == '/');
    check_usable(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(freep) char *text = fuzz_string(data, size);

    check_path(text);
    check_mounts(text);
    return 0;
}
