#pragma once
/*
 * The search for mappers: which processes, of those whose maps are not kept, map certain objects.
 * One request of the reading worker for all objects that wait for it.
 *
 * It lists /proc itself, for discover's last scan may be half a minute old, and reads maps of each
 * process; of one that maps an object also the memory nodes that it may use and its numa_maps,
 * whose cost goes by what it has mapped. Private mappings of the same file count too: a page of it
 * is taken from them as well.
 */
#include "attribute/objects.h"
#include "util/worker.h"

struct search_key {
    struct object_key key;
    uint64_t id; /* of the object */
};

struct search_hit {
    uint64_t id;
    pid_t pid;
};

struct search_policy {
    uint64_t id, start, end; /* offsets */
    enum reason reason;
};

struct search_request {
    struct work work;
    struct host host; /* a copy: it may run on when everything else has been freed */
    uint64_t asked_nsec, cpu_nsec;
    struct search_key *keys; /* [n_keys] by inode */
    size_t n_keys;
    pid_t *known; /* [n_known] ascending: whose maps are not read */
    size_t n_known;
    /* what was found */
    struct search_hit *hits;
    size_t n_hits, hits_cap;
    struct search_policy *policies;
    size_t n_policies, policies_cap;
    bool unread; /* some process could not be read, or /proc not be listed */
};

/* For all wanted objects; `spaces` are those whose maps are kept. Return: 0 or -ENOMEM. */
int search_request_new(struct search_request **requestp, const struct objects *objects,
                       const struct space *spaces, uint64_t now, const struct work_ops *ops,
                       void *owner);
/* Did it leave this process out because its maps are kept? */
bool search_knows(const struct search_request *search, pid_t pid);
void search_request_run(struct work *work);
void search_request_free(struct work *work);
