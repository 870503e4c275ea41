#pragma once
/*
 * The records of an access trace, as docs/trace-format.md describes them: what numabd was told and
 * what it asked while it ran, so that the same decisions can be made again elsewhere.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/discover.h"
#include "numabd/sample.h"
#include "numabd/topology.h"
#include "util/scan.h"

#define TRACE_VERSION 1
/* Bytes of a line without its newline: a row of 1,024 distances needs 4 KiB. */
#define TRACE_LINE_MAX 16384
/* A word: two of them and what stands beside them fit in a line. */
#define TRACE_WORD_MAX 8000
/* Text of a file in one line: each byte may take four, and the line has two more. */
#define TRACE_TEXT_MAX 4000
/* Runs and id ranges in one line, of at most 60 bytes each. */
#define TRACE_RUNS_MAX 64
/* Pages in one run: those that a call of move_pages has at most (MIGRATE_BATCH_PAGES). */
#define TRACE_RUN_PAGES_MAX 4096
/* Pages from one of a run to the next: such a run of the most pages still ends within 64 bits. */
#define TRACE_STRIDE_MAX UINT32_MAX
/* "proc/4194304/task/4194304/numa_maps" and its end */
#define TRACE_PATH_MAX 64
#define TRACE_CPU_MAX (1 << 16)
/* A page whose status the kernel did not write. */
#define TRACE_UNWRITTEN INT32_MIN

enum trace_kind {
    TRACE_MACHINE,
    TRACE_NODE,
    TRACE_CPUS,
    TRACE_ISOLATED,
    TRACE_ROOM,
    TRACE_PROCESS,
    TRACE_DETAIL,
    TRACE_MEMS,
    TRACE_GONE,
    TRACE_FILE,
    TRACE_PAGES,
    TRACE_MOVE,
    TRACE_ACCESS,
    TRACE_LATE,
    TRACE_RETURNED,
    TRACE_LOST,
    TRACE_ROUND,
    TRACE_KIND_COUNT
};

/* Ids [first, last]. */
struct trace_ids {
    int first, last;
};

/* n pages with one answer: addr, addr + stride, ... */
struct trace_run {
    uint64_t addr;
    uint64_t n;            /* 1 to TRACE_RUN_PAGES_MAX */
    uint64_t stride_pages; /* 1 to TRACE_STRIDE_MAX */
    int node;              /* target of a move */
    int status;            /* node, negative errno, or TRACE_UNWRITTEN */
};

struct trace_record {
    enum trace_kind kind;
    pid_t pid; /* of machine: numabd's own */
    union {
        struct {
            uint64_t page_bytes; /* a power of 2 */
            uint64_t now_nsec;
            int n_node_ids, n_cpu_ids;
        } machine;
        struct {
            int id;
            uint64_t total_bytes;
            size_t n_distances; /* to node ids from 0 on */
            uint8_t distances[TOPOLOGY_NODE_MAX];
        } node;
        struct {
            int node; /* unused by isolated */
            size_t n_ranges;
            struct trace_ids ranges[TRACE_RUNS_MAX];
        } cpus;
        struct {
            int node;
            uint64_t free_bytes, reserve_bytes, inactive_file_bytes;
        } room;
        struct process process; /* cheap facts; strings NULL */
        struct {
            bool uid_known;
            uid_t uid;
            struct scan exe, cgroup, comm; /* words, see trace_word_decode */
        } detail;
        struct scan mems; /* a word */
        struct scan late; /* a word: what is late */
        struct {
            char path[TRACE_PATH_MAX];
            int result;        /* 0, PROCFS_GONE, PROCFS_DENIED or a negative errno */
            bool same;         /* its text is that of the last record of this path */
            uint64_t cpu_nsec; /* CPU time that reading took */
            size_t size;       /* of the text */
            struct scan body;  /* lines, see trace_text_decode */
        } file;
        struct {
            int result; /* of the call: 0, positive, or a negative errno */
            uint64_t cpu_nsec;
            size_t n_runs;
            struct trace_run runs[TRACE_RUNS_MAX];
        } pages; /* of pages and move */
        struct access access;
        unsigned n_lost;
        uint64_t now_nsec;
    };
};

/* Names of enums in the text, by value. */
extern const char *const trace_kind_names[TRACE_KIND_COUNT];
extern const char *const trace_access_kinds[ACCESS_TOUCH + 1];
extern const char *const trace_access_sources[ACCESS_SOURCE_COUNT];
extern const char *const trace_localities[ACCESS_LOCALITY_REMOTE + 1];
