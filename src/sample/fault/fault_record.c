/*
 * PERF_COUNT_SW_PAGE_FAULTS_MIN is counted when a fault has been handled without I/O, with the
 * faulting address as data address (mm_account_fault()). The events say neither read nor write.
 * Behind a clear nearly all are writes, for only writes fault on pages that are there; the rest are
 * first touches and hint faults of the kernel's balancing, which are accesses of that thread, too.
 *
 *     header  id  ip  pid,tid  time  addr  cpu,reserved
 */
#include "sample/fault/fault_record.h"

#include <time.h>

#define INSTRUCTION_BYTES_MAX 16 /* x86: 15; elsewhere 8 at most */

struct fault_record {
    struct perf_event_header header;
    uint64_t id, ip;
    uint32_t pid, tid;
    uint64_t time, addr;
    uint32_t cpu, reserved;
};

_Static_assert(sizeof(struct fault_record) == FAULT_RECORD_BYTES, "as sample_type below");

void fault_record_attr(struct perf_event_attr *attr)
{
    *attr = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof *attr,
        .config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                       PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU,
        .exclude_hv = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
}

pid_t fault_record_pid(const struct perf_event_header *header)
{
    const struct fault_record *record = (const void *)header;

    if (header->size != sizeof *record || (int32_t)record->pid <= 0)
        return 0;
    return (pid_t)record->pid;
}

int fault_record_decode(const struct perf_event_header *header, struct fault *fault)
{
    const struct fault_record *record = (const void *)header;

    /* Kernel addresses are negative on all 64-bit machines that share the address space. */
    if ((int64_t)record->addr <= 0 || record->addr - record->ip < INSTRUCTION_BYTES_MAX)
        return FAULT_RECORD_NO_DATA;
    *fault = (struct fault){
        .when_nsec = record->time,
        .tid = (pid_t)record->tid,
        .cpu = (int)record->cpu,
        .addr = record->addr,
    };
    return 0;
}
