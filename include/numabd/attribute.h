#pragma once
/*
 * Attribute: who touches what, and where it lies. One `struct space` for each sampled address
 * space; below it VMAs (from /proc/PID/maps), ranges of evidence (2 MiB, only where samples fell)
 * and threads. MAP_SHARED memory has its evidence below a `struct object`, which all who map it
 * have in common. All of it belongs to the loop thread; files and page queries are requests to lane
 * 0.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/autonuma.h"
#include "numabd/benefit.h"
#include "numabd/config.h"
#include "numabd/discover.h"
#include "numabd/host.h"
#include "numabd/pace.h"
#include "numabd/reason.h"
#include "numabd/sample.h"
#include "numabd/topology.h"
#include "util/cleanup.h"
#include "util/hash.h"
#include "util/worker.h"

/* Evidence is kept per 2 MiB: one huge page, and 512 base pages, the smallest batch worth a call.
 */
#define RANGE_BYTES ((uint64_t)2 << 20)
/*
 * Evidence is summed up a hierarchy too: groups of 8, 32, 128, 512 MiB and the whole VMA. With a
 * fixed grain, memory with few samples per 2 MiB would never be decided.
 */
#define GROUP_LEVELS 5
/*
 * The groups of 32 MiB stand for all their memory that has no range of its own (attribute/slabs.h).
 */
#define SLAB_LEVEL 1
/*
 * All ranges and groups of all spaces: the fine ones, of 2 and 8 MiB, and the coarse ones. Bytes
 * each, measured: 450 when used from one node, 520 from two, 640 from four, 900 from eight; a slab
 * that no sample fell into takes 360. Fine ones are for what is not decided yet: 63 GiB at a time.
 * Coarse ones hold 1.5 TiB at a time, and the next part when that lies well.
 */
#define FINE_MAX 40960
#define COARSE_MAX 65536
#define RANGES_MAX (FINE_MAX + COARSE_MAX)

/* Sums by node, sparse and unordered: most ranges are used from one or two nodes. */
struct tally_entry {
    double n;  /* samples (evidence) or pages (residency) */
    float sec; /* CPU time of the samples */
    int node;
};

struct tally {
    struct tally_entry *entries;
    uint32_t n_entries, cap;
};

/*
 * One bit for each thread slot (of ranges; VMAs have masks of mask_bits). A thread has a slot of
 * its own while there are free ones, else it shares one; its bits go with two windows, before its
 * slot is given to another.
 */
#define THREAD_MASK_BITS 256

struct thread_mask {
    uint64_t words[THREAD_MASK_BITS / 64];
};

enum thread_policy {
    THREAD_POLICY_UNKNOWN,
    THREAD_POLICY_DEFAULT,
    THREAD_POLICY_OWN, /* set_mempolicy: its memory is placed by its owner */
};

struct thread {
    pid_t tid;            /* key */
    pid_t pid;            /* its process: of shared memory it is one of several */
    unsigned slot;        /* below mask_bits */
    uint32_t seen_window; /* of the slots: that of its last sample */
    enum thread_policy policy;
    bool is_new; /* not seen before the last round */
    uint64_t seen_nsec;
    int node;        /* of its last sample */
    double busy_sec; /* access-seconds, halved with each mask window */
    UT_hash_handle hh;
};

struct vma {
    uint64_t start, end; /* [start, end) */
    unsigned perms;      /* enum maps_perm */
    uint32_t name;       /* offset in the names of its list */
    uint64_t offset;
    unsigned dev_major, dev_minor;
    uint64_t inode;
    uint64_t ipc_ns;     /* of SysV memory, whose inode is a shmid: 1 where unknown; else 0 */
    uint64_t n_mapped;   /* base pages in its page table when numa_maps was read last */
    enum reason kind;    /* NONE, or why its kind of mapping is left alone */
    enum reason policy;  /* NONE, POLICY_UNKNOWN, or the policy that its owner gave it */
    uint64_t page_bytes; /* of hugetlb, once numa_maps was read; else 0 or the base page's */
};

/* Texts, one behind the other, each with a NUL (attribute/vma_names.h). */
struct vma_names {
    char *text;
    size_t size, cap;
};

/* So many VMAs have one mark: of 65,530 there are 1,024, which are 8 KiB. */
#define VMA_MARK_STEP 64

struct vma_list {
    struct vma *items; /* ascending, disjoint */
    size_t n_items, cap;
    struct vma_names names;
    uint64_t *marks; /* [n_items / VMA_MARK_STEP] where the last VMA of each step ends; or NULL */
};

/* Where pages lie by VMA, as numa_maps told (attribute/vma_pages.h). */
struct node_pages {
    uint64_t n; /* base pages */
    int node;
};

struct vma_pages_line {
    uint64_t start; /* of its VMA */
    uint32_t first; /* index of its nodes */
    uint16_t n_nodes;
    uint8_t page_shift; /* log2 of the page size in bytes; 0: not known */
};

struct vma_pages {
    struct vma_pages_line *lines; /* ascending */
    size_t n_lines, lines_cap;
    struct node_pages *nodes;
    size_t n_nodes, nodes_cap;
};

/* Which node a range's accesses come from, and how sure that is. */
struct claim {
    uint64_t since_nsec;    /* when the first of its passes was */
    int node;               /* -1 = none */
    unsigned n_passes : 30; /* windows in a row of fresh samples that passed for this node */
    bool shared : 1;        /* evidence says that no node dominates */
    bool looks_shared : 1;  /* most likely so, without a claim: to show, never to act on */
};

struct range {
    uint64_t start, end;  /* key: start; inside one VMA, inside one aligned 2 MiB */
    struct tally window;  /* samples since the last pass, decayed */
    struct tally history; /* the same, decayed 8 times as slowly: does it look shared? */
    struct tally rate;    /* decayed access-seconds over rate_sec of decayed time */
    double rate_sec;
    struct claim claim;
    struct tally residency;  /* sampled pages by node */
    uint64_t residency_nsec; /* 0 = unknown */
    uint64_t sampled_nsec;   /* the last sample that was counted, and its thread */
    pid_t sampled_tid;
    unsigned n_exact; /* since the last pass: samples whose thread and address are certain */
    struct thread_mask threads;     /* that used it in this mask window or the one before */
    struct thread_mask threads_now; /* in this one */
    uint8_t rank;                   /* 0: of 2 MiB; 1 + level: a group */
    bool bound_thread; /* a thread with a policy of its own was among them, ever: its owner's */
    uint64_t filled;   /* a group: what no sample fell into was made up to here */
    uint64_t cool_down_nsec; /* no move before */
    uint64_t moved_nsec;     /* last move, 0 = never */
    int16_t moved_from;      /* node that most pages came from then */
    int16_t observed_node;   /* where --observe would have moved it; -1 */
    unsigned n_returns;      /* moves back to moved_from in a row */
    unsigned n_refusals;
    enum reason verdict; /* of the last decision about it; FEW_SAMPLES before the first */
    uint8_t n_blind;     /* residency queries to come without a look at its page table */
    unsigned moving;     /* requests to move (parts of) it that are with workers */
    /* Of shared memory: who used it last; through whose page table it is moved (0: nobody's yet).
     */
    pid_t user_pid, through_pid;
    UT_hash_handle hh;
};

struct space {
    pid_t pid; /* key */
    uint64_t start_ticks;
    uint64_t generation; /* of the program in it, unique: an answer about another one is void */
    uint64_t rss_bytes;
    struct vma_list vmas;
    struct range *ranges;
    struct range *groups[GROUP_LEVELS]; /* ranges that hold others: [0] 8 MiB ... [4] the VMA */
    size_t n_small, n_coarse;           /* of them counted so far: those of 8 MiB, and the others */
    struct thread *threads;
    unsigned n_threads; /* live ones, sampled or not */
    struct slots *slots;
    struct scans *scans;       /* passes over the VMAs, and their masks of threads */
    uint64_t mask_window_nsec; /* mask_window */
    double min_share;          /* of the last round */
    bool crowded;              /* it has many ranges for its memory: those hardly used go */
    bool pressed;              /* the table's part for slabs is full: those that lie well go */
    pid_t pass_tid;            /* whose pass the last one was, where that matters */
    struct thread_mask own_policy, unknown_policy;
    /* Threads of unknown_policy that were seen before the last round: they had their time. */
    struct thread_mask overdue_policy;
    uint64_t mask_nsec; /* start of the current mask window; 0: no round yet */
    /* /proc/PID/maps; its fd stays open: a read of 0 bytes means that the address space has gone */
    int maps_fd;
    bool maps_known, maps_wanted, maps_pending;
    bool maps_taken; /* all of the last one: the same again tells nothing */
    uint64_t maps_nsec, maps_cost_nsec;
    /* numa_maps */
    bool policy_pending;
    uint64_t policy_nsec, policy_cost_nsec; /* asked last; what the last one cost */
    unsigned policy_want;                   /* why it was asked (attribute/policy_turns.h) */
    uint64_t policy_read_nsec;              /* when the last one that holds was asked, 0 = never */
    bool totals_known;
    struct tally totals; /* resident pages by node, in base pages */
    struct vma_pages pages;
    bool residency_pending;
    bool no_pagemap; /* its page table cannot be looked at: all pages are asked for */
    /* Shared memory that it maps waits for policies: of its threads, or of its VMAs. */
    bool shared_claims, shared_policy_wanted;
    /* accesses with known residency since the remote share was last closed */
    double round_n, round_sec, round_remote_sec;
    double share_sec;                             /* access-seconds behind remote_permyriad */
    int remote_first_permyriad, remote_permyriad; /* -1 = unknown */
    uint64_t n_accesses, n_outside;
    uint64_t sampled_nsec; /* last access, and its thread */
    pid_t sampled_tid;
    struct autonuma autonuma; /* since the process was seen first */
    uint64_t moved_bytes;
    uint64_t moved_nsec; /* last move, 0 = never */
    unsigned n_planned;  /* in the last round: ranges to move, or new ones that only are observed */
    struct pace pace;
    struct benefit benefit;
    bool memory_bound_known;
    double memory_bound;  /* share of its CPU time that waits for memory, where measured */
    uint64_t listed_addr; /* attribute_list_unsampled goes on here */
    bool ranges_only;     /* shared memory: nothing but ranges moves, and gaps get ranges */
    bool stuck, denied;   /* requests are late; the kernel refuses moves: observe only */
    bool denied_said;     /* in the log */
    UT_hash_handle hh;
};

struct attribute;
struct object;
struct objects;
struct scan_counts;

struct attribute_options {
    const struct topology *topology;
    const struct host *host;
    struct worker_pool *pool;
    struct discover *discover; /* who may lose shared memory; NULL: nobody */
};

/* What options point to stays the caller's and outlives the object. */
int attribute_new(struct attribute **attributep, const struct attribute_options *options);
/* Requests that are still out must be freed with their pool before. */
struct attribute *attribute_free(struct attribute *attribute);
CLEANUP_DEFINE(struct attribute *, attribute_free)

/*
 * Takes accesses of one target. Those outside any known VMA are counted and ask for a re-read of
 * the maps; those in mappings that are never moved leave no range.
 * Return: 0 or -ENOMEM.
 */
int attribute_push(struct attribute *attribute, const struct target *target,
                   const struct access *accesses, size_t n);

/*
 * Ends a round of evidence: judges the claims, closes the remote shares, and asks workers for maps,
 * policies and residency that are missing or old. Return: 0 or -ENOMEM.
 */
int attribute_round(struct attribute *attribute, const struct config *config, uint64_t now);

/*
 * Memory that claims are about but that no sample has shown: 2 MiB pieces of processes sampled
 * lately, where a group that holds them has passed, in turns. By pid, then ascending.
 * Return: how many, at most `limit`.
 */
size_t attribute_list_unsampled(struct attribute *attribute, uint64_t now,
                                struct sample_range *ranges, size_t limit);

struct space *attribute_find(const struct attribute *attribute, pid_t pid);
struct space *attribute_spaces(const struct attribute *attribute);
/* Shared memory that samples fell into (attribute/objects.h), for HASH_ITER(learned, ...). */
struct object *attribute_objects(const struct attribute *attribute);
struct object *attribute_find_object(const struct attribute *attribute, uint64_t id);
/*
 * A range (rank 0) or group by its place: an offset of an object (its id), or 0 and an address.
 * NULL: it is no more.
 */
struct range *attribute_find_range(const struct attribute *attribute, pid_t pid, uint64_t object,
                                   uint64_t start, unsigned rank);
/* Why a VMA is left alone, or NONE. */
enum reason attribute_vma_reason(const struct attribute *attribute, const struct vma *vma);
struct range *space_find_range(const struct space *space, uint64_t start);
/* The range (rank 0) or group around addr; NULL: there is none. */
struct range *space_find_ranked(const struct space *space, uint64_t addr, unsigned rank);
/*
 * The smallest range whose evidence may be acted on for this one: itself, or a group that holds it,
 * is confirmed, and that its own samples, if any, do not speak against. Else the range itself.
 */
const struct range *space_find_evidence(const struct space *space, const struct range *range,
                                        double min_share);
const struct vma *space_find_vma(const struct space *space, uint64_t addr);
/* Forgets a process. */
void attribute_drop(struct attribute *attribute, pid_t pid);
/* Are requests to this process late? Nothing more is asked of it until they return. */
void attribute_set_stuck(struct attribute *attribute, pid_t pid, bool stuck);
size_t attribute_n_ranges(const struct attribute *attribute);
size_t attribute_n_groups(const struct attribute *attribute);
/* Accesses that only groups have counted, at most, because of RANGES_MAX. */
uint64_t attribute_n_capped(const struct attribute *attribute);

/* What the scan filter did so far (attribute/scans.h), also with processes that have gone. */
void attribute_count_scans(struct attribute *attribute, struct scan_counts *counts);
/* Where pages lie: what was asked of the kernel so far, for all spaces. */
struct residency_counts {
    uint64_t n_asked; /* addresses handed to move_pages */
    uint64_t n_found; /* of those, with a node for an answer */
    uint64_t n_scans; /* looks at page tables: PAGEMAP_SCAN calls */
    bool no_pagemap;  /* this kernel has no PAGEMAP_SCAN */
};

const struct residency_counts *attribute_residency(const struct attribute *attribute);

/* What was done to a process; to those that have gone where space is NULL. To be added to. */
struct autonuma *attribute_autonuma(struct attribute *attribute, struct space *space);
/* The same of all that are and were there. */
void attribute_count_autonuma(struct attribute *attribute, struct autonuma *sum);
/* Did the last pass let work through on the VMA that holds addr? */
bool space_lets(const struct space *space, uint64_t addr);
/* The same for a VMA of the space that was found already; NULL: no. */
bool space_lets_vma(const struct space *space, const struct vma *vma);

/*
 * What was learned by a move about pages from `start` on, of a range: by node, and after it.
 * NULL: the range has
 * gone (or was made anew while the move was out, maybe in another mapping, and learns nothing of
 * it).
 */
void space_apply_move(struct space *space, uint64_t start, struct range *range,
                      const struct tally *before, const struct tally *after, uint64_t page_bytes,
                      uint64_t now);
