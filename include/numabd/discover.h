#pragma once
/*
 * Discover: which processes exist, and which of them may be balanced.
 *
 * Cheap facts (one stat file each) are read of all processes at each scan, the rest only of those
 * that are new and large enough. A scan is repeated at most every max(interval, 200 x its own
 * cost), so that it takes at most 0.5 % of one CPU however many processes there are.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/config.h"
#include "numabd/reason.h"
#include "numabd/topology.h"
#include "util/hash.h"

enum {
    DISCOVER_GONE = 1,   /* the process has ended */
    DISCOVER_DENIED = 2, /* the kernel refuses to tell */
};

/* Facts of one process. Strings are owned and NULL where unknown. */
struct process {
    pid_t pid;
    uint64_t start_ticks; /* since boot; with the pid it names one process for ever */
    uint64_t rss_bytes;
    unsigned n_threads;
    bool kernel_thread;
    char comm[64]; /* libproc2 replaces odd bytes in it; exact after read_detail */
    /* filled in by procs_ops.read_detail: */
    uid_t uid; /* effective */
    bool uid_known;
    char *exe;    /* path */
    char *cgroup; /* cgroup v2 path, "/system.slice/x.service" */
};

struct process_list {
    struct process *items;
    size_t n_items, cap;
};

void process_deinit(struct process *process);
void process_list_deinit(struct process_list *list);

/* The last .service or .scope component of a cgroup path, to be freed by the caller; NULL if none.
 */
char *process_unit(const struct process *process);

struct pidref;

/* How processes are read: libproc2 on the live machine, files below a root, or a test's model. */
struct procs_ops {
    /* Appends every process with its cheap facts. Return: 0 or a negative errno. */
    int (*list)(void *self, struct process_list *list);
    /* The cheap facts of one process. NULL: not supported. Return: 0, DISCOVER_GONE, or negative.
     */
    int (*read_one)(void *self, pid_t pid, struct process *process);
    /* Return: 0, DISCOVER_GONE, or a negative errno. A fact that the kernel refuses stays unknown.
     */
    int (*read_detail)(void *self, struct process *process);
    /* "Mems_allowed_list" into a new string. Return: 0, DISCOVER_GONE, or a negative errno. */
    int (*read_mems_allowed)(void *self, pid_t pid, char **textp);
    /* As pidref_init. NULL where the processes are not this machine's: refs get no pidfd. */
    int (*open_ref)(void *self, struct pidref *ref, pid_t pid, uint64_t start_ticks);
    void (*free)(void *self);
};

struct procs {
    const struct procs_ops *ops;
    void *self;
};

int procs_new_live(struct procs *procs);                   /* libproc2 */
int procs_new_root(struct procs *procs, const char *root); /* ROOT/proc/PID/{stat,status,...} */
void procs_deinit(struct procs *procs);

/* A process that can be signalled and recognised without a race. */
struct pidref {
    pid_t pid;
    uint64_t start_ticks;
    int fd; /* pidfd, -1 where not the live machine */
};

#define PIDREF_NULL ((struct pidref){.pid = 0, .start_ticks = 0, .fd = -1})

/* Return: 0, DISCOVER_GONE, or a negative errno. */
int pidref_init(struct pidref *ref, pid_t pid, uint64_t start_ticks);
void pidref_deinit(struct pidref *ref);
/* Is the process that was meant still alive? True for a ref without a pidfd. */
bool pidref_is_alive(const struct pidref *ref);

/*
 * What decides for a process. A fact that is unknown excludes where an [exclude] rule asks for it,
 * and includes nothing. Return: REASON_NONE, REASON_EXCLUDED or REASON_NOT_INCLUDED.
 */
enum reason rules_judge(const struct config *config, const struct process *process);
/* Does a rule of [write_fault] match? Unknown facts match nothing. */
bool rules_allow_write_fault(const struct config *config, const struct process *process);

/* A process that discover looked at. Only those with reason NONE are sampled and balanced. */
struct target {
    pid_t pid; /* key */
    struct process process;
    struct pidref ref; /* PIDREF_NULL unless reason is NONE */
    enum reason reason;
    bool *mems_allowed; /* [n_node_ids] of the topology; NULL allows all */
    bool closer;        /* judged by the rules although it may be small */
    bool large;         /* reached min_rss and did not fall below 3/4 of it since */
    unsigned seen_scan;
    uint64_t detail_nsec; /* when detail was read, 0 = not yet */
    UT_hash_handle hh;
};

struct discover;

/* `procs` and `topology` stay the caller's and outlive the object. self_pid: numabd's own. */
int discover_new(struct discover **discoverp, const struct procs *procs,
                 const struct topology *topology, pid_t self_pid);
struct discover *discover_free(struct discover *discover);
CLEANUP_DEFINE(struct discover *, discover_free)

/*
 * Scans if a scan is due at `now` (its cost is measured in this thread's CPU time); else looks only
 * at what was hinted at and drops targets that have ended. Return: 0 or a negative errno (the
 * targets stay as they were).
 */
int discover_round(struct discover *discover, const struct config *config, uint64_t now);

/*
 * A sample named this process, which is no target: it is looked at in the next round although no
 * scan is due, so that a new busy process is found at once on hosts where scans are rare.
 */
#define DISCOVER_HINTS_MAX 64
void discover_hint(struct discover *discover, pid_t pid);

/*
 * Its memory may be moved through others although it is small: from the next round on its details
 * are read and the rules and its cpuset decide for it too; TOO_SMALL then says that nothing else
 * stands against it.
 */
void discover_look_closer(struct discover *discover, pid_t pid);
/* Is TOO_SMALL all there is to say about it? */
bool target_is_only_small(const struct target *target);

/* What the process may use has changed, as the kernel says: it is judged anew in the next round. */
void discover_recheck(struct discover *discover, pid_t pid);

/* After a reload: the rules are applied anew to all known processes at the next round. */
void discover_reset(struct discover *discover);

/* The target, or NULL. Valid until the next discover_round. */
struct target *discover_find(const struct discover *discover, pid_t pid);
/* All targets as a uthash list (iterate with HASH_ITER(hh, ...)). */
struct target *discover_targets(const struct discover *discover);
/* How many processes of the last scan have each reason. */
const struct reason_counts *discover_counts(const struct discover *discover);
