#pragma once
/*
 * Timer sample: what is asked of perf, and the record that it answers with, decoded.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

/* Positions in regs[]; perf writes them in the order of their bits in sample_regs_user. */
enum timer_reg {
    TIMER_REG_AX,
    TIMER_REG_BX,
    TIMER_REG_CX,
    TIMER_REG_DX,
    TIMER_REG_SI,
    TIMER_REG_DI,
    TIMER_REG_BP,
    TIMER_REG_SP,
    TIMER_REG_IP,
    TIMER_REG_FLAGS,
    TIMER_REG_R8,
    TIMER_REG_R15 = TIMER_REG_R8 + 7,
    TIMER_REG_COUNT
};

#define PERF_SAMPLE_BYTES (64 + 8 * TIMER_REG_COUNT) /* of a record with registers */

struct timer_sample {
    uint64_t when_nsec; /* CLOCK_MONOTONIC */
    pid_t pid, tid;
    int cpu;
    uint64_t period_nsec; /* CPU time that it stands for, as the event was opened */
    uint64_t ip;
    uint64_t abi; /* enum perf_sample_regs_abi; without registers it is NONE and regs are 0 */
    uint64_t regs[TIMER_REG_COUNT];
};

/* Describes the event: one sample per 1/rate_hz seconds of user mode on a CPU; rate_hz > 0. */
void perf_sample_attr(struct perf_event_attr *attr, unsigned rate_hz);

/*
 * The process of a PERF_RECORD_SAMPLE, looked at before the rest is decoded.
 * Return: a pid, or 0 when there is none: the task is exiting (perf says -1), lives in another pid
 * namespace (perf says 0), or the record is cut.
 */
pid_t perf_sample_pid(const struct perf_event_header *header);

/* Return: 0, or PERF_SAMPLE_MALFORMED for a size or abi that the event above cannot give. */
enum {
    PERF_SAMPLE_MALFORMED = 1
};
int perf_sample_decode(const struct perf_event_header *header, struct timer_sample *sample);
