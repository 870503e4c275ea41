#pragma once
/*
 * Memory sample: what is asked of perf about each sampled access, and the record that it answers
 * with, decoded.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/sample.h"

/* What the kernel and our permissions allow beyond the basic record. */
struct mem_layout {
    bool weight_struct; /* WEIGHT_STRUCT (5.12): latency apart from other weights; else WEIGHT */
    bool phys;          /* physical address */
};

enum mem_op {
    MEM_OP_UNKNOWN, /* the hardware does not tell: what the event samples */
    MEM_OP_NONE,    /* certainly no data access: a branch, an addition, a code fetch */
    MEM_OP_LOAD,    /* or prefetch */
    MEM_OP_STORE,
    MEM_OP_LOAD_STORE,
};

struct mem_sample {
    uint64_t when_nsec; /* CLOCK_MONOTONIC */
    pid_t pid, tid;
    int cpu;
    uint64_t addr;
    uint64_t period;  /* occurrences of the event that it stands for */
    uint64_t latency; /* core cycles until the data was there; 0: not told */
    uint64_t phys;    /* 0: not told */
    enum mem_op op;
    enum access_locality locality; /* as DATA_SRC tells */
};

/* Return: the attr's sample_type. */
uint64_t mem_sample_type(struct mem_layout layout);
/* Bytes of a record. */
size_t mem_sample_bytes(struct mem_layout layout);

/*
 * The process of a PERF_RECORD_SAMPLE, looked at before the rest is decoded.
 * Return: a pid, or 0 when there is none: the task is exiting (perf says -1), lives in another pid
 * namespace (perf says 0), or the record is cut.
 */
pid_t mem_sample_pid(const struct perf_event_header *header);

enum {
    MEM_SAMPLE_MALFORMED = 1, /* a size that the event cannot give */
    MEM_SAMPLE_NOT_USER,      /* taken in the kernel or a guest, or a kernel address or none */
};
/* Return: 0, or one of these. */
int mem_sample_decode(struct mem_layout layout, const struct perf_event_header *header,
                      struct mem_sample *sample);

/*
 * Which memory answered, after PERF_SAMPLE_DATA_SRC in its old form (mem_lvl, to 4.13 and still
 * alone on some) and its new one (mem_lvl_num, mem_remote, mem_hops). UNKNOWN where it does not
 * say, also for a line that was being fetched already (LFB: from wherever) and for memory that is
 * a node of its own (PMEM, CXL).
 */
enum access_locality mem_locality(uint64_t data_src);
enum mem_op mem_op(uint64_t data_src);
