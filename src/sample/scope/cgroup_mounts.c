/*
 * A hierarchy of v1 is known by its controllers, v2 by its type:
 *
 *     cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nosuid,nsdelegate 0 0
 *     cgroup /sys/fs/cgroup/perf_event cgroup rw,nosuid,perf_event 0 0
 *     cgroup /sys/fs/cgroup/systemd cgroup rw,nosuid,xattr,name=systemd 0 0
 *
 * perf_event belongs to v2 without being named anywhere, unless a v1 hierarchy has taken it
 * (implicit_on_dfl in kernel/events/core.c). Blanks in a mount point are \040.
 */
#include "sample/scope/cgroup_mounts.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util/scan.h"

static bool word_is(const struct scan *word, const char *text)
{
    size_t size = strlen(text);

    return (size_t)(word->end - word->at) == size && memcmp(word->at, text, size) == 0;
}

/* Is one of the items between commas `name`? */
static bool list_has(struct scan list, const char *name)
{
    while (list.at < list.end) {
        const char *comma = memchr(list.at, ',', (size_t)(list.end - list.at));
        struct scan item = {list.at, comma ? comma : list.end};

        if (word_is(&item, name))
            return true;
        list.at = comma ? comma + 1 : list.end;
    }
    return false;
}

static bool is_named(const struct scan *options)
{
    size_t size = (size_t)(options->end - options->at);

    return memmem(options->at, size, "name=", strlen("name=")) != NULL;
}

static bool is_octal(const char *at, const char *end)
{
    return end - at >= 4 && at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' &&
           at[2] <= '7' && at[3] >= '0' && at[3] <= '7';
}

/* \040 and its like become the character; only octal escapes occur. Too long a path is none. */
static void copy_point(char *to, size_t size, struct scan from)
{
    size_t n = 0;

    while (from.at < from.end && n + 1 < size) {
        const char *at = from.at;

        if (is_octal(at, from.end)) {
            to[n++] = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
            from.at += 4;
        } else {
            to[n++] = *from.at++;
        }
    }
    to[from.at < from.end ? 0 : n] = '\0';
}

static void add_mount(struct cgroup_mounts *mounts, struct scan line)
{
    struct scan device, point, type, options;

    if (!scan_word(&line, &device) || !scan_blanks(&line) || !scan_word(&line, &point) ||
        !scan_blanks(&line) || !scan_word(&line, &type) || !scan_blanks(&line) ||
        !scan_word(&line, &options))
        return;
    if (word_is(&type, "cgroup2") && !mounts->unified[0])
        copy_point(mounts->unified, sizeof mounts->unified, point);
    if (!word_is(&type, "cgroup"))
        return;
    mounts->n_v1 += !is_named(&options);
    if (list_has(options, "perf_event") && !mounts->perf_event[0])
        copy_point(mounts->perf_event, sizeof mounts->perf_event, point);
}

void cgroup_mounts_parse(struct cgroup_mounts *mounts, const char *text)
{
    struct scan rest = {text, text + strlen(text)}, line;

    *mounts = (struct cgroup_mounts){.n_v1 = 0};
    while (scan_line(&rest, &line))
        add_mount(mounts, line);
}

const char *cgroup_mounts_perf(const struct cgroup_mounts *mounts)
{
    return mounts->perf_event[0] ? mounts->perf_event : mounts->unified;
}

/* "4:perf_event:/a" or "0::/a": the controllers, then the path. */
static bool line_is_of(const struct cgroup_mounts *mounts, const struct scan *controllers)
{
    return mounts->perf_event[0] ? list_has(*controllers, "perf_event")
                                 : controllers->at == controllers->end;
}

const char *cgroup_mounts_path(const struct cgroup_mounts *mounts, const char *text, char *path,
                               size_t path_size)
{
    struct scan rest = {text, text + strlen(text)}, line, controllers;
    const char *colon;
    uint64_t id;

    snprintf(path, path_size, "/");
    while (scan_line(&rest, &line)) {
        if (!scan_decimal(&line, UINT32_MAX, &id) || !scan_char(&line, ':') ||
            !(colon = memchr(line.at, ':', (size_t)(line.end - line.at))) ||
            colon + 1 == line.end || colon[1] != '/')
            continue;
        controllers = (struct scan){line.at, colon};
        if (line_is_of(mounts, &controllers))
            snprintf(path, path_size, "%.*s", (int)(line.end - colon - 1), colon + 1);
    }
    return path;
}
