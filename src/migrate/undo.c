/*
 * The journal is a small text file:
 *
 *     numabd-undo 1
 *     sysctl kernel.numa_balancing 1 0
 *
 * that is: what, its name, its value before, and the value that numabd gave it. A change is in the
 * file before it is made, so that a numabd that is killed in between leaves an entry whose value is
 * still the old one: putting that back does nothing. The file is replaced as a whole and there is
 * none while nothing is changed.
 */
#include "migrate/undo.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/array.h"
#include "util/error.h"
#include "util/procfs.h"
#include "util/scan.h"

#define FIRST_LINE "numabd-undo 1"
#define JOURNAL_BYTES_MAX 4096

struct entry {
    enum undo_sysctl sysctl;
    unsigned long long before, after;
};

struct undo {
    char *path;
    struct host host;
    struct entry entries[UNDO_SYSCTL_COUNT]; /* at most one each */
    size_t n_entries;
};

static const struct {
    const char *name, *path;
} sysctls[] = {
    [UNDO_NUMA_BALANCING] = {"kernel.numa_balancing", "proc/sys/kernel/numa_balancing"},
};

const char *undo_sysctl_name(enum undo_sysctl sysctl)
{
    return sysctls[sysctl].name;
}

const char *undo_sysctl_path(enum undo_sysctl sysctl)
{
    return sysctls[sysctl].path;
}

static int refuse(struct undo_reason *reason, const char *what, const char *name, const char *why)
{
    snprintf(reason->text, sizeof reason->text, "%s %s: %s", what, name, why);
    return UNDO_REFUSED;
}

static struct entry *undo_find(struct undo *undo, enum undo_sysctl sysctl)
{
    for (size_t i = 0; i < undo->n_entries; i++)
        if (undo->entries[i].sysctl == sysctl)
            return &undo->entries[i];
    return NULL;
}

static bool take_sysctl(struct scan *line, enum undo_sysctl *sysctlp)
{
    for (size_t i = 0; i < ARRAY_LENGTH(sysctls); i++) {
        *sysctlp = (enum undo_sysctl)i;
        if (scan_literal(line, sysctls[i].name))
            return true;
    }
    return false;
}

static bool take_entry(struct scan *line, struct entry *entry)
{
    uint64_t before, after;

    if (!scan_literal(line, "sysctl ") || !take_sysctl(line, &entry->sysctl) ||
        !scan_char(line, ' ') || !scan_decimal(line, UINT64_MAX, &before) ||
        !scan_char(line, ' ') || !scan_decimal(line, UINT64_MAX, &after) || !scan_at_end(line))
        return false;
    entry->before = before;
    entry->after = after;
    return true;
}

/* A journal is taken as a whole or not at all. */
static bool undo_parse(struct undo *undo, const char *text, size_t size)
{
    struct scan rest = {text, text + size}, line;

    if (!scan_line(&rest, &line) || !scan_literal(&line, FIRST_LINE) || !scan_at_end(&line))
        return false;
    while (!scan_at_end(&rest)) {
        struct entry entry;

        if (!scan_line(&rest, &line) || !take_entry(&line, &entry) || undo_find(undo, entry.sysctl))
            return false;
        undo->entries[undo->n_entries++] = entry;
    }
    return true;
}

/* Return: 0 (also when there is no journal), UNDO_REFUSED, or a negative errno. */
static int undo_load(struct undo *undo, struct undo_reason *reason)
{
    CLEANUP(fd_closep) int fd = open(undo->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    CLEANUP(freep) char *text = NULL;
    struct stat facts;
    size_t size;

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &facts) < 0)
        return refuse(reason, "cannot read", undo->path, strerror(errno));
    if (!S_ISREG(facts.st_mode))
        return refuse(reason, "cannot read", undo->path, "it is no regular file");
    if (facts.st_uid != geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)))
        return refuse(reason, "not trusting", undo->path, "others can write to it");
    if (procfs_read_fd(fd, JOURNAL_BYTES_MAX, &text, &size))
        return refuse(reason, "cannot read", undo->path, strerror(errno));
    if (!undo_parse(undo, text, size))
        return refuse(reason, "not trusting", undo->path, "it is no undo journal of this version");
    return 0;
}

int undo_new(struct undo **undop, const char *path, const struct host *host,
             struct undo_reason *reason)
{
    CLEANUP(undo_freep) struct undo *undo = calloc(1, sizeof *undo);
    int r;

    if (!undo || !(undo->path = strdup(path)))
        return -ENOMEM;
    undo->host = *host;
    r = undo_load(undo, reason);
    if (!r)
        *undop = TAKE(undo);
    return r;
}

struct undo *undo_free(struct undo *undo)
{
    if (!undo)
        return NULL;
    free(undo->path);
    free(undo);
    return NULL;
}

static void undo_print(const struct undo *undo, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, FIRST_LINE "\n");

    for (size_t i = 0; i < undo->n_entries && used < size; i++) {
        const struct entry *entry = &undo->entries[i];

        used += (size_t)snprintf(text + used, size - used, "sysctl %s %llu %llu\n",
                                 sysctls[entry->sysctl].name, entry->before, entry->after);
    }
}

static int write_whole(const char *path, const char *text)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
    CLEANUP(fd_closep) int fd = open(path, flags, 0600);
    size_t size = strlen(text);
    ssize_t written;

    if (fd < 0)
        return error_errno();
    written = write(fd, text, size);
    if (written < 0)
        return error_errno();
    return (size_t)written == size ? 0 : -ENOSPC;
}

/* Return: 0 or a negative errno; the journal is then what it was. */
static int undo_store(const struct undo *undo)
{
    CLEANUP(freep) char *next = NULL;
    char text[JOURNAL_BYTES_MAX];
    int r;

    if (!undo->n_entries)
        return unlink(undo->path) < 0 && errno != ENOENT ? error_errno() : 0;
    if (asprintf(&next, "%s.new", undo->path) < 0)
        return next = NULL, -ENOMEM;
    undo_print(undo, text, sizeof text);
    r = write_whole(next, text);
    if (!r && rename(next, undo->path) < 0)
        r = error_errno();
    if (r)
        unlink(next);
    return r;
}

static bool agrees(void *userdata)
{
    (void)userdata;
    return true;
}

/* Return: 0, or a positive errno. */
static int sysctl_write(const struct undo *undo, enum undo_sysctl sysctl, unsigned long long value)
{
    char text[32];
    int r;

    snprintf(text, sizeof text, "%llu", value);
    r = undo->host.ops->write_file(undo->host.self, sysctls[sysctl].path, text, agrees, NULL);
    switch (r) {
    case 0:
        return 0;
    case PROCFS_GONE:
        return ENOENT;
    case PROCFS_DENIED:
        return EACCES;
    default:
        return r < 0 ? -r : EIO;
    }
}

int undo_get(const struct undo *undo, enum undo_sysctl sysctl, unsigned long long *valuep)
{
    CLEANUP(freep) char *text = NULL;
    struct scan scan;
    uint64_t value;
    size_t size;
    int r;

    r = undo->host.ops->read_file(undo->host.self, sysctls[sysctl].path, 64, &text, &size);
    if (r)
        return r;
    scan = (struct scan){text, text + size};
    if (!scan_decimal(&scan, UINT64_MAX, &value))
        return -EINVAL;
    *valuep = value;
    return 0;
}

void undo_forget(struct undo *undo, enum undo_sysctl sysctl)
{
    struct entry *entry = undo_find(undo, sysctl);

    if (!entry)
        return;
    *entry = undo->entries[--undo->n_entries];
    /* A stale entry does no harm: its value is no longer there to be put back. */
    (void)undo_store(undo);
}

int undo_set(struct undo *undo, enum undo_sysctl sysctl, unsigned long long before,
             unsigned long long after, struct undo_reason *reason)
{
    struct entry *entry = undo_find(undo, sysctl);
    const struct undo saved = *undo;
    int r;

    if (!entry) {
        entry = &undo->entries[undo->n_entries++];
        *entry = (struct entry){.sysctl = sysctl, .before = before};
    }
    entry->after = after;
    r = undo_store(undo);
    if (r) {
        *undo = saved;
        return r == -ENOMEM ? r : refuse(reason, "cannot write", undo->path, strerror(-r));
    }
    r = sysctl_write(undo, sysctl, after);
    if (!r)
        return 0;
    *undo = saved;
    (void)undo_store(undo);
    return refuse(reason, "cannot set", sysctls[sysctl].name, strerror(r));
}

size_t undo_n(const struct undo *undo)
{
    return undo->n_entries;
}

/* Return: is it done with? */
static bool entry_restore(const struct undo *undo, const struct entry *entry, char *line,
                          size_t size)
{
    const char *name = sysctls[entry->sysctl].name;
    unsigned long long now;
    int r = undo_get(undo, entry->sysctl, &now);

    if (r) {
        snprintf(line, size, "%s: cannot be read, %llu is not put back", name, entry->before);
        return false;
    }
    if (now == entry->before) {
        snprintf(line, size, "%s: is %llu already, as it was", name, now);
        return true;
    }
    if (now != entry->after) {
        snprintf(line, size, "%s: somebody else set it to %llu since: it stays", name, now);
        return true;
    }
    r = sysctl_write(undo, entry->sysctl, entry->before);
    if (r)
        snprintf(line, size, "%s: %llu cannot be put back: %s", name, entry->before, strerror(r));
    else
        snprintf(line, size, "%s: put back from %llu to %llu", name, now, entry->before);
    return r == 0;
}

size_t undo_restore(struct undo *undo, void (*say)(void *userdata, const char *line),
                    void *userdata)
{
    size_t n_before = undo->n_entries, n_left = 0;

    for (size_t i = 0; i < n_before; i++) {
        char line[256];

        if (!entry_restore(undo, &undo->entries[i], line, sizeof line))
            undo->entries[n_left++] = undo->entries[i];
        say(userdata, line);
    }
    undo->n_entries = n_left;
    if (n_left != n_before)
        (void)undo_store(undo);
    return n_left;
}
