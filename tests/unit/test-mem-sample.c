/*
 * The decoder of memory samples: DATA_SRC in all its forms, what is dropped, what cannot be.
 */
#include "mem-record.h"

#include <stdlib.h>

#include "mutate.h"
#include "util/array.h"

#define LVL(x) PERF_MEM_S(LVL, x)
#define HIT PERF_MEM_S(LVL, HIT)
#define MISS PERF_MEM_S(LVL, MISS)
#define NUM(x) PERF_MEM_S(LVLNUM, x)
#define REM PERF_MEM_S(REMOTE, REMOTE)
#define HOPS(x) ((uint64_t)PERF_MEM_HOPS_##x << PERF_MEM_HOPS_SHIFT)
#define RAW_NUM(x) ((uint64_t)(x) << PERF_MEM_LVLNUM_SHIFT)

#define UNKNOWN ACCESS_LOCALITY_UNKNOWN
#define CACHE ACCESS_LOCALITY_CACHE
#define LOCAL ACCESS_LOCALITY_LOCAL
#define REMOTE ACCESS_LOCALITY_REMOTE

/* The values that kernels give: pebs_data_source[], its variants, perf_ibs_get_mem_lvl(). */
static const struct {
    const char *name;
    uint64_t data_src;
    enum access_locality locality;
} localities[] = {
    {"nothing told", 0, UNKNOWN},
    {"PERF_MEM_NA", PERF_MEM_S(OP, NA) | LVL(NA) | NUM(NA), UNKNOWN},
    {"old: L1", LVL(L1) | HIT, CACHE},
    {"old: L2", LVL(L2) | HIT, CACHE},
    {"old: L3", LVL(L3) | HIT, CACHE},
    {"old: fill buffer", LVL(LFB) | HIT, UNKNOWN},
    {"old: local DRAM", LVL(LOC_RAM) | HIT, LOCAL},
    {"old: remote DRAM, 1 hop", LVL(REM_RAM1) | HIT, REMOTE},
    {"old: remote DRAM, 2 hops", LVL(REM_RAM2) | HIT, REMOTE},
    {"old: remote cache, 1 hop", LVL(REM_CCE1) | HIT, CACHE},
    {"old: remote cache, 2 hops", LVL(REM_CCE2) | HIT, CACHE},
    {"old: I/O", LVL(IO) | HIT, UNKNOWN},
    {"old: uncached", LVL(UNC) | HIT, UNKNOWN},
    {"old: not available", LVL(NA), UNKNOWN},
    {"store missed L1", PERF_MEM_S(OP, STORE) | LVL(L1) | MISS, UNKNOWN},
    {"store hit L1", PERF_MEM_S(OP, STORE) | LVL(L1) | HIT, CACHE},
    {"Intel 0x00: missed L3, unknown", MISS | NUM(L3), UNKNOWN},
    {"Intel 0x01: L1", HIT | LVL(L1) | NUM(L1), CACHE},
    {"Intel 0x02: fill buffer", HIT | LVL(LFB) | NUM(LFB), UNKNOWN},
    {"Intel 0x07: L3, modified elsewhere", HIT | LVL(L3) | NUM(L3) | PERF_MEM_S(SNOOP, HITM),
     CACHE},
    {"Intel 0x08: remote cache", HIT | LVL(REM_CCE1) | REM | NUM(L3), CACHE},
    {"Intel 0x0a: local DRAM", HIT | LVL(LOC_RAM) | NUM(RAM), LOCAL},
    {"Intel 0x0b: remote DRAM, level says L3", HIT | LVL(REM_RAM1) | REM | NUM(L3), REMOTE},
    {"Intel 0x0d: remote DRAM", HIT | LVL(REM_RAM1) | REM | NUM(RAM), REMOTE},
    {"Intel 0x0e: I/O", HIT | LVL(IO) | NUM(NA), UNKNOWN},
    {"Skylake 0x08: L4", HIT | NUM(L4), CACHE},
    {"Skylake 0x08: persistent memory", HIT | NUM(PMEM), UNKNOWN},
    {"Skylake 0x09: remote persistent memory", HIT | NUM(PMEM) | REM, REMOTE},
    {"Skylake 0x0b: remote DRAM, new form only", HIT | NUM(RAM) | REM, REMOTE},
    {"Skylake 0x0c: remote cache", HIT | NUM(ANY_CACHE) | REM, CACHE},
    {"new: local DRAM, new form only", HIT | NUM(RAM), LOCAL},
    {"new: memory-side cache", HIT | RAW_NUM(6), LOCAL},
    {"new: remote memory-side cache", HIT | RAW_NUM(6) | REM, REMOTE},
    {"new: L2 miss buffer", HIT | RAW_NUM(5), UNKNOWN},
    {"new: L0", HIT | RAW_NUM(7), CACHE},
    {"new: uncached", HIT | RAW_NUM(8), UNKNOWN},
    {"IBS: local cache", HIT | LVL(L3) | LVL(REM_CCE1) | NUM(ANY_CACHE) | HOPS(0), CACHE},
    {"IBS: near cache", HIT | LVL(REM_CCE1) | NUM(ANY_CACHE) | REM | HOPS(0), CACHE},
    {"IBS: far cache", HIT | LVL(REM_CCE2) | NUM(ANY_CACHE) | REM | HOPS(1), CACHE},
    {"IBS: local DRAM", HIT | LVL(LOC_RAM) | NUM(RAM), LOCAL},
    {"IBS: remote DRAM", HIT | LVL(REM_RAM1) | NUM(RAM) | REM | HOPS(1), REMOTE},
    {"IBS before 6.1: remote DRAM", HIT | LVL(REM_RAM1), REMOTE},
    {"IBS: CXL", NUM(CXL), UNKNOWN},
    {"IBS: remote CXL", NUM(CXL) | REM | HOPS(1), REMOTE},
    {"IBS: no data source", LVL(NA) | NUM(NA), UNKNOWN},
    {"POWER: same node, other core", NUM(RAM) | REM | HOPS(0), LOCAL},
    {"POWER: other node, same socket", NUM(RAM) | REM | HOPS(1), REMOTE},
    {"POWER: other socket", NUM(RAM) | REM | HOPS(2), REMOTE},
    {"POWER: other board", NUM(RAM) | REM | HOPS(3), REMOTE},
};

static void test_localities(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(localities); i++) {
        print_message("%s\n", localities[i].name);
        assert_int_equal(mem_locality(localities[i].data_src), localities[i].locality);
    }
}

static void test_operations(void **state)
{
    (void)state;
    assert_int_equal(mem_op(PERF_MEM_S(OP, LOAD)), MEM_OP_LOAD);
    assert_int_equal(mem_op(PERF_MEM_S(OP, PFETCH)), MEM_OP_LOAD);
    assert_int_equal(mem_op(PERF_MEM_S(OP, STORE)), MEM_OP_STORE);
    assert_int_equal(mem_op(PERF_MEM_S(OP, LOAD) | PERF_MEM_S(OP, STORE)), MEM_OP_LOAD_STORE);
    assert_int_equal(mem_op(PERF_MEM_S(OP, EXEC)), MEM_OP_NONE);
    assert_int_equal(mem_op(PERF_MEM_S(OP, NA)), MEM_OP_UNKNOWN);
    assert_int_equal(mem_op(0), MEM_OP_UNKNOWN);
}

static void test_decodes(void **state)
{
    struct mem_record_bytes record = mem_record(4711, 0x7f0000001238);
    struct mem_sample sample;

    (void)state;
    record.weight = UINT64_C(0x0007000500000123); /* var3, var2, latency */
    record.data_src = PERF_MEM_S(OP, STORE) | HIT | LVL(LOC_RAM);
    assert_int_equal(mem_sample_pid(&record.header), 4711);
    assert_int_equal(mem_sample_decode(MEM_LAYOUT_FULL, &record.header, &sample), 0);
    assert_int_equal(sample.when_nsec, 1000000);
    assert_int_equal(sample.pid, 4711);
    assert_int_equal(sample.tid, 4712);
    assert_int_equal(sample.cpu, 1);
    assert_true(sample.addr == 0x7f0000001238);
    assert_int_equal(sample.period, 1000);
    assert_int_equal(sample.latency, 0x123);
    assert_int_equal(sample.phys, 0x12345000);
    assert_int_equal(sample.op, MEM_OP_STORE);
    assert_int_equal(sample.locality, LOCAL);
}

/* The record's size and its sample_type say the same of each layout. */
static void test_layouts(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const struct mem_layout layout = {.weight_struct = i & 1, .phys = i & 2};
        const uint64_t type = mem_sample_type(layout);
        struct mem_record_bytes record = mem_record(4711, 0x1000);
        struct mem_sample sample;

        record.weight = UINT64_C(0x100000123);
        record.header.size = (uint16_t)mem_sample_bytes(layout);
        /* the header, a word a bit */
        assert_int_equal(mem_sample_bytes(layout), 8 + 8 * __builtin_popcountll(type));
        assert_int_equal(!!(type & PERF_SAMPLE_PHYS_ADDR), layout.phys);
        assert_int_equal(mem_sample_decode(layout, &record.header, &sample), 0);
        assert_int_equal(sample.phys, layout.phys ? 0x12345000 : 0);
        assert_true(sample.latency == (layout.weight_struct ? 0x123 : UINT64_C(0x100000123)));
    }
}

static const struct {
    const char *name;
    uint16_t misc;
    uint64_t ip, addr;
    int r;
} drops[] = {
    {"user", PERF_RECORD_MISC_USER, 0x401000, 0x1000, 0},
    {"user, IP exact", PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP, 0x401000, 0x1000, 0},
    {"mode unknown", PERF_RECORD_MISC_CPUMODE_UNKNOWN, 0x401000, 0x1000, 0},
    {"highest user address", PERF_RECORD_MISC_USER, 1, INT64_MAX, 0},
    {"kernel mode", PERF_RECORD_MISC_KERNEL, 0x401000, 0x1000, MEM_SAMPLE_NOT_USER},
    {"hypervisor", PERF_RECORD_MISC_HYPERVISOR, 0x401000, 0x1000, MEM_SAMPLE_NOT_USER},
    {"guest kernel", PERF_RECORD_MISC_GUEST_KERNEL, 0x401000, 0x1000, MEM_SAMPLE_NOT_USER},
    {"guest user", PERF_RECORD_MISC_GUEST_USER, 0x401000, 0x1000, MEM_SAMPLE_NOT_USER},
    {"kernel IP", PERF_RECORD_MISC_USER, 0xffffffff81000000, 0x1000, MEM_SAMPLE_NOT_USER},
    {"kernel address", PERF_RECORD_MISC_USER, 0x401000, 0xffff888000000000, MEM_SAMPLE_NOT_USER},
    {"no address", PERF_RECORD_MISC_USER, 0x401000, 0, MEM_SAMPLE_NOT_USER},
};

static void test_drops(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(drops); i++) {
        struct mem_record_bytes record = mem_record(4711, drops[i].addr);
        struct mem_sample sample;

        print_message("%s\n", drops[i].name);
        record.header.misc = drops[i].misc;
        record.ip = drops[i].ip;
        assert_int_equal(mem_sample_decode(MEM_LAYOUT_FULL, &record.header, &sample), drops[i].r);
    }
}

static void test_malformed(void **state)
{
    struct mem_record_bytes record = mem_record(4711, 0x1000);
    const struct mem_layout without_phys = {.weight_struct = true};
    struct mem_sample sample;

    (void)state;
    assert_int_equal(mem_sample_decode(without_phys, &record.header, &sample),
                     MEM_SAMPLE_MALFORMED);
    record.header.size = sizeof record - 8;
    assert_int_equal(mem_sample_decode(MEM_LAYOUT_FULL, &record.header, &sample),
                     MEM_SAMPLE_MALFORMED);
    assert_int_equal(mem_sample_pid(&record.header), 4711);
    record.header.size = sizeof record - 16;
    assert_int_equal(mem_sample_pid(&record.header), 0);
    record.header.size = sizeof record.header;
    assert_int_equal(mem_sample_pid(&record.header), 0);
}

static void test_samples_of_nobody(void **state)
{
    struct mem_record_bytes exiting = mem_record(-1, 1), foreign_namespace = mem_record(0, 1);

    (void)state;
    assert_int_equal(mem_sample_pid(&exiting.header), 0);
    assert_int_equal(mem_sample_pid(&foreign_namespace.header), 0);
}

/* Whatever the bytes, in memory of exactly the size that the record claims: what is taken is
   user's. */
static void test_random_bytes(void **state)
{
    struct mutate *mutate = *state;

    for (unsigned i = 0; i < 20000; i++) {
        const struct mem_layout layout = {mutate_below(mutate, 2), mutate_below(mutate, 2)};
        size_t size =
            mutate_below(mutate, 4) ? mem_sample_bytes(layout) : 8 + 8 * mutate_below(mutate, 16);
        struct perf_event_header *header = malloc(size);
        struct mem_sample sample;

        for (size_t at = 0; at < size; at++)
            ((uint8_t *)header)[at] = (uint8_t)mutate_below(mutate, 256);
        header->size = (uint16_t)size;
        assert_true(mem_sample_pid(header) >= 0);
        if (mem_sample_decode(layout, header, &sample) == 0) {
            assert_int_equal(size, mem_sample_bytes(layout));
            assert_in_range(sample.addr, 1, INT64_MAX);
            assert_in_range(sample.locality, UNKNOWN, REMOTE);
            assert_in_range(sample.op, MEM_OP_UNKNOWN, MEM_OP_LOAD_STORE);
        }
        free(header);
    }
}

int main(int argc, char **argv)
{
    struct mutate mutate = mutate_init(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_localities),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_decodes),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_drops),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_samples_of_nobody),
        cmocka_unit_test_prestate(test_random_bytes, &mutate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
