#pragma once
/*
 * Objects: MAP_SHARED memory. Its evidence is kept once, by offset, for all processes that map it
 * (its mappers), and lives as long as the last of them.
 *
 * An object is known by device and inode, as maps shows them: tmpfs, memfd, /dev/zero and
 * MAP_ANONYMOUS | MAP_SHARED have them too. SysV segments show their shmid instead of an inode
 * (ipc/shm.c: newseg), which is unique in their IPC namespace only. Hugetlb memory, devices and
 * PROT_NONE mappings are none (vma_kind).
 */
#include "attribute/vmas.h"
#include "numabd/attribute.h"

struct object_key {
    uint64_t inode;
    uint64_t ipc_ns; /* of a SysV segment, as in its VMAs; else 0 */
    unsigned dev_major, dev_minor;
};

/* A VMA that shows the object, of a process whose maps are known. */
struct window {
    pid_t pid;
    struct space *space;
    const struct vma *vma; /* one of the space's */
};

/* A process that was found by a search to map the object, and whose maps are not kept. */
struct stranger {
    pid_t pid;
    uint64_t start_ticks; /* 0: discover did not know it yet */
};

/* A memory policy that was seen for offsets. */
struct object_policy {
    uint64_t start, end; /* offsets, [start, end) */
    enum reason reason;
};

struct object {
    struct object_key key;
    uint64_t id; /* from 1, never used again: an inode number may be */
    /*
     * Its offsets as a space with one VMA, [0, size): ranges, groups, threads, masks. pid 0;
     * nothing of it is read by itself. NULL until the first sample falls into it.
     */
    struct space *memory;
    uint64_t size;          /* of what was ever mapped; never shrinks */
    struct window *windows; /* by pid and offset; never none */
    size_t n_windows, windows_cap;
    size_t n_writable; /* of them */
    bool unsorted;     /* while windows are added */
    /* object_policy.c */
    struct object_policy *policies;
    size_t n_policies, policies_cap;
    bool policy_unknown; /* of a mapper */
    /* object_scope.c */
    struct stranger *strangers;
    size_t n_strangers, strangers_cap;
    uint64_t searched_nsec; /* strangers are of this time; 0: never searched */
    bool unread;            /* then some process could not be read */
    bool denied;            /* the kernel refuses MPOL_MF_MOVE_ALL: observed only */
    bool wanted;            /* a move waits for what a search and the policies say */
    enum reason barred;     /* NONE, SHARED_OUT_OF_SCOPE or MAPPERS_UNKNOWN, as of this round */
    bool *mems_allowed;     /* [n_node_ids] of all mappers; NULL: all */
    UT_hash_handle hh;
    UT_hash_handle learned;
};

struct objects_options {
    const struct topology *topology;
    const struct host *host;
    struct worker_pool *pool;
    struct discover *discover;          /* NULL: nobody is known to be in scope */
    struct residency_counts *residency; /* to be added to; NULL: nobody counts */
    /* Called for the memory of an object that goes, if it has any. */
    void (*forget)(void *userdata, const struct space *memory);
    void *userdata;
};

struct objects {
    struct objects_options options;
    struct object *table;   /* all, by key */
    struct object *learned; /* those with memory, by id */
    uint64_t n_ids;
    double min_share; /* of the configuration, at the last round */
    /* mapper_search.h */
    bool search_pending;
    uint64_t search_nsec, search_cost_nsec; /* when the last one was asked; its CPU time */
};

int objects_new(struct objects **objectsp, const struct objects_options *options);
struct objects *objects_free(struct objects *objects);
CLEANUP_DEFINE(struct objects *, objects_free)

/*
 * The space is about to get these VMAs (space_set_vmas; they must stay where they are): it maps
 * what they show, and nothing else any more. Objects without a mapper go. Return: 0 or -ENOMEM (the
 * space then maps some of it only; samples in the rest count as in memory that is no object).
 */
int objects_follow(struct objects *objects, struct space *space, const struct vma_list *vmas);

/* The space goes, or its program. Its process may live on and map what it did: a stranger now. */
void objects_leave(struct objects *objects, struct space *space);

/* The object that a VMA shows; NULL: none. */
struct object *objects_find(const struct objects *objects, const struct vma *vma);
/* By its id, of those that have memory. */
struct object *objects_find_id(const struct objects *objects, uint64_t id);

/* Is it memory that an object can be made of? */
bool vma_shows_object(const struct vma *vma);

/*
 * Makes room for evidence. Return: 0, -ENOMEM, or SPACE_UNMOVABLE where nobody may write to it:
 * text and data files that are only read are left to the page cache.
 */
int objects_prepare(struct objects *objects, struct object *object);

/*
 * After objects_prepare: one access to a VMA that shows the object is evidence for its offset,
 * notes a user of the VMA, and has a part in the process's remote share. Return: as
 * space_add_access.
 */
int object_add_access(struct object *object, struct space *space, const struct vma *vma,
                      const struct access *access, int node, unsigned grain, bool *madep);

/* The first of a process's windows that shows some of the offsets [start, end); NULL: none. */
const struct window *object_find_window(const struct object *object, pid_t pid, uint64_t start,
                                        uint64_t end);
/* The addresses at which the window shows some of the range. */
void window_clip(const struct window *window, const struct range *range, uint64_t *startp,
                 uint64_t *endp);
/* The windows of the process that the one at `first` belongs to end before this index. */
size_t object_end_of_mapper(const struct object *object, size_t first);
