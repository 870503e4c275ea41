#pragma once
/*
 * Undo: what numabd has changed outside itself, so that it can be put back, whatever ends numabd.
 */
#include <stddef.h>

#include "numabd/host.h"
#include "util/cleanup.h"

struct undo;

/* The journal's name in the runtime directory. */
#define UNDO_NAME "undo"

/* What can be changed and put back. */
enum undo_sysctl {
    UNDO_NUMA_BALANCING, /* kernel.numa_balancing */
    UNDO_SYSCTL_COUNT
};

/* As sysctl(8) spells it, and below the root. */
const char *undo_sysctl_name(enum undo_sysctl sysctl);
const char *undo_sysctl_path(enum undo_sysctl sysctl);

struct undo_reason {
    char text[256]; /* one line */
};

enum {
    UNDO_REFUSED = 1, /* reason filled in */
};

/*
 * The journal at `path` (copied) on the machine that `host` (copied; what it points to outlives the
 * object) shows. What an earlier numabd left there is taken over: undo_restore puts it back.
 * Return: 0, UNDO_REFUSED (there is something that is no journal of this version, or it cannot be
 * read: it is left as it is), or a negative errno.
 */
int undo_new(struct undo **undop, const char *path, const struct host *host,
             struct undo_reason *reason);
struct undo *undo_free(struct undo *undo); /* changes nothing outside */
CLEANUP_DEFINE(struct undo *, undo_free)

/*
 * Sets a sysctl from `before`, its value now, to `after`: first in the journal, then in the kernel.
 * Where the journal has the sysctl already, its older value is the one to be put back.
 * Return: 0, UNDO_REFUSED (the value is what it was), or -ENOMEM.
 */
int undo_set(struct undo *undo, enum undo_sysctl sysctl, unsigned long long before,
             unsigned long long after, struct undo_reason *reason);

/* The value now. Return: as procfs_read_ullong. */
int undo_get(const struct undo *undo, enum undo_sysctl sysctl, unsigned long long *valuep);

/* Somebody else has set it since: it is theirs, and nothing is put back. */
void undo_forget(struct undo *undo, enum undo_sysctl sysctl);

size_t undo_n(const struct undo *undo);

/*
 * Puts back what still has the value that numabd gave it; what somebody else has set since stays.
 * `say` gets a line for each. Entries that could not be put back stay in the journal.
 * Return: how many those are.
 */
size_t undo_restore(struct undo *undo, void (*say)(void *userdata, const char *line),
                    void *userdata);
