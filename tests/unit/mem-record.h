#pragma once
/*
 * A record of a memory event, as the kernel writes it.
 */
#include "ring-memory.h"

#include "sample/mem/mem_sample.h"

struct mem_record_bytes {
    struct perf_event_header header;
    uint64_t id, ip;
    uint32_t pid, tid;
    uint64_t time, addr;
    uint32_t cpu, reserved;
    uint64_t period, weight, data_src, phys;
};

#define MEM_LAYOUT_FULL ((struct mem_layout){.weight_struct = true, .phys = true})

/* A load of 200 cycles from user mode, of which DATA_SRC says nothing. */
static inline struct mem_record_bytes mem_record(pid_t pid, uint64_t addr)
{
    return (struct mem_record_bytes){
        .header = {.type = PERF_RECORD_SAMPLE,
                   .misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP,
                   .size = sizeof(struct mem_record_bytes)},
        .id = 77,
        .ip = 0x401000,
        .pid = (uint32_t)pid,
        .tid = (uint32_t)pid + 1,
        .time = 1000000,
        .addr = addr,
        .cpu = 1,
        .period = 1000,
        .weight = 200,
        .data_src = PERF_MEM_S(OP, LOAD),
        .phys = 0x12345000,
    };
}
