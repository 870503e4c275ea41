/*
 * Records of perf rings: the reader stays within the ring and comes to head; what it finds does not
 * depend on where the ring wraps; a decoded sample lies within limits.
 *
 * Of the input the first byte places the records in the ring, the rest are records.
 */
#include "fuzz.h"
#include "sample/mem/mem_sample.h"
#include "sample/perf/perf_ring.h"
#include "sample/perf/perf_sample.h"

#define RING_BYTES 4096
#define RECORD_BYTES_MAX 512 /* that the reader hands over */

/* What one reading gave. */
struct reading {
    struct ring_counts counts;
    uint64_t n_samples, hash, before; /* `before` is where the last record ended */
    const struct ring *ring;
};

static void check_timer(const struct perf_event_header *record)
{
    struct timer_sample sample;

    FUZZ_CHECK(perf_sample_pid(record) >= 0);
    if (perf_sample_decode(record, &sample))
        return;
    FUZZ_CHECK(sample.abi <= PERF_SAMPLE_REGS_ABI_64);
    FUZZ_CHECK(perf_sample_pid(record) == (sample.pid > 0 ? sample.pid : 0));
    for (size_t i = 0; i < TIMER_REG_COUNT && sample.abi == PERF_SAMPLE_REGS_ABI_NONE; i++)
        FUZZ_CHECK(sample.regs[i] == 0);
}

static void check_mem(const struct perf_event_header *record, struct mem_layout layout)
{
    struct mem_sample sample;

    FUZZ_CHECK(mem_sample_pid(record) >= 0);
    if (mem_sample_decode(layout, record, &sample))
        return;
    FUZZ_CHECK(record->size == mem_sample_bytes(layout));
    FUZZ_CHECK(sample.addr > 0 && sample.addr <= INT64_MAX);
    FUZZ_CHECK(sample.op <= MEM_OP_LOAD_STORE && sample.locality <= ACCESS_LOCALITY_REMOTE);
    FUZZ_CHECK(layout.phys || sample.phys == 0);
    FUZZ_CHECK(!layout.weight_struct || sample.latency <= UINT32_MAX);
}

static void on_sample(void *userdata, const struct perf_event_header *record)
{
    struct reading *reading = userdata;
    const uint8_t *bytes = (const uint8_t *)record;

    FUZZ_CHECK((uintptr_t)record % 8 == 0 && record->type == PERF_RECORD_SAMPLE);
    FUZZ_CHECK(record->size >= sizeof *record && record->size <= RECORD_BYTES_MAX);
    FUZZ_CHECK(*reading->ring->tail >= reading->before + record->size);
    FUZZ_CHECK(*reading->ring->tail <= *reading->ring->head);
    reading->before = *reading->ring->tail;
    reading->n_samples++;
    for (size_t i = 0; i < record->size; i++)
        reading->hash = (reading->hash ^ bytes[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    check_timer(record);
    for (int i = 0; i < 4; i++)
        check_mem(record, (struct mem_layout){.weight_struct = i & 1, .phys = i & 2});
}

/* Reads the records out of a ring in which they begin at `start`. */
static struct reading read_at(uint64_t start, const uint8_t *records, size_t size)
{
    uint8_t *data = malloc(RING_BYTES);
    uint64_t head = start + size, tail = start;
    const struct ring ring = {.data = data, .size = RING_BYTES, .head = &head, .tail = &tail};
    struct reading reading = {.before = start, .ring = &ring};

    FUZZ_CHECK(data);
    memset(data, 0, RING_BYTES);
    for (size_t i = 0; i < size; i++)
        data[(start + i) % RING_BYTES] = records[i];
    ring_read(&ring, &reading.counts, on_sample, &reading);
    FUZZ_CHECK(tail == head && head == start + size);
    free(data);
    return reading;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t start = 8 * (uint64_t)fuzz_byte(&data, &size);
    struct reading one, other;

    if (size > RING_BYTES)
        size = RING_BYTES;
    one = read_at(0, data, size);
    other = read_at(RING_BYTES - start, data, size);
    FUZZ_CHECK(one.n_samples == other.n_samples && one.hash == other.hash);
    FUZZ_CHECK(!memcmp(&one.counts, &other.counts, sizeof one.counts));
    FUZZ_CHECK(one.counts.n_corrupt <= 1);
    return 0;
}
