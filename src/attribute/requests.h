#pragma once
/*
 * The requests of attribute: plain input, plain result, run in a worker. Each finds its space again
 * by pid and generation when it is done, since the space may have gone, or hold another program,
 * meanwhile. It has its own copy of the host: it may run on when everything else has been freed.
 */
#include "attribute/numa_maps.h"
#include "attribute/vma_pages.h"
#include "attribute/vmas.h"
#include "numabd/attribute.h"

struct request {
    struct work work;
    struct host host;
    pid_t pid;
    uint64_t generation; /* of the space */
    uint64_t cpu_nsec;   /* CPU time of maps and numa_maps */
    int r;               /* result of the read: 0, PROCFS_GONE, PROCFS_DENIED or a negative errno */
};

/* Reads and parses /proc/PID/maps. */
struct maps_request {
    struct request request;
    int fd; /* a copy of the space's, or the one that was opened */
    struct vma_list vmas;
};

struct policy_entry {
    uint64_t start;
    enum reason reason; /* NONE for the default policy */
};

/* Reads /proc/PID/numa_maps and the policies of threads. */
struct policy_request {
    struct request request;
    bool with_process;            /* numa_maps of the whole process; else only the threads */
    struct policy_entry *entries; /* in the order of the text: ascending */
    size_t n_entries, cap;
    struct tally totals;    /* base pages by node */
    struct vma_pages pages; /* the same by VMA */
    pid_t *tids;
    enum thread_policy *thread_policies;
    size_t n_tids;
};

/* Asks where sampled pages of ranges lie. */
#define RESIDENCY_PAGES_PER_RANGE 16
#define RESIDENCY_RANGES_MAX 1024
/* Addresses in one move_pages query, which holds mmap_lock in chunks of 16 pages. */
#define RESIDENCY_CALL_PAGES 1024

struct residency_request {
    struct request request;
    uint64_t asked_nsec;
    uint64_t starts[RESIDENCY_RANGES_MAX];
    size_t n_ranges;
    void *pages[RESIDENCY_RANGES_MAX * RESIDENCY_PAGES_PER_RANGE];
    int status[RESIDENCY_RANGES_MAX * RESIDENCY_PAGES_PER_RANGE];
};

/* Constructors fill in work ops, owner and time-out. Return: 0, -ENOMEM, or (maps) -EMFILE. */
int maps_request_new(struct maps_request **requestp, struct space *space, const struct host *host,
                     const struct work_ops *ops, void *owner);
int policy_request_new(struct policy_request **requestp, struct space *space,
                       const struct host *host, bool with_process, const struct work_ops *ops,
                       void *owner);
/*
 * Return: also RESIDENCY_NOTHING_DUE, when every range that the pass lets through was looked at
 * lately. Of VMAs with more than one request holds something is left over for the next pass.
 */
enum {
    RESIDENCY_NOTHING_DUE = 1
};
int residency_request_new(struct residency_request **requestp, struct space *space,
                          const struct host *host, uint64_t now, const struct work_ops *ops,
                          void *owner);

void maps_request_run(struct work *work);
void policy_request_run(struct work *work);
void residency_request_run(struct work *work);
void maps_request_free(struct work *work);
void policy_request_free(struct work *work);
void residency_request_free(struct work *work);

/* The range's 16 evenly spread page addresses, shifted by `turn` pages so that repeats see others.
 */
void residency_choose_pages(const struct range *range, uint64_t page_bytes, unsigned turn,
                            void *pages[RESIDENCY_PAGES_PER_RANGE]);

/* Results into the space. policy: false when VMAs of the text are not those of the space. */
bool policy_request_apply(const struct policy_request *request, struct space *space);
int residency_request_apply(const struct residency_request *request, struct space *space);
