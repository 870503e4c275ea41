/*
 * The record follows the bits of sample_type, all fields 8-byte aligned:
 *
 *     header  id  ip  pid,tid  time  cpu,reserved  period  abi
 *     [ax bx cx dx si di bp sp ip flags r8-r15]
 *
 * The registers are absent when abi is NONE. perf numbers the x86 registers in asm/perf_regs.h; DS,
 * ES, FS and GS (12 to 15) are refused on 64-bit kernels.
 */
#include "sample/perf/perf_sample.h"

#include <string.h>
#include <time.h>

#ifdef __x86_64__
#include <asm/perf_regs.h>
#endif

#include "util/nsec.h"

/* Bits AX to FLAGS and R8 to R15, written out so that this builds on every architecture. */
#define REGS_MASK UINT64_C(0x00ff03ff)
#ifdef __x86_64__
_Static_assert((int)PERF_REG_X86_FLAGS == (int)TIMER_REG_FLAGS, "order of asm/perf_regs.h");
_Static_assert(PERF_REG_X86_R8 == 16 && PERF_REG_X86_R15 == 23, "bits of asm/perf_regs.h");
#endif

struct sample_head {
    struct perf_event_header header;
    uint64_t id;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time;
    uint32_t cpu, reserved;
    uint64_t period;
    uint64_t abi;
};

_Static_assert(sizeof(struct sample_head) + TIMER_REG_COUNT * 8 == PERF_SAMPLE_BYTES,
               "of a record");

void perf_sample_attr(struct perf_event_attr *attr, unsigned rate_hz)
{
    *attr = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof *attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = NSEC_PER_SEC / rate_hz,
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                       PERF_SAMPLE_REGS_USER,
        .sample_regs_user = REGS_MASK,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .exclude_idle = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
}

pid_t perf_sample_pid(const struct perf_event_header *header)
{
    const struct sample_head *head = (const void *)header;

    if (header->size < sizeof *head || (int32_t)head->pid <= 0)
        return 0;
    return (pid_t)head->pid;
}

int perf_sample_decode(const struct perf_event_header *header, struct timer_sample *sample)
{
    const struct sample_head *head = (const void *)header;
    size_t regs_size;

    if (header->size < sizeof *head || head->abi > PERF_SAMPLE_REGS_ABI_64)
        return PERF_SAMPLE_MALFORMED;
    regs_size = head->abi == PERF_SAMPLE_REGS_ABI_NONE ? 0 : sizeof sample->regs;
    if (header->size != sizeof *head + regs_size)
        return PERF_SAMPLE_MALFORMED;
    *sample = (struct timer_sample){
        .when_nsec = head->time,
        .pid = (pid_t)head->pid,
        .tid = (pid_t)head->tid,
        .cpu = (int)head->cpu,
        .period_nsec = head->period,
        .ip = head->ip,
        .abi = head->abi,
    };
    memcpy(sample->regs, head + 1, regs_size);
    return 0;
}
