#pragma once
/*
 * A ring in plain memory, written to as the kernel does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sample/perf/perf_ring.h"
#include "sample/perf/perf_sample.h"

struct ring_memory {
    uint8_t *data;
    uint64_t size, head, tail;
};

/* The record that the timer's event gives. */
struct sample_record {
    struct perf_event_header header;
    uint64_t id;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time;
    uint32_t cpu, reserved;
    uint64_t period, abi;
    uint64_t regs[TIMER_REG_COUNT];
};

static inline struct ring ring_memory_ring(struct ring_memory *memory)
{
    return (struct ring){
        .data = memory->data,
        .size = memory->size,
        .head = &memory->head,
        .tail = &memory->tail,
    };
}

/* Writes `size` bytes at head, around the end where need be. */
static inline void ring_memory_write(struct ring_memory *memory, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        memory->data[(memory->head + i) % memory->size] = ((const uint8_t *)bytes)[i];
    memory->head += size;
}

static inline struct sample_record sample_record(pid_t pid, uint64_t ip)
{
    struct sample_record record = {
        .header = {.type = PERF_RECORD_SAMPLE, .size = sizeof record},
        .ip = ip,
        .pid = (uint32_t)pid,
        .tid = (uint32_t)pid + 1,
        .time = 12345,
        .cpu = 3,
        .period = 4000000,
        .abi = PERF_SAMPLE_REGS_ABI_64,
    };

    for (size_t i = 0; i < TIMER_REG_COUNT; i++)
        record.regs[i] = 0x10000 * (i + 1);
    return record;
}
