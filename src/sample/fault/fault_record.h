#pragma once
/*
 * Fault record: what is asked of perf, and the record of one page fault, decoded.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

struct fault {
    uint64_t when_nsec; /* CLOCK_MONOTONIC */
    pid_t tid;
    int cpu;
    uint64_t addr;
};

/* Of a record, in bytes. */
#define FAULT_RECORD_BYTES 56

/* Every minor page fault, also those that the kernel runs into on the process's behalf. */
void fault_record_attr(struct perf_event_attr *attr);

/*
 * The process of a PERF_RECORD_SAMPLE, looked at before the rest. Return: a pid, or 0 when there is
 * none: the task is exiting, lives in another pid namespace, or the record has another size.
 */
pid_t fault_record_pid(const struct perf_event_header *header);

enum {
    FAULT_RECORD_NO_DATA = 1, /* a kernel address, or the fetch of an instruction */
};

/* Of a record that has a pid. Return: 0 or FAULT_RECORD_NO_DATA. */
int fault_record_decode(const struct perf_event_header *header, struct fault *fault);
