/* Several kinds of events at each place: groups, PMUs for the whole system only, hybrid CPUs. */
#include "scope_rig.h"

#include <string.h>

#include "sample/scope/scope_ring.h"
#include "util/array.h"

enum {
    AUX,
    LOADS,
    CYCLES,
};

/* As on Sapphire Rapids: an auxiliary event leads the loads; cycles are only counted. */
static void open_pmu(struct scope_rig *rig)
{
    scope_rig_init(rig);
    for (size_t i = AUX; i <= CYCLES; i++)
        rig->kinds[i].attr = (struct perf_event_attr){
            .type = PERF_TYPE_RAW,
            .size = sizeof(struct perf_event_attr),
            .config = 0x100 + i,
            .sample_type = PERF_SAMPLE_IDENTIFIER,
        };
    rig->kinds[AUX].leads = rig->kinds[AUX].no_sample = true;
    rig->kinds[LOADS].attr.freq = 1;
    rig->kinds[CYCLES].no_sample = true;
    rig->n_kinds = 3;
}

static struct fake_perf_event *find_kind(struct scope_rig *rig, size_t kind, int cpu)
{
    for (size_t i = 0; i < rig->perf.n_events; i++)
        if (rig->perf.events[i].open && rig->perf.events[i].cpu == cpu &&
            rig->perf.events[i].attr.config == 0x100 + kind)
            return &rig->perf.events[i];
    return NULL;
}

static void leader_is_followed_by_its_group(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_pmu(&rig);
    assert_int_equal(scope_rig_open(&rig), 0);
    scope_rig_target(&rig, 100, "/a", 50);
    scope_rig_target(&rig, 300, NULL, 1);
    assert_int_equal(scope_rig_round(&rig), 0);
    for (int cpu = -1; cpu < RIG_CPUS; cpu++) { /* -1: the thread */
        assert_int_equal(find_kind(&rig, AUX, cpu)->group_fd, -1);
        assert_int_equal(find_kind(&rig, LOADS, cpu)->group_fd, find_kind(&rig, AUX, cpu)->fd);
        assert_int_equal(find_kind(&rig, CYCLES, cpu)->group_fd, -1);
    }
    assert_int_equal(find_kind(&rig, LOADS, 1)->attr.sample_freq, RIG_RATE);
    assert_int_equal(find_kind(&rig, AUX, 1)->attr.sample_period, 0);
    scope_rig_deinit(&rig);
}

/* sampling_budget is for all samples of a CPU, whatever they are of. */
static void loads_and_stores_share_the_rate(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_pmu(&rig);
    rig.kinds[CYCLES].no_sample = false;
    rig.kinds[CYCLES].attr.freq = 1;
    assert_int_equal(scope_rig_open(&rig), 0);
    scope_rig_target(&rig, 100, "/a", 50);
    assert_int_equal(scope_rig_round(&rig), 0);
    assert_int_equal(find_kind(&rig, LOADS, 1)->attr.sample_freq, RIG_RATE / 2);
    assert_int_equal(find_kind(&rig, CYCLES, 1)->attr.sample_freq, RIG_RATE / 2);
    scope_rig_deinit(&rig);
}

/* The record tells its period then; and the kernel's own limit holds. */
static void frequency_stays_within_the_kernels_limit(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_pmu(&rig);
    fake_host_set_file(&rig.host, "proc/sys/kernel/perf_event_max_sample_rate", "100\n");
    assert_int_equal(scope_rig_open(&rig), 0);
    scope_rig_target(&rig, 100, "/a", 50);
    assert_int_equal(scope_rig_round(&rig), 0);
    assert_int_equal(find_kind(&rig, LOADS, 1)->attr.sample_freq, 100);
    fake_host_set_file(&rig.host, "proc/sys/kernel/perf_event_max_sample_rate", "50\n");
    assert_int_equal(scope_rig_round(&rig), 0);
    assert_int_equal(find_kind(&rig, LOADS, 1)->period, 50);
    scope_rig_sample(&rig, find_kind(&rig, LOADS, 1), 5);
    scope_rig_read(&rig);
    assert_int_equal(rig.n_seen, 1);
    assert_int_equal(rig.seen[0].event, LOADS);
    assert_int_equal(rig.seen[0].period, 0);
    assert_int_equal(perf_scope_counts(rig.scope)->n_interrupts, 1);
    scope_rig_deinit(&rig);
}

static void counts_are_those_of_the_place(void **state)
{
    struct sample_target *target, *thread, *stranger;
    struct scope_rig rig;
    uint64_t count;

    (void)state;
    open_pmu(&rig);
    assert_int_equal(scope_rig_open(&rig), 0);
    target = scope_rig_target(&rig, 100, "/a", 50);
    thread = scope_rig_target(&rig, 300, NULL, 1);
    stranger = scope_rig_target(&rig, 400, "/b", 50);
    scope_rig_drop_target(&rig, 400);
    assert_int_equal(scope_rig_round(&rig), 0);
    for (int cpu = -1; cpu < RIG_CPUS; cpu++) {
        find_kind(&rig, CYCLES, cpu)->value = cpu < 0 ? 7 : 1000;
        find_kind(&rig, CYCLES, cpu)->enabled_nsec = 8;
        find_kind(&rig, CYCLES, cpu)->running_nsec = cpu == 3 ? 4 : 8; /* half the time */
    }
    assert_int_equal(perf_scope_count(rig.scope, CYCLES, target, &count), 0);
    assert_int_equal(count, 5000);
    assert_int_equal(perf_scope_count(rig.scope, CYCLES, thread, &count), 0);
    assert_int_equal(count, 7);
    assert_int_equal(perf_scope_count(rig.scope, CYCLES, stranger, &count), PERF_SCOPE_UNCOUNTED);
    target->start_ticks++; /* another process by now */
    assert_int_equal(perf_scope_count(rig.scope, CYCLES, target, &count), PERF_SCOPE_UNCOUNTED);
    assert_int_equal(perf_scope_count(rig.scope, 3, thread, &count), PERF_SCOPE_UNCOUNTED);
    scope_rig_deinit(&rig);
}

/*
 * Named after the bug: each of a cgroup's targets read its events on all CPUs anew, which for the
 * 500 backends of a database on 256 CPUs was a quarter of a million calls a round.
 */
static void place_is_counted_once_a_round(void **state)
{
    struct sample_target *target, *other;
    struct scope_rig rig;
    uint64_t count;
    size_t n_reads;

    (void)state;
    open_pmu(&rig);
    assert_int_equal(scope_rig_open(&rig), 0);
    target = scope_rig_target(&rig, 100, "/a", 50);
    other = scope_rig_target(&rig, 200, "/a", 50);
    assert_int_equal(scope_rig_round(&rig), 0);
    n_reads = rig.perf.n_reads;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(perf_scope_count(rig.scope, CYCLES, target, &count), 0);
        assert_int_equal(perf_scope_count(rig.scope, CYCLES, other, &count), 0);
    }
    assert_int_equal(rig.perf.n_reads - n_reads, RIG_CPUS);
    find_kind(&rig, CYCLES, 0)->value = 70;
    assert_int_equal(scope_rig_round(&rig), 0);
    assert_int_equal(perf_scope_count(rig.scope, CYCLES, other, &count), 0);
    assert_int_equal(count, 70);
    scope_rig_deinit(&rig);
}

/* AMD IBS before Linux 6.2: wherever the target is, one event per CPU. */
static void system_only_pmu_is_opened_once_per_cpu(void **state)
{
    char text[128];
    struct scope_rig rig;

    (void)state;
    open_pmu(&rig);
    rig.kinds[0] = rig.kinds[LOADS];
    rig.kinds[0].system = true;
    rig.n_kinds = 1;
    assert_int_equal(scope_rig_open(&rig), 0);
    scope_rig_target(&rig, 100, "/a", 50)->rate_hz = 20;
    scope_rig_target(&rig, 200, "/b", 50)->rate_hz = 30;
    assert_int_equal(scope_rig_round(&rig), 0);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -2), RIG_CPUS);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, -1, -2), RIG_CPUS);
    assert_int_equal(find_kind(&rig, LOADS, 2)->attr.sample_freq, 30);
    assert_string_equal(scope_rig_describe(&rig, text), "4 events at 4 CPUs");
    scope_rig_drop_target(&rig, 100);
    scope_rig_drop_target(&rig, 200);
    assert_int_equal(scope_rig_round(&rig), 0);
    assert_int_equal(rig.perf.n_files, 0);
    scope_rig_deinit(&rig);
}

/* Alder Lake: CPUs 0 and 1 are of the one sort, 2 and 3 of the other. */
static void hybrid_kinds_stay_on_their_cpus(void **state)
{
    static const bool core[RIG_CPUS] = {true, true, false, false};
    static const bool none[RIG_CPUS] = {false};
    struct scope_rig rig;

    (void)state;
    open_pmu(&rig);
    rig.kinds[AUX].cpus = rig.kinds[LOADS].cpus = core;
    rig.kinds[CYCLES].cpus = none;
    assert_int_equal(scope_rig_open(&rig), 0);
    scope_rig_target(&rig, 100, "/a", 50);
    assert_int_equal(scope_rig_round(&rig), 0);
    assert_non_null(find_kind(&rig, LOADS, 1));
    assert_null(find_kind(&rig, LOADS, 2));
    assert_null(find_kind(&rig, CYCLES, 0));
    assert_int_equal(perf_scope_counts(rig.scope)->n_rings, 2);
    scope_rig_deinit(&rig);
}

/* Page faults: each one is a sample, whatever the rate. */
static void fixed_period_is_left_alone(void **state)
{
    struct sample_target *target;
    struct scope_rig rig;

    (void)state;
    open_pmu(&rig);
    rig.kinds[0] = (struct perf_scope_event){.attr = rig.kinds[CYCLES].attr, .fixed_period = true};
    rig.kinds[0].attr.sample_period = 1;
    rig.n_kinds = 1;
    assert_int_equal(scope_rig_open(&rig), 0);
    target = scope_rig_target(&rig, 100, "/a", 50);
    assert_int_equal(scope_rig_round(&rig), 0);
    target->rate_hz = 10;
    assert_int_equal(scope_rig_round(&rig), 0);
    assert_int_equal(find_kind(&rig, CYCLES, 0)->attr.sample_period, 1);
    assert_int_equal(rig.perf.n_periods, 0);
    scope_rig_sample(&rig, find_kind(&rig, CYCLES, 0), 5);
    scope_rig_read(&rig);
    assert_int_equal(rig.seen[0].period, 1);
    scope_rig_deinit(&rig);
}

#define KIB ((uint64_t)1024)
#define MLOCK (516 * KIB) /* the kernel's default */

static void rings_fit_their_rate_and_their_limits(void **state)
{
    static const struct {
        const char *name;
        struct scope_ring_budget budget;
        uint64_t bytes, thread_bytes;
    } cases[] = {
        {"250 Hz of 200 bytes", {4096, MLOCK, 4, 50000}, 64 * KIB, 16 * KIB},
        {"25 Hz", {4096, MLOCK, 4, 5000}, 8 * KIB, 4 * KIB},
        {"a high rate: a quarter of the grant", {4096, MLOCK, 4, 5000000}, 64 * KIB, 64 * KIB},
        {"a larger grant", {4096, 4 * 2052 * KIB, 4, 5000000}, 2048 * KIB, 2048 * KIB},
        {"32 MiB in all: 1024 CPUs", {4096, MLOCK, 1024, 50000}, 32 * KIB, 16 * KIB},
        {"8192 CPUs", {4096, MLOCK, 8192, 50000}, 4 * KIB, 4 * KIB},
        {"no grant at all", {4096, 0, 4, 50000}, 4 * KIB, 4 * KIB},
        {"pages of 64 KiB", {65536, MLOCK, 4, 50000}, 64 * KIB, 64 * KIB},
        {"no samples", {4096, MLOCK, 4, 0}, 4 * KIB, 4 * KIB},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        print_message("%s\n", cases[i].name);
        assert_int_equal(scope_ring_bytes(&cases[i].budget), cases[i].bytes);
        assert_int_equal(scope_ring_bytes_thread(&cases[i].budget), cases[i].thread_bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leader_is_followed_by_its_group),
        cmocka_unit_test(loads_and_stores_share_the_rate),
        cmocka_unit_test(frequency_stays_within_the_kernels_limit),
        cmocka_unit_test(counts_are_those_of_the_place),
        cmocka_unit_test(place_is_counted_once_a_round),
        cmocka_unit_test(system_only_pmu_is_opened_once_per_cpu),
        cmocka_unit_test(hybrid_kinds_stay_on_their_cpus),
        cmocka_unit_test(fixed_period_is_left_alone),
        cmocka_unit_test(rings_fit_their_rate_and_their_limits),
    };

    return cmocka_run_group_tests_name("perf scope kinds", tests, NULL, NULL);
}
