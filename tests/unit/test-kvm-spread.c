/*
 * How vCPU time is spread over memory, and what attribute learns from it: nodes 0 (CPUs 0, 1) and 8
 * (CPUs 2, 3).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/ranges.h"
#include "attribute_rig.h"
#include "sample/kvm/kvm_spread.h"
#include "util/array.h"

#define BASE UINT64_C(0x10000000)
#define MAPS                                                                                       \
    "10000000-20000000 rw-p 00000000 00:00 0 \n" /* 256 MiB */                                     \
    "30000000-38000000 rw-p 00000000 00:00 0 \n" /* 128 MiB */
#define NUMA_MAPS "10000000 default\n30000000 default\n"
#define N_VCPUS 4

/* A guest whose vCPUs have 100 ticks a round each on CPUs of their own. */
struct guest {
    struct vmm_vcpu was[N_VCPUS], now[N_VCPUS];
    struct vmm_range ranges[2];
    struct kvm_spread spread;
    struct kvm_spread_round round;
    struct kvm_accesses accesses;
};

static void guest_init(struct guest *guest, const int cpus[N_VCPUS], const int nodes[2])
{
    *guest = (struct guest){
        .ranges = {{BASE, BASE + 256 * M, nodes[0]}, {0x30000000, 0x38000000, nodes[1]}},
        .spread = {.random = 1},
        .round = {.pid = SPACE_PID, .tick_sec = 0.01, .step_bytes = 2 * M, .n_max = 1024},
    };
    for (int i = 0; i < N_VCPUS; i++) {
        guest->was[i] = (struct vmm_vcpu){
            .thread = {.tid = SPACE_PID + i, .cpu_ticks = 1, .cpu = cpus[i], .index = i},
            .node = nodes[i / 2]};
        guest->now[i] = guest->was[i];
        guest->now[i].thread.cpu_ticks = 101;
    }
}

static void guest_run(struct guest *guest)
{
    const struct vmm was = {.vcpus = guest->was, .n_vcpus = N_VCPUS};
    const struct vmm now = {.vcpus = guest->now,
                            .n_vcpus = N_VCPUS,
                            .memory = {.ranges = guest->ranges, .n_ranges = 2}};

    guest->accesses.n = guest->accesses.n_ran = 0;
    assert_int_equal(kvm_spread(&guest->spread, &guest->round, &was, &now, &guest->accesses), 0);
}

static void guest_deinit(struct guest *guest)
{
    free(guest->accesses.items);
}

static const int all_memory[2] = {-1, -1}, own_memory[2] = {0, 1}, own_cpus[N_VCPUS] = {0, 1, 2, 3};

static void test_every_address_has_its_turn(void **state)
{
    static const size_t bounds[] = {192, 100, 64, 7, 1};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(bounds); i++) {
        unsigned n_seen[192] = {0};
        size_t n_rounds = (192 + bounds[i] - 1) / bounds[i];
        struct guest guest;

        guest_init(&guest, own_cpus, all_memory);
        guest.round.n_max = bounds[i];
        for (size_t j = 0; j < n_rounds; j++) {
            guest_run(&guest);
            assert_int_equal(guest.accesses.n, bounds[i]);
            for (size_t k = 0; k < guest.accesses.n; k++) {
                uint64_t addr = guest.accesses.items[k].addr;

                n_seen[addr < 0x30000000 ? (addr - BASE) / (2 * M)
                                         : 128 + (addr - 0x30000000) / (2 * M)]++;
            }
        }
        for (size_t j = 0; j < 192; j++)
            assert_in_range(n_seen[j], 1, 2); /* 2: the last round went on */
        guest_deinit(&guest);
    }
}

/* A few records are not all in one corner: no 48 MiB of 384 have more than their share and one. */
static void test_few_records_are_far_apart(void **state)
{
    struct guest guest;
    unsigned n[8] = {0};

    (void)state;
    guest_init(&guest, own_cpus, all_memory);
    guest.round.n_max = 16;
    guest_run(&guest);
    for (size_t i = 0; i < guest.accesses.n; i++) {
        uint64_t addr = guest.accesses.items[i].addr;

        n[(addr < 0x30000000 ? addr - BASE : 256 * M + addr - 0x30000000) / (48 * M)]++;
    }
    for (size_t i = 0; i < 8; i++)
        assert_in_range(n[i], 1, 3);
    guest_deinit(&guest);
}

static void test_weights_are_the_vcpus_time(void **state)
{
    struct guest guest;
    double sec[2] = {0};

    (void)state;
    guest_init(&guest, own_cpus, own_memory);
    guest.now[2].thread.cpu_ticks = 1;  /* sleeps */
    guest.now[3].thread.cpu_ticks = 26; /* a quarter of a second */
    guest_run(&guest);
    assert_int_equal(guest.accesses.n_ran, 3);
    for (size_t i = 0; i < guest.accesses.n; i++) {
        const struct access *access = &guest.accesses.items[i];

        sec[access->addr >= 0x30000000] += access->weight_sec;
        assert_int_not_equal(access->tid, SPACE_PID + 2);
    }
    assert_true(fabs(sec[0] - 2) < 1e-9);
    assert_true(fabs(sec[1] - 0.25) < 1e-9);
    guest_deinit(&guest);
}

/* 10 ms are 10 records, not one for each 2 MiB. */
static void test_little_time_gives_few_records(void **state)
{
    struct guest guest;

    (void)state;
    guest_init(&guest, own_cpus, all_memory);
    for (int i = 0; i < N_VCPUS; i++)
        guest.now[i].thread.cpu_ticks = i == 0 ? 2 : 1;
    guest_run(&guest);
    assert_int_equal(guest.accesses.n, 10);
    guest_deinit(&guest);
}

static void test_steps(void **state)
{
    static const struct {
        uint64_t gib, step;
    } cases[] = {{0, 2 * M}, {1, 2 * M}, {16, 2 * M}, {17, 4 * M}, {64, 8 * M}, {1024, 128 * M}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_int_equal(kvm_step_bytes(cases[i].gib * 1024 * M, 8192), cases[i].step);
}

static void attribute_rounds(struct attribute_rig *rig, struct guest *guest, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        guest->round.now = rig->now;
        guest_run(guest);
        assert_int_equal(
            attribute_push(rig->attribute, &rig->target, guest->accesses.items, guest->accesses.n),
            0);
        attribute_rig_dispatch(rig);
        attribute_rig_round(rig, 1);
    }
}

/* Of the ranges of [start, end), how many may be acted on for the node. */
static size_t n_confirmed(const struct attribute_rig *rig, uint64_t start, uint64_t end, int node)
{
    const struct space *space = attribute_rig_space(rig);
    struct range *range, *next;
    size_t n = 0;

    HASH_ITER (hh, space->ranges, range, next) {
        const struct range *evidence = space_find_evidence(space, range, 0.6);

        n += range->start >= start && range->start < end && evidence->claim.node == node &&
             evidence->claim.n_passes >= CLAIM_PASSES;
    }
    return n;
}

static void rig_init(struct attribute_rig *rig)
{
    attribute_rig_init(rig, MAPS, NUMA_MAPS);
    rig->target.process.rss_bytes = 384 * M;
}

static void test_memory_follows_vcpus_of_one_node(void **state)
{
    static const int cpus[N_VCPUS] = {2, 3, 2, 3};
    struct attribute_rig rig;
    struct guest guest;

    (void)state;
    rig_init(&rig);
    guest_init(&guest, cpus, all_memory);
    attribute_rounds(&rig, &guest, 4);
    assert_int_equal(n_confirmed(&rig, 0, UINT64_MAX, 8), 192);
    guest_deinit(&guest);
    attribute_rig_deinit(&rig);
}

/* Its records are samples of their own, not the addresses of one: a few of them show for all. */
static void test_few_records_of_one_vcpu_are_enough(void **state)
{
    static const int cpus[N_VCPUS] = {2, 2, 2, 2};
    struct attribute_rig rig;
    struct guest guest;

    (void)state;
    rig_init(&rig);
    guest_init(&guest, cpus, all_memory);
    guest.round.n_max = 96;
    for (int i = 1; i < N_VCPUS; i++)
        guest.now[i].thread.cpu_ticks = 1;
    attribute_rounds(&rig, &guest, 4);
    assert_int_equal(n_confirmed(&rig, 0, UINT64_MAX, 8), 192);
    guest_deinit(&guest);
    attribute_rig_deinit(&rig);
}

static void test_guest_nodes_follow_their_own_vcpus(void **state)
{
    struct attribute_rig rig;
    struct guest guest;

    (void)state;
    rig_init(&rig);
    guest_init(&guest, own_cpus, own_memory);
    attribute_rounds(&rig, &guest, 4);
    assert_int_equal(n_confirmed(&rig, BASE, BASE + 256 * M, 0), 128);
    assert_int_equal(n_confirmed(&rig, 0x30000000, 0x38000000, 8), 64);
    guest_deinit(&guest);
    attribute_rig_deinit(&rig);
}

/* What vCPUs of two nodes share stays shared: at no time may a range be acted on. */
static void test_shared_memory_stays(void **state)
{
    static const size_t bounds[] = {1024, 64};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(bounds); i++) {
        struct attribute_rig rig;
        struct guest guest;

        rig_init(&rig);
        guest_init(&guest, own_cpus, all_memory);
        guest.round.n_max = bounds[i];
        for (unsigned j = 0; j < 60; j++) {
            attribute_rounds(&rig, &guest, 1);
            assert_int_equal(n_confirmed(&rig, 0, UINT64_MAX, 0), 0);
            assert_int_equal(n_confirmed(&rig, 0, UINT64_MAX, 8), 0);
        }
        assert_true(HASH_COUNT(attribute_rig_space(&rig)->ranges) == 192);
        guest_deinit(&guest);
        attribute_rig_deinit(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_address_has_its_turn),
        cmocka_unit_test(test_few_records_are_far_apart),
        cmocka_unit_test(test_weights_are_the_vcpus_time),
        cmocka_unit_test(test_little_time_gives_few_records),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_memory_follows_vcpus_of_one_node),
        cmocka_unit_test(test_few_records_of_one_vcpu_are_enough),
        cmocka_unit_test(test_guest_nodes_follow_their_own_vcpus),
        cmocka_unit_test(test_shared_memory_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
