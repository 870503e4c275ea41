#pragma once
/*
 * Memory reader: records of memory events in, accesses out.
 */
#include "numabd/sample.h"
#include "sample/mem/mem_bound.h"
#include "sample/mem/mem_phys.h"
#include "sample/mem/mem_pmu.h"
#include "sample/mem/mem_sample.h"
#include "sample/mem/mem_weight.h"

#define MEM_READER_BATCH 128

struct mem_reader {
    struct mem_layout layout;
    const struct mem_event *events;
    size_t n_events;
    struct sample_filter filter;
    struct access_sink sink;
    const struct topology *topology;
    struct mem_phys *phys; /* NULL: localities are those of DATA_SRC only */
    struct mem_weights *weights;
    struct mem_bound *bound;
    struct sample_counts counts; /* n_lost and n_interrupts are the caller's */
    struct access batch[MEM_READER_BATCH];
    size_t n_batch;
};

/* A PERF_RECORD_SAMPLE of an event; the filter is asked before it is decoded. */
void mem_reader_take(struct mem_reader *reader, size_t event,
                     const struct perf_event_header *record);

/* Hands over what is left of a drain. */
void mem_reader_flush(struct mem_reader *reader);
