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
    uint64_t n_mapped;  /* base pages */
    uint64_t page_bytes;
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
/*
 * Queries of a range without a look at its page table, after one that found it dense: there a look
 * costs twice as much as the query itself (6 and 3 us for 2 MiB) and shows nothing new. An absent
 * page ends them.
 */
#define RESIDENCY_BLIND 15
/* Addresses in one move_pages query, which holds mmap_lock in chunks of 16 pages. */
#define RESIDENCY_CALL_PAGES 1024

/* What a request asks of one range. */
struct residency_range {
    uint64_t start, end;
    uint64_t page_bytes; /* of its mapping: the base page, or a hugetlb page of any size */
    uint32_t chosen;     /* in: of a slab: its part of chosen[], n of them */
    uint32_t first, n;   /* out: its part of pages[] and status[] */
    uint8_t rank;        /* of the range; if not 0 it is a slab, whose pages are chosen already */
    bool look;           /* in: the page table is looked at first */
    bool dense;          /* out: that has shown nothing but base pages, all present */
};

struct residency_request {
    struct request request;
    uint64_t asked_nsec;
    unsigned turn; /* which of the pages are looked at */
    /* As many as are due, at most RESIDENCY_RANGES_MAX, and RESIDENCY_PAGES_PER_RANGE of each: */
    struct residency_range *ranges;
    size_t n_ranges;
    uint16_t *chosen; /* for slabs: numbers of pages inside of them */
    size_t n_chosen;
    int look_r;     /* out: 0, or why the page table was not looked at (attribute/pagemap.h) */
    size_t n_looks; /* out: scans made */
    void **pages;
    int *status;
    size_t n_pages;
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

/* Sorts the ranges and fills in pages[]; part of the run. */
void residency_request_choose(struct residency_request *request);

void maps_request_run(struct work *work);
void policy_request_run(struct work *work);
void residency_request_run(struct work *work);
void maps_request_free(struct work *work);
void policy_request_free(struct work *work);
void residency_request_free(struct work *work);

/* Is it time to look where a range's pages lie, one of so many ranges of its space? */
bool residency_is_due(const struct range *range, size_t n_ranges, int node, uint64_t now);

/* What a line of numa_maps says of a VMA's policy: NONE for the default one. */
enum reason policy_reason(const struct numa_maps_entry *entry);

/* Results into the space. policy: false when VMAs of the text are not those of the space. */
bool policy_request_apply(const struct policy_request *request, struct space *space);
int residency_request_apply(const struct residency_request *request, struct space *space);
/*
 * What the request cost, into the counters, and whether the page table can be looked at: not being
 * allowed to is found out once per process, not being able to once for the kernel. space: NULL if
 * it is no more.
 */
void residency_request_note(const struct residency_request *request, struct space *space,
                            struct residency_counts *counts);
