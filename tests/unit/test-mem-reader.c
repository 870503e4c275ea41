/*
 * From rings written byte by byte to accesses.
 */
#include "mem-record.h"

#include <stdlib.h>

#include "fake_host.h"
#include "mutate.h"
#include "sample/mem/mem_reader.h"
#include "util/array.h"
#include "util/nsec.h"

#define RING_BYTES 4096
#define TARGET 4711

static const struct mem_event events[] = {
    {.role = MEM_ROLE_LOADS, .cycle_sec = 1e-9, .n_sharing = 2},
    {.role = MEM_ROLE_STORES, .cycle_sec = 1e-9, .n_sharing = 2},
    {.role = MEM_ROLE_OPS, .cycle_sec = 1e-9, .n_sharing = 1},
};

/* CPU 0 and 1 on node 0, CPU 2 on node 1, CPU 3 offline. */
static struct node nodes[] = {{.online = true, .has_memory = true},
                              {.online = true, .has_memory = true}};
static int cpu_node[] = {0, 0, 1, -1};
static const struct topology topology = {
    .n_node_ids = 2, .n_cpu_ids = 4, .nodes = nodes, .cpu_node = cpu_node};

struct fixture {
    uint8_t data[RING_BYTES];
    struct ring_memory memory;
    struct ring ring;
    struct ring_counts ring_counts;
    struct fake_host fake;
    struct mem_reader reader;
    size_t event; /* that the ring's records belong to */
    struct access accesses[512];
    size_t n_accesses, n_pushes;
};

static bool wants(void *userdata, pid_t pid)
{
    (void)userdata;
    return pid == TARGET;
}

static void push(void *userdata, const struct access *accesses, size_t n)
{
    struct fixture *fixture = userdata;

    fixture->n_pushes++;
    for (size_t i = 0; i < n && fixture->n_accesses < ARRAY_LENGTH(fixture->accesses); i++)
        fixture->accesses[fixture->n_accesses++] = accesses[i];
}

static void give_blocks(struct fixture *fixture)
{
    fake_host_set_file(&fixture->fake, "sys/devices/system/memory/block_size_bytes", "8000000\n");
    fake_host_set_file(&fixture->fake, "sys/devices/system/node/node0/memory0/state", "online\n");
    fake_host_set_file(&fixture->fake, "sys/devices/system/node/node1/memory32/state", "online\n");
    assert_int_equal(mem_phys_new(&fixture->reader.phys, &fixture->fake.host, &topology), 0);
}

static void start_at(struct fixture *fixture, uint64_t at)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->memory =
        (struct ring_memory){.data = fixture->data, .size = RING_BYTES, .head = at, .tail = at};
    fixture->ring = ring_memory_ring(&fixture->memory);
    fake_host_init(&fixture->fake);
    fixture->reader = (struct mem_reader){
        .layout = MEM_LAYOUT_FULL,
        .events = events,
        .n_events = ARRAY_LENGTH(events),
        .filter = {wants, NULL},
        .sink = {push, fixture},
        .topology = &topology,
    };
    give_blocks(fixture);
    assert_int_equal(
        mem_weights_new(&fixture->reader.weights, ARRAY_LENGTH(events), 4, 4 * NSEC_PER_MSEC), 0);
    assert_int_equal(mem_bound_new(&fixture->reader.bound), 0);
}

static void start(struct fixture *fixture)
{
    start_at(fixture, 0);
}

static void stop(struct fixture *fixture)
{
    mem_phys_free(fixture->reader.phys);
    mem_weights_free(fixture->reader.weights);
    mem_bound_free(fixture->reader.bound);
    fake_host_deinit(&fixture->fake);
}

static void put(struct fixture *fixture, const struct mem_record_bytes *record)
{
    ring_memory_write(&fixture->memory, record, sizeof *record);
}

static void on_sample(void *userdata, const struct perf_event_header *record)
{
    struct fixture *fixture = userdata;

    mem_reader_take(&fixture->reader, fixture->event, record);
}

static void drain(struct fixture *fixture)
{
    ring_read(&fixture->ring, &fixture->ring_counts, on_sample, fixture);
    mem_reader_flush(&fixture->reader);
}

static void test_one_load(void **state)
{
    struct mem_record_bytes record = mem_record(TARGET, 0x7f0000001238);
    struct fixture fixture;
    const struct access *access = fixture.accesses;

    (void)state;
    start(&fixture);
    record.data_src |= PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVL, REM_RAM1);
    put(&fixture, &record);
    drain(&fixture);
    assert_int_equal(fixture.n_accesses, 1);
    assert_int_equal(access->when_nsec, 1000000);
    assert_int_equal(access->pid, TARGET);
    assert_int_equal(access->tid, TARGET + 1);
    assert_int_equal(access->cpu, 1);
    assert_true(access->addr == 0x7f0000001238);
    assert_float_equal(access->weight_sec, 200e-6, 1e-12);
    assert_int_equal(access->kind, ACCESS_READ);
    assert_int_equal(access->source, ACCESS_SOURCE_MEM_EVENTS);
    assert_int_equal(access->locality, ACCESS_LOCALITY_REMOTE);
    stop(&fixture);
}

static const struct {
    const char *name;
    size_t event;
    uint64_t op;
    int kind; /* -1: no access */
} kinds[] = {
    {"a load", 0, PERF_MEM_S(OP, LOAD), ACCESS_READ},
    {"a prefetch", 0, PERF_MEM_S(OP, PFETCH), ACCESS_READ},
    {"loads event, operation not told", 0, PERF_MEM_S(OP, NA), ACCESS_READ},
    {"a store", 1, PERF_MEM_S(OP, STORE), ACCESS_WRITE},
    {"stores event, operation not told", 1, 0, ACCESS_WRITE},
    {"both", 0, PERF_MEM_S(OP, LOAD) | PERF_MEM_S(OP, STORE), ACCESS_READ_WRITE},
    {"a code fetch", 0, PERF_MEM_S(OP, EXEC), -1},
    {"IBS load", 2, PERF_MEM_S(OP, LOAD), ACCESS_READ},
    {"IBS store", 2, PERF_MEM_S(OP, STORE), ACCESS_WRITE},
    {"IBS, no memory operation", 2, PERF_MEM_S(OP, NA), -1},
    {"an event that was not opened", 3, PERF_MEM_S(OP, LOAD), -1},
};

static void test_kinds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        struct mem_record_bytes record = mem_record(TARGET, 0x1000);
        struct fixture fixture;

        print_message("%s\n", kinds[i].name);
        start(&fixture);
        fixture.event = kinds[i].event;
        record.data_src = kinds[i].op;
        put(&fixture, &record);
        drain(&fixture);
        assert_int_equal(fixture.n_accesses, kinds[i].kind >= 0);
        assert_int_equal(fixture.reader.counts.n_unresolved, kinds[i].kind < 0);
        if (kinds[i].kind >= 0)
            assert_int_equal(fixture.accesses[0].kind, kinds[i].kind);
        stop(&fixture);
    }
}

#define NODE0 UINT64_C(0x1000)
#define NODE1 (32 * UINT64_C(0x8000000))

static const struct {
    const char *name;
    uint64_t data_src;
    int cpu;
    uint64_t phys;
    enum access_locality locality;
} localities[] = {
    {"page on the CPU's node", 0, 1, NODE0, ACCESS_LOCALITY_LOCAL},
    {"page on the other node", 0, 1, NODE1, ACCESS_LOCALITY_REMOTE},
    {"CPU of the other node", 0, 2, NODE1, ACCESS_LOCALITY_LOCAL},
    {"no physical address", 0, 1, 0, ACCESS_LOCALITY_UNKNOWN},
    {"no RAM there", 0, 1, 2 * NODE1, ACCESS_LOCALITY_UNKNOWN},
    {"CPU offline by now", 0, 3, NODE0, ACCESS_LOCALITY_UNKNOWN},
    {"CPU unknown", 0, 4, NODE0, ACCESS_LOCALITY_UNKNOWN},
    {"a line being fetched", PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVL, LFB), 1, NODE1,
     ACCESS_LOCALITY_REMOTE},
    {"DATA_SRC is believed before the page", PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVL, LOC_RAM), 1,
     NODE1, ACCESS_LOCALITY_LOCAL},
    {"a cache stays a cache", PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVL, L3), 1, NODE1,
     ACCESS_LOCALITY_CACHE},
};

static void test_localities(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(localities); i++) {
        struct mem_record_bytes record = mem_record(TARGET, 0x1000);
        struct fixture fixture;

        print_message("%s\n", localities[i].name);
        start(&fixture);
        record.data_src |= localities[i].data_src;
        record.cpu = (uint32_t)localities[i].cpu;
        record.phys = localities[i].phys;
        put(&fixture, &record);
        drain(&fixture);
        assert_int_equal(fixture.n_accesses, 1);
        assert_int_equal(fixture.accesses[0].locality, localities[i].locality);
        stop(&fixture);
    }
}

/* Foreign samples are dropped before anything of them is decoded: here that would be malformed. */
static void test_foreign(void **state)
{
    struct mem_record_bytes foreign = mem_record(TARGET + 1, 0x1000);
    struct mem_record_bytes exiting = mem_record(-1, 0x1000);
    struct fixture fixture;

    (void)state;
    start(&fixture);
    foreign.header.size = sizeof foreign - 8;
    ring_memory_write(&fixture.memory, &foreign, sizeof foreign - 8);
    put(&fixture, &exiting);
    drain(&fixture);
    assert_int_equal(fixture.n_accesses, 0);
    assert_int_equal(fixture.reader.counts.n_samples, 2);
    assert_int_equal(fixture.reader.counts.n_foreign, 2);
    assert_int_equal(fixture.reader.counts.n_unresolved, 0);
    stop(&fixture);
}

/* Every start offset, so that a record is cut at each of its words. */
static void test_wraps(void **state)
{
    (void)state;
    for (uint64_t at = 0; at < RING_BYTES; at += 8) {
        struct fixture fixture;

        start_at(&fixture, at);
        for (unsigned i = 0; i < RING_BYTES / sizeof(struct mem_record_bytes); i++) {
            struct mem_record_bytes record = mem_record(TARGET, 0x100000 + i);

            put(&fixture, &record);
        }
        drain(&fixture);
        assert_int_equal(fixture.n_accesses, RING_BYTES / sizeof(struct mem_record_bytes));
        for (unsigned i = 0; i < fixture.n_accesses; i++)
            assert_int_equal(fixture.accesses[i].addr, 0x100000 + i);
        stop(&fixture);
    }
}

/* What else the kernel writes to a ring of such events, between samples. */
static void test_other_records(void **state)
{
    struct {
        struct perf_event_header header;
        uint64_t id, lost, identifier;
    } lost = {{.type = PERF_RECORD_LOST, .size = sizeof lost}, 77, 41, 77};
    struct {
        struct perf_event_header header;
        uint64_t time, id, stream, identifier;
    } throttle = {{.type = PERF_RECORD_THROTTLE, .size = sizeof throttle}, 1, 77, 77, 77};
    struct {
        struct perf_event_header header;
        uint64_t word;
    } unknown = {{.type = 4711, .size = sizeof unknown}, 0};
    const struct mem_record_bytes record = mem_record(TARGET, 0x1000);
    struct mem_record_bytes kernel = mem_record(TARGET, 0xffff888000000000);
    struct mem_record_bytes cut = mem_record(TARGET, 0x1000);
    struct fixture fixture;

    (void)state;
    start_at(&fixture, RING_BYTES - 8);
    cut.header.size = sizeof cut - 8;
    put(&fixture, &record);
    ring_memory_write(&fixture.memory, &lost, sizeof lost);
    ring_memory_write(&fixture.memory, &throttle, sizeof throttle);
    ring_memory_write(&fixture.memory, &unknown, sizeof unknown);
    put(&fixture, &kernel);
    ring_memory_write(&fixture.memory, &cut, sizeof cut - 8);
    put(&fixture, &record);
    drain(&fixture);
    assert_int_equal(fixture.n_accesses, 2);
    assert_int_equal(fixture.reader.counts.n_samples, 4);
    assert_int_equal(fixture.reader.counts.n_unresolved, 2);
    assert_int_equal(fixture.reader.counts.n_accesses, 2);
    assert_int_equal(fixture.ring_counts.n_lost, 41);
    assert_int_equal(fixture.ring_counts.n_throttled, 1);
    assert_int_equal(fixture.ring_counts.n_unknown, 1);
    assert_int_equal(fixture.ring_counts.n_corrupt, 0);
    stop(&fixture);
}

/* The sink is called once for a batch, with nothing lost and nothing twice. */
static void test_batches(void **state)
{
    const unsigned n = 2 * MEM_READER_BATCH + 1;
    struct fixture fixture;

    (void)state;
    start(&fixture);
    mem_reader_flush(&fixture.reader);
    assert_int_equal(fixture.n_pushes, 0);
    for (unsigned i = 0; i < n; i++) {
        struct mem_record_bytes record = mem_record(TARGET, 0x100000 + i);

        mem_reader_take(&fixture.reader, 0, &record.header);
    }
    mem_reader_flush(&fixture.reader);
    assert_int_equal(fixture.n_accesses, n);
    assert_int_equal(fixture.n_pushes, 3);
    assert_int_equal(fixture.reader.counts.n_accesses, n);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(fixture.accesses[i].addr, 0x100000 + i);
    stop(&fixture);
}

/* The latencies reach the memory-bound share: half of them from caches. */
static void test_feeds_memory_bound(void **state)
{
    const struct sample_target target = {.pid = TARGET, .start_ticks = 1};
    struct fixture fixture;
    struct cpu_use use;

    (void)state;
    start(&fixture);
    mem_bound_take(fixture.reader.bound, &target, 0, 0, &use);
    for (unsigned i = 0; i < 32; i++) {
        struct mem_record_bytes record = mem_record(TARGET, 0x1000);

        record.data_src |=
            PERF_MEM_S(LVL, HIT) | (i % 2 ? PERF_MEM_S(LVL, L3) : PERF_MEM_S(LVL, LOC_RAM));
        put(&fixture, &record);
    }
    drain(&fixture);
    assert_int_equal(mem_bound_take(fixture.reader.bound, &target, 2000000, 1000000, &use), 0);
    assert_float_equal(use.memory_bound, 0.375, 1e-9);
    stop(&fixture);
}

/* Rings of nonsense: what arrives is an access of the target to user memory, for a time that can
   be. */
static void test_random_rings(void **state)
{
    struct mutate *mutate = *state;
    size_t n_accesses = 0;

    for (unsigned run = 0; run < 500; run++) {
        struct fixture fixture;

        start_at(&fixture, 8 * mutate_below(mutate, RING_BYTES));
        fixture.event = mutate_below(mutate, 4);
        for (unsigned i = 0; i < 40; i++) {
            struct mem_record_bytes record = mem_record(TARGET, 0x1000 + i);
            const size_t first = mutate_below(mutate, 4) ? 8 : 0, n = mutate_below(mutate, 12);

            for (size_t j = 0; j < n; j++)
                ((uint8_t *)&record)[first + mutate_below(mutate, sizeof record - first)] =
                    (uint8_t)mutate_below(mutate, 256);
            put(&fixture, &record);
        }
        drain(&fixture);
        for (size_t i = 0; i < fixture.n_accesses; i++) {
            assert_int_equal(fixture.accesses[i].pid, TARGET);
            assert_in_range(fixture.accesses[i].addr, 1, INT64_MAX);
            assert_true(fixture.accesses[i].weight_sec >= 0 && fixture.accesses[i].weight_sec <= 1);
        }
        assert_int_equal(fixture.memory.head, fixture.memory.tail);
        n_accesses += fixture.n_accesses;
        stop(&fixture);
    }
    print_message("%zu accesses\n", n_accesses);
    assert_true(n_accesses > 1000);
}

int main(int argc, char **argv)
{
    struct mutate mutate = mutate_init(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_load),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_localities),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_wraps),
        cmocka_unit_test(test_other_records),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_feeds_memory_bound),
        cmocka_unit_test_prestate(test_random_rings, &mutate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
