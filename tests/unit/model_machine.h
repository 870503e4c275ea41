#pragma once
/*
 * A model of a NUMA machine: nodes, and processes with mappings, page tables and threads. It stands
 * behind host_ops, procs_ops and a source, so that the unchanged pipeline runs on it. Failures of
 * its own fail the test.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/discover.h"
#include "numabd/host.h"
#include "numabd/sample.h"
#include "numabd/topology.h"

#include "tree.h"

#define MODEL_PAGE_BYTES 4096
#define MODEL_HUGE_PAGES 512 /* base pages of a huge page */
#define MODEL_MIB_PAGES 256
#define MODEL_NODES 8   /* ids are below */
#define MODEL_DRAINS 10 /* a second */
#define MODEL_VMAS 4
#define MODEL_THREADS 16
#define MODEL_BASE UINT64_C(0x7f0000000000) /* address of the first mapping */
#define MODEL_VMA_STEP (UINT64_C(1) << 32)  /* from one mapping to the next */

/* How a machine is made; all by node id. */
struct model_shape {
    int n_nodes;
    unsigned cpus[MODEL_NODES];       /* on the node; ids count up over the nodes */
    unsigned memory_mib[MODEL_NODES]; /* 0: memoryless */
    unsigned distances[MODEL_NODES][MODEL_NODES];
};

enum model_page_flag {
    MODEL_PAGE_HELD = 1 << 0,     /* refuses, as one held by vmsplice */
    MODEL_PAGE_SHARED = 1 << 1,   /* mapped elsewhere too: EACCES */
    MODEL_PAGE_HUGE = 1 << 2,     /* part of an aligned huge page; other flags are on its first */
    MODEL_PAGE_ISOLATED = 1 << 3, /* queued by the call that runs */
};

struct model_page {
    int at; /* node, -ENOENT (absent) or -EFAULT (zero page) */
    unsigned flags;
};

struct model_vma {
    uint64_t start;
    struct model_page *pages;
    size_t n_pages;
    const char *perms;  /* as in maps */
    const char *policy; /* as in numa_maps */
    uint64_t inode;     /* of shared memory */
    bool borrowed;      /* its pages are another process's mapping's */
};

/* Touches pages [first, first + n_pages) of one mapping, evenly at random. */
struct model_thread {
    pid_t tid;
    int cpu;
    const char *policy; /* of its own; NULL: none */
    size_t vma, first, n_pages;
};

struct model_process {
    pid_t pid;
    uint64_t start_ticks;
    const char *comm;
    const char *mems_allowed; /* NULL: all */
    bool denied;              /* move_pages gives EPERM */
    bool ended;
    struct model_vma vmas[MODEL_VMAS];
    size_t n_vmas;
    struct model_thread threads[MODEL_THREADS];
    size_t n_threads;
    int maps_fd;       /* what /proc/PID/maps reads; empty once the address space has gone */
    int ended_fd;      /* readable once the process has ended */
    uint64_t n_pushed; /* accesses handed to the sink */
    unsigned asked_hz; /* the rate that the last round asked for */
};

enum model_call_kind {
    MODEL_CALL_FILE,
    MODEL_CALL_MAPS,
    MODEL_CALL_QUERY,
    MODEL_CALL_MOVE,
};

struct model_call {
    enum model_call_kind kind;
    pid_t pid;
    size_t n; /* pages */
    long r;
};

struct model {
    struct model_shape shape;
    struct model_process **processes;
    size_t n_processes, processes_cap;
    uint64_t free_pages[MODEL_NODES];
    uint64_t n_migrated; /* pages that changed their node */
    struct model_call *calls;
    size_t n_calls, calls_cap;
    uint64_t random;
    uint64_t now;
    unsigned rate_hz; /* of all processes; 0: as each round asks */
    double cpi;       /* cycles per instruction of all processes; 0: nothing counts them */
    struct access_sink sink;
    struct sample_filter filter;
    struct sample_counts counts;
    bool no_move_all; /* CAP_SYS_NICE is missing */
    /* The n-th move_pages call from now on (1 = the next) fails with this errno; 0: none. */
    size_t fail_at;
    int fail_error;
    bool no_scans; /* a kernel before 6.7: no PAGEMAP_SCAN */
    /* Called before each move_pages call; may change anything. */
    void (*before_call)(struct model *model, struct model_process *process, bool moves);
};

void model_init(struct model *model, const struct model_shape *shape, uint64_t seed);
void model_deinit(struct model *model);

/* Evenly in [0, limit). */
uint64_t model_random(struct model *model, uint64_t limit);

struct model_process *model_add_process(struct model *model, pid_t pid, const char *comm);
struct model_process *model_find(const struct model *model, pid_t pid);
/* Adds a mapping whose pages all lie on `node`. */
struct model_vma *model_add_vma(struct model *model, struct model_process *process, size_t n_pages,
                                int node);
/* Adds a mapping of the pages of another process's, which are shared from now on. */
struct model_vma *model_add_shared(struct model_process *process, struct model_vma *of);
void model_set_huge(struct model_vma *vma);
/* Ends a process; it stays readable for the test. */
void model_kill(struct model *model, struct model_process *process);
/* Another program runs in it: its memory has gone, its threads but the first too. */
void model_exec(struct model *model, struct model_process *process, const char *comm);

/* `n` threads that work on equal parts of the first mapping, thread i on cpus[i]. */
void model_add_workers(struct model_process *process, const int *cpus, size_t n);
/* All threads work over the whole first mapping. */
void model_share_all(struct model_process *process);

size_t model_pages_on(const struct model_process *process, int node);
/* Share of what the threads touch that does not lie on their own nodes, in permyriad. */
int model_remote_permyriad(const struct model *model, const struct model_process *process);
int model_cpu_node(const struct model *model, int cpu);

size_t model_n_calls(const struct model *model, enum model_call_kind kind, pid_t pid);
void model_log_call(struct model *model, enum model_call_kind kind, pid_t pid, size_t n, long r);

/* Writes /sys/devices/system and /proc/zoneinfo, or the latter alone, as they are now. */
void model_write_tree(const struct model *model, struct tree *tree);
void model_write_room(const struct model *model, struct tree *tree);

/* model_proc.c: what the pipeline sees of it. */
struct host model_host(struct model *model);
struct procs model_procs(struct model *model);
struct source model_source(struct model *model);

/* move_pages(2) as Linux 6.12 does it (model_pages.c). */
long model_move_pages(void *self, pid_t pid, size_t n, void *const *pages, const int *nodes,
                      int *status, int flags);
/* PAGEMAP_SCAN (model_scan.c). */
long model_scan_pages(void *self, pid_t pid, int *fdp, struct page_scan *scan);
