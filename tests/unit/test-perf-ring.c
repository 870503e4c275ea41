/*
 * The ring reader on hand-built rings, the record decoder.
 */
#include "ring-memory.h"

#include <stdlib.h>

#include "util/array.h"

#define RING_BYTES 1024

/* The record of a test: its header and one number to know it by. */
struct numbered {
    struct perf_event_header header;
    uint64_t number;
};

struct seen {
    uint64_t numbers[64];
    size_t n;
    struct ring_memory *grow; /* write one more sample while reading */
};

struct fixture {
    uint8_t data[RING_BYTES];
    struct ring_memory memory;
    struct ring ring;
    struct ring_counts counts;
    struct seen seen;
};

static void fixture_init(struct fixture *fixture, uint64_t at)
{
    *fixture = (struct fixture){.memory = {.size = RING_BYTES, .head = at, .tail = at}};
    fixture->memory.data = fixture->data;
    fixture->ring = ring_memory_ring(&fixture->memory);
}

static void write_record(struct fixture *fixture, uint32_t type, uint64_t number)
{
    struct numbered record = {{.type = type, .size = sizeof record}, number};

    ring_memory_write(&fixture->memory, &record, sizeof record);
}

static void on_sample(void *userdata, const struct perf_event_header *header)
{
    struct seen *seen = userdata;
    struct numbered more = {{.type = PERF_RECORD_SAMPLE, .size = sizeof more}, 99};

    assert_int_equal((uintptr_t)header % 8, 0);
    seen->numbers[seen->n++] = ((const struct numbered *)header)->number;
    if (seen->grow)
        ring_memory_write(seen->grow, &more, sizeof more);
    seen->grow = NULL;
}

static void read_ring(struct fixture *fixture)
{
    ring_read(&fixture->ring, &fixture->counts, on_sample, &fixture->seen);
}

static void test_empty(void **state)
{
    struct fixture fixture;

    (void)state;
    fixture_init(&fixture, 40);
    read_ring(&fixture);
    assert_int_equal(fixture.seen.n, 0);
    assert_int_equal(fixture.memory.tail, 40);
}

/* Every start offset, so that a record is cut at each of its words. */
static void test_wraps(void **state)
{
    (void)state;
    for (uint64_t at = 0; at < 2 * RING_BYTES; at += 8) {
        struct fixture fixture;

        fixture_init(&fixture, at);
        for (uint64_t i = 0; i < RING_BYTES / sizeof(struct numbered); i++)
            write_record(&fixture, PERF_RECORD_SAMPLE, at + i);
        read_ring(&fixture);
        assert_int_equal(fixture.seen.n, RING_BYTES / sizeof(struct numbered));
        for (uint64_t i = 0; i < fixture.seen.n; i++)
            assert_int_equal(fixture.seen.numbers[i], at + i);
        assert_int_equal(fixture.memory.tail, fixture.memory.head);
        assert_int_equal(fixture.counts.n_corrupt, 0);
    }
}

/* head and tail count bytes for ever; their difference is what matters. */
static void test_positions_overflow(void **state)
{
    struct fixture fixture;

    (void)state;
    fixture_init(&fixture, UINT64_MAX - 7);
    write_record(&fixture, PERF_RECORD_SAMPLE, 1);
    write_record(&fixture, PERF_RECORD_SAMPLE, 2);
    read_ring(&fixture);
    assert_int_equal(fixture.seen.n, 2);
    assert_int_equal(fixture.seen.numbers[1], 2);
}

static void test_counts_other_records(void **state)
{
    struct fixture fixture;
    struct {
        struct perf_event_header header;
        uint64_t id, lost;
    } lost = {{.type = PERF_RECORD_LOST, .size = sizeof lost}, 7, 41};

    (void)state;
    fixture_init(&fixture, RING_BYTES - 8);
    ring_memory_write(&fixture.memory, &lost, sizeof lost);
    write_record(&fixture, PERF_RECORD_LOST_SAMPLES, 5);
    write_record(&fixture, PERF_RECORD_THROTTLE, 0);
    write_record(&fixture, PERF_RECORD_UNTHROTTLE, 0);
    write_record(&fixture, PERF_RECORD_COMM, 0);
    write_record(&fixture, 4711, 0);
    write_record(&fixture, PERF_RECORD_LOST, 1000); /* too short to hold its number */
    write_record(&fixture, PERF_RECORD_SAMPLE, 1);
    read_ring(&fixture);
    assert_int_equal(fixture.counts.n_lost, 46);
    assert_int_equal(fixture.counts.n_throttled, 1);
    assert_int_equal(fixture.counts.n_unknown, 2);
    assert_int_equal(fixture.counts.n_corrupt, 0);
    assert_int_equal(fixture.seen.n, 1);
}

static void test_skips_large_record(void **state)
{
    struct fixture fixture;
    struct {
        struct perf_event_header header;
        uint8_t bytes[592];
    } large = {.header = {.type = PERF_RECORD_SAMPLE, .size = sizeof large}};

    (void)state;
    fixture_init(&fixture, 800);
    ring_memory_write(&fixture.memory, &large, sizeof large);
    write_record(&fixture, PERF_RECORD_SAMPLE, 1);
    read_ring(&fixture);
    assert_int_equal(fixture.counts.n_unknown, 1);
    assert_int_equal(fixture.seen.n, 1);
}

static const struct {
    const char *name;
    uint16_t size;
} corrupt[] = {
    {"size 0", 0},
    {"smaller than a header", 7},
    {"not a multiple of 8", 12},
    {"one word beyond head", 24},
    {"far beyond head", 65528},
};

/* What came before is good, what follows cannot be trusted, and the next round starts afresh. */
static void test_corrupt_record(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(corrupt); i++) {
        struct numbered record = {{.type = PERF_RECORD_SAMPLE, .size = corrupt[i].size}, 2};
        struct fixture fixture;

        print_message("%s\n", corrupt[i].name);
        fixture_init(&fixture, RING_BYTES - 24);
        write_record(&fixture, PERF_RECORD_SAMPLE, 1);
        ring_memory_write(&fixture.memory, &record, sizeof record);
        read_ring(&fixture);
        assert_int_equal(fixture.seen.n, 1);
        assert_int_equal(fixture.counts.n_corrupt, 1);
        assert_int_equal(fixture.memory.tail, fixture.memory.head);
        write_record(&fixture, PERF_RECORD_SAMPLE, 3);
        read_ring(&fixture);
        assert_int_equal(fixture.seen.n, 2);
        assert_int_equal(fixture.seen.numbers[1], 3);
    }
}

static void test_head_cuts_header(void **state)
{
    struct fixture fixture;

    (void)state;
    fixture_init(&fixture, 0);
    ring_memory_write(&fixture.memory, "\0\0\0\0", 4);
    read_ring(&fixture);
    assert_int_equal(fixture.counts.n_corrupt, 1);
    assert_int_equal(fixture.memory.tail, 4);
}

static void test_head_more_than_a_ring_ahead(void **state)
{
    struct fixture fixture;

    (void)state;
    fixture_init(&fixture, 0);
    write_record(&fixture, PERF_RECORD_SAMPLE, 1);
    fixture.memory.head = RING_BYTES + 8;
    read_ring(&fixture);
    assert_int_equal(fixture.seen.n, 0);
    assert_int_equal(fixture.counts.n_corrupt, 1);
    assert_int_equal(fixture.memory.tail, RING_BYTES + 8);
}

/* What arrives while reading waits for the next read, and is not lost. */
static void test_head_moves_meanwhile(void **state)
{
    struct fixture fixture;

    (void)state;
    fixture_init(&fixture, 0);
    write_record(&fixture, PERF_RECORD_SAMPLE, 1);
    fixture.seen.grow = &fixture.memory;
    read_ring(&fixture);
    assert_int_equal(fixture.seen.n, 1);
    assert_int_equal(fixture.memory.tail, sizeof(struct numbered));
    read_ring(&fixture);
    assert_int_equal(fixture.seen.n, 2);
    assert_int_equal(fixture.seen.numbers[1], 99);
}

static void test_decodes_sample(void **state)
{
    struct sample_record record = sample_record(4711, 0x401000);
    struct timer_sample sample;

    (void)state;
    assert_int_equal(perf_sample_pid(&record.header), 4711);
    assert_int_equal(perf_sample_decode(&record.header, &sample), 0);
    assert_int_equal(sample.when_nsec, 12345);
    assert_int_equal(sample.pid, 4711);
    assert_int_equal(sample.tid, 4712);
    assert_int_equal(sample.cpu, 3);
    assert_int_equal(sample.period_nsec, 4000000);
    assert_int_equal(sample.ip, 0x401000);
    assert_int_equal(sample.abi, PERF_SAMPLE_REGS_ABI_64);
    assert_int_equal(sample.regs[TIMER_REG_AX], 0x10000);
    assert_int_equal(sample.regs[TIMER_REG_R15], 0x10000 * TIMER_REG_COUNT);
}

static void test_decodes_sample_without_registers(void **state)
{
    struct sample_record record = sample_record(4711, 0x401000);
    struct timer_sample sample;

    (void)state;
    record.abi = PERF_SAMPLE_REGS_ABI_NONE;
    record.header.size = offsetof(struct sample_record, regs);
    assert_int_equal(perf_sample_decode(&record.header, &sample), 0);
    assert_int_equal(sample.abi, PERF_SAMPLE_REGS_ABI_NONE);
    assert_int_equal(sample.regs[TIMER_REG_AX], 0);
}

static void test_malformed_samples(void **state)
{
    struct sample_record record = sample_record(1, 2);
    struct timer_sample sample;

    (void)state;
    record.header.size = sizeof record - 8;
    assert_int_equal(perf_sample_decode(&record.header, &sample), PERF_SAMPLE_MALFORMED);
    record.header.size = offsetof(struct sample_record, abi);
    assert_int_equal(perf_sample_decode(&record.header, &sample), PERF_SAMPLE_MALFORMED);
    assert_int_equal(perf_sample_pid(&record.header), 0);
    record.header.size = sizeof record;
    record.abi = 3;
    assert_int_equal(perf_sample_decode(&record.header, &sample), PERF_SAMPLE_MALFORMED);
    record.abi = PERF_SAMPLE_REGS_ABI_NONE; /* and registers all the same */
    assert_int_equal(perf_sample_decode(&record.header, &sample), PERF_SAMPLE_MALFORMED);
}

static void test_samples_of_nobody(void **state)
{
    struct sample_record exiting = sample_record(-1, 2), foreign_namespace = sample_record(0, 2);

    (void)state;
    assert_int_equal(perf_sample_pid(&exiting.header), 0);
    assert_int_equal(perf_sample_pid(&foreign_namespace.header), 0);
}

static void test_event_period(void **state)
{
    struct perf_event_attr attr;

    (void)state;
    perf_sample_attr(&attr, 250);
    assert_int_equal(attr.sample_period, 4000000);
    assert_true(attr.exclude_kernel && attr.exclude_hv && attr.exclude_idle);
    assert_int_equal(__builtin_popcountll(attr.sample_regs_user), TIMER_REG_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_wraps),
        cmocka_unit_test(test_positions_overflow),
        cmocka_unit_test(test_counts_other_records),
        cmocka_unit_test(test_skips_large_record),
        cmocka_unit_test(test_corrupt_record),
        cmocka_unit_test(test_head_cuts_header),
        cmocka_unit_test(test_head_more_than_a_ring_ahead),
        cmocka_unit_test(test_head_moves_meanwhile),
        cmocka_unit_test(test_decodes_sample),
        cmocka_unit_test(test_decodes_sample_without_registers),
        cmocka_unit_test(test_malformed_samples),
        cmocka_unit_test(test_samples_of_nobody),
        cmocka_unit_test(test_event_period),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
