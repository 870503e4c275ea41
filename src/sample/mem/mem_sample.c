/*
 * The record follows the bits of sample_type in the order of perf_output_sample
 * (kernel/events/core.c), all fields 8-byte aligned:
 *
 *     header  identifier  ip  pid,tid  time  addr  cpu,reserved  period  weight  data_src  [phys]
 *
 * DATA_SRC grew twice. Intel and AMD fill in both forms where they can, and where the forms differ
 * the old one is right: Sandy Bridge's "remote DRAM, shared" has mem_lvl REM_RAM1 but mem_lvl_num
 * L3 (arch/x86/events/intel/ds.c, pebs_data_source[0x0b]); Skylake's has the new form only.
 */
#include "sample/mem/mem_sample.h"

/* Of later kernels than some headers (6.7 and later). */
#define LVLNUM_MSC 0x06 /* a cache of the memory's own, on its side */
#define LVLNUM_L0 0x07

struct mem_record {
    struct perf_event_header header;
    uint64_t id, ip;
    uint32_t pid, tid;
    uint64_t time, addr;
    uint32_t cpu, reserved;
    uint64_t period;
    union perf_sample_weight weight;
    union perf_mem_data_src data_src;
    uint64_t phys[]; /* none or one */
};

uint64_t mem_sample_type(struct mem_layout layout)
{
    return PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
           PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_DATA_SRC |
           (layout.weight_struct ? PERF_SAMPLE_WEIGHT_STRUCT : PERF_SAMPLE_WEIGHT) |
           (layout.phys ? PERF_SAMPLE_PHYS_ADDR : 0);
}

size_t mem_sample_bytes(struct mem_layout layout)
{
    return sizeof(struct mem_record) + (layout.phys ? sizeof(uint64_t) : 0);
}

pid_t mem_sample_pid(const struct perf_event_header *header)
{
    const struct mem_record *record = (const void *)header;

    if (header->size < sizeof *record || (int32_t)record->pid <= 0)
        return 0;
    return (pid_t)record->pid;
}

/* Kernel addresses are the upper half on every 64-bit architecture that has such events. */
static bool is_kernel_address(uint64_t address)
{
    return (int64_t)address < 0;
}

static bool is_user(const struct mem_record *record)
{
    unsigned mode = record->header.misc & PERF_RECORD_MISC_CPUMODE_MASK;

    return (mode == PERF_RECORD_MISC_USER || mode == PERF_RECORD_MISC_CPUMODE_UNKNOWN) &&
           !is_kernel_address(record->ip) && !is_kernel_address(record->addr) && record->addr != 0;
}

int mem_sample_decode(struct mem_layout layout, const struct perf_event_header *header,
                      struct mem_sample *sample)
{
    const struct mem_record *record = (const void *)header;

    if (header->size != mem_sample_bytes(layout))
        return MEM_SAMPLE_MALFORMED;
    if (!is_user(record))
        return MEM_SAMPLE_NOT_USER;
    *sample = (struct mem_sample){
        .when_nsec = record->time,
        .pid = (pid_t)record->pid,
        .tid = (pid_t)record->tid,
        .cpu = (int)record->cpu,
        .addr = record->addr,
        .period = record->period,
        .latency = layout.weight_struct ? record->weight.var1_dw : record->weight.full,
        .phys = layout.phys ? record->phys[0] : 0,
        .op = mem_op(record->data_src.val),
        .locality = mem_locality(record->data_src.val),
    };
    return 0;
}

enum mem_op mem_op(uint64_t data_src)
{
    const unsigned op = (unsigned)((union perf_mem_data_src){.val = data_src}).mem_op;
    const bool load = op & (PERF_MEM_OP_LOAD | PERF_MEM_OP_PFETCH);

    if (op & PERF_MEM_OP_STORE)
        return load ? MEM_OP_LOAD_STORE : MEM_OP_STORE;
    if (load)
        return MEM_OP_LOAD;
    return op & PERF_MEM_OP_EXEC ? MEM_OP_NONE : MEM_OP_UNKNOWN;
}

static enum access_locality locality_of_level(unsigned level)
{
    if (level & PERF_MEM_LVL_MISS)
        return ACCESS_LOCALITY_UNKNOWN; /* it was not there; where it was instead is not told */
    if (level & (PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2))
        return ACCESS_LOCALITY_REMOTE;
    if (level & PERF_MEM_LVL_LOC_RAM)
        return ACCESS_LOCALITY_LOCAL;
    if (level & (PERF_MEM_LVL_L1 | PERF_MEM_LVL_L2 | PERF_MEM_LVL_L3 | PERF_MEM_LVL_REM_CCE1 |
                 PERF_MEM_LVL_REM_CCE2))
        return ACCESS_LOCALITY_CACHE;
    return ACCESS_LOCALITY_UNKNOWN;
}

static enum access_locality locality_of_number(unsigned number, bool remote)
{
    switch (number) {
    case PERF_MEM_LVLNUM_RAM:
    case LVLNUM_MSC:
        return remote ? ACCESS_LOCALITY_REMOTE : ACCESS_LOCALITY_LOCAL;
    case PERF_MEM_LVLNUM_CXL:
    case PERF_MEM_LVLNUM_PMEM:
        return remote ? ACCESS_LOCALITY_REMOTE : ACCESS_LOCALITY_UNKNOWN;
    case PERF_MEM_LVLNUM_L1:
    case PERF_MEM_LVLNUM_L2:
    case PERF_MEM_LVLNUM_L3:
    case PERF_MEM_LVLNUM_L4:
    case LVLNUM_L0:
    case PERF_MEM_LVLNUM_ANY_CACHE:
        return ACCESS_LOCALITY_CACHE;
    default: /* 0, LFB, L2_MHB, I/O, uncached, N/A */
        return ACCESS_LOCALITY_UNKNOWN;
    }
}

enum access_locality mem_locality(uint64_t data_src)
{
    const union perf_mem_data_src source = {.val = data_src};
    enum access_locality locality = locality_of_level(source.mem_lvl);

    if (locality != ACCESS_LOCALITY_UNKNOWN || (source.mem_lvl & PERF_MEM_LVL_MISS))
        return locality;
    /* HOPS_0: another core of the same node (POWER). */
    return locality_of_number(source.mem_lvl_num,
                              source.mem_remote && source.mem_hops != PERF_MEM_HOPS_0);
}
