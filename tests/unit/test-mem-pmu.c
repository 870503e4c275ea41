/*
 * Finding and encoding, on sysfs trees written after the kernel's own attributes
 * (arch/x86/events/intel/core.c, arch/x86/events/amd/ibs.c). No such hardware was at hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "sample/mem/mem_clock.h"
#include "sample/mem/mem_pmu.h"
#include "tree.h"
#include "util/array.h"

#define DEVICES "sys/bus/event_source/devices/"
#define N_CPU_IDS 24

static const struct tree_file skylake[] = {
    {DEVICES "cpu/type", "4\n"},
    {DEVICES "cpu/caps/max_precise", "3\n"},
    {DEVICES "cpu/format/event", "config:0-7\n"},
    {DEVICES "cpu/format/umask", "config:8-15\n"},
    {DEVICES "cpu/format/ldlat", "config1:0-15\n"},
    {DEVICES "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n"},
    {DEVICES "cpu/events/mem-stores", "event=0xd0,umask=0x82\n"},
    {"sys/devices/system/cpu/cpu0/cpufreq/base_frequency", "2500000\n"},
};

static const struct tree_file sapphire_rapids[] = {
    {DEVICES "cpu/type", "4\n"},
    {DEVICES "cpu/caps/max_precise", "3\n"},
    {DEVICES "cpu/format/event", "config:0-7\n"},
    {DEVICES "cpu/format/umask", "config:8-15,40-47\n"},
    {DEVICES "cpu/format/ldlat", "config1:0-15\n"},
    {DEVICES "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n"},
    {DEVICES "cpu/events/mem-loads-aux", "event=0x03,umask=0x82\n"},
    {DEVICES "cpu/events/mem-stores", "event=0xcd,umask=0x2\n"},
};

static const struct tree_file alder_lake[] = {
    {DEVICES "cpu_core/type", "4\n"},
    {DEVICES "cpu_core/cpus", "0-15\n"},
    {DEVICES "cpu_core/caps/max_precise", "3\n"},
    {DEVICES "cpu_core/format/event", "config:0-7\n"},
    {DEVICES "cpu_core/format/umask", "config:8-15\n"},
    {DEVICES "cpu_core/format/ldlat", "config1:0-15\n"},
    {DEVICES "cpu_core/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n"},
    {DEVICES "cpu_core/events/mem-loads-aux", "event=0x03,umask=0x82\n"},
    {DEVICES "cpu_core/events/mem-stores", "event=0xcd,umask=0x2\n"},
    {DEVICES "cpu_atom/type", "10\n"},
    {DEVICES "cpu_atom/cpus", "16-23\n"},
    {DEVICES "cpu_atom/caps/max_precise", "3\n"},
    {DEVICES "cpu_atom/format/event", "config:0-7\n"},
    {DEVICES "cpu_atom/format/umask", "config:8-15\n"},
    {DEVICES "cpu_atom/format/ldlat", "config1:0-15\n"},
    {DEVICES "cpu_atom/events/mem-loads", "event=0xd0,umask=0x5,ldlat=3\n"},
    {DEVICES "cpu_atom/events/mem-stores", "event=0xd0,umask=0x6\n"},
    {"sys/devices/system/cpu/cpu0/cpufreq/base_frequency", "3200000\n"},
    {"sys/devices/system/cpu/cpu16/cpufreq/base_frequency", "2400000\n"},
};

static const struct tree_file zen4[] = {
    {DEVICES "cpu/type", "4\n"},
    {DEVICES "cpu/caps/max_precise", "0\n"},
    {DEVICES "cpu/format/event", "config:0-7,32-35\n"},
    {DEVICES "cpu/format/umask", "config:8-15\n"},
    {DEVICES "ibs_op/type", "11\n"},
    {DEVICES "ibs_op/format/cnt_ctl", "config:19\n"},
    {DEVICES "ibs_op/format/l3missonly", "config:16\n"},
    {DEVICES "ibs_op/caps/zen4_ibs_extensions", "1\n"},
};

static const struct tree_file zen4_swfilt[] = {
    {DEVICES "ibs_op/format/swfilt", "config2:0\n"},
};

static const struct tree_file spe[] = {
    {DEVICES "armv8_pmuv3_0/type", "8\n"},
    {DEVICES "arm_spe_0/type", "9\n"},
    {DEVICES "arm_spe_0/cpumask", "0-79\n"},
};

static const struct tree_file no_pmu[] = {
    {DEVICES "software/type", "1\n"},
    {DEVICES "tracepoint/type", "2\n"},
};

/* A guest with counters but without PEBS: the kernel leaves the memory events out. */
static const struct tree_file guest[] = {
    {DEVICES "cpu/type", "4\n"},
    {DEVICES "cpu/caps/max_precise", "0\n"},
    {DEVICES "cpu/format/event", "config:0-7\n"},
};

static const struct tree_file core_without_events[] = {
    {DEVICES "cpu/type", "4\n"},
    {DEVICES "cpu/format/event", "config:0-7\n"},
};

static const struct tree_file unexplained[] = {
    {DEVICES "cpu/type", "4\n"},
    {DEVICES "cpu/format/event", "config:0-7\n"},
    {DEVICES "cpu/events/mem-loads", "event=0xcd,warp=9\n"},
};

struct fixture {
    struct tree tree;
    struct host host;
    struct mem_pmus pmus;
    struct source_reason reason;
    struct perf_scope_event events[PERF_SCOPE_EVENTS_MAX];
    size_t n_events;
};

static int find(struct fixture *fixture, const struct tree_file *files, size_t n)
{
    memset(fixture, 0, sizeof *fixture);
    tree_init(&fixture->tree);
    tree_add(&fixture->tree, files, n);
    fixture->host = host_root(fixture->tree.root);
    return mem_pmus_init(&fixture->pmus, &fixture->host, N_CPU_IDS, &fixture->reason);
}

#define FIND(fixture, files) find(fixture, files, ARRAY_LENGTH(files))

static void done(struct fixture *fixture)
{
    mem_pmus_deinit(&fixture->pmus);
    tree_deinit(&fixture->tree);
}

static const struct mem_demand everything = {{true, true}, true, true};

static void demand(struct fixture *fixture, struct mem_demand wanted)
{
    fixture->n_events = mem_pmus_events(&fixture->pmus, wanted, fixture->events);
}

static void expect_event(const struct perf_scope_event *event, uint32_t type, uint64_t config,
                         uint64_t config1, unsigned precise)
{
    assert_int_equal(event->attr.type, type);
    assert_true(event->attr.config == config);
    assert_true(event->attr.config1 == config1);
    assert_int_equal(event->attr.precise_ip, precise);
    assert_int_equal(event->attr.size, sizeof event->attr);
    assert_true(event->attr.sample_type & PERF_SAMPLE_IDENTIFIER);
    assert_int_equal(event->attr.freq, !event->no_sample);
    if (event->no_sample)
        assert_int_equal(event->attr.sample_period, 0);
}

static void expect_counters(const struct perf_scope_event *events, uint64_t pmu)
{
    expect_event(&events[0], PERF_TYPE_HARDWARE, pmu | PERF_COUNT_HW_CPU_CYCLES, 0, 0);
    expect_event(&events[1], PERF_TYPE_HARDWARE, pmu | PERF_COUNT_HW_INSTRUCTIONS, 0, 0);
    assert_true(events[0].leads && !events[1].leads);
    assert_true(events[0].no_sample && events[1].no_sample);
    assert_true(events[0].attr.exclude_kernel && events[1].attr.exclude_kernel);
}

static void test_skylake(void **state)
{
    struct fixture fixture;

    (void)state;
    assert_int_equal(FIND(&fixture, skylake), 0);
    demand(&fixture, everything);
    assert_int_equal(fixture.n_events, 4);
    expect_event(&fixture.events[0], 4, 0x1cd, 30, 2);
    expect_event(&fixture.events[1], 4, 0x82d0, 0, 2);
    expect_counters(&fixture.events[2], 0);
    for (size_t i = 0; i < 2; i++) {
        assert_true(fixture.events[i].attr.exclude_kernel && fixture.events[i].attr.exclude_hv &&
                    fixture.events[i].attr.exclude_guest);
        assert_false(fixture.events[i].leads || fixture.events[i].system);
        assert_null(fixture.events[i].cpus);
        assert_true(fixture.events[i].attr.sample_type == mem_sample_type(everything.layout));
        assert_int_equal(fixture.pmus.events[i].n_sharing, 2);
        assert_float_equal(fixture.pmus.events[i].cycle_sec, 1 / 2.5e9, 1e-15);
    }
    assert_string_equal(fixture.pmus.text, "cpu mem-loads mem-stores");
    done(&fixture);
}

/* The auxiliary event leads the loads: it only counts, so it must not be precise. */
static void test_sapphire_rapids(void **state)
{
    struct fixture fixture;

    (void)state;
    assert_int_equal(FIND(&fixture, sapphire_rapids), 0);
    demand(&fixture, everything);
    assert_int_equal(fixture.n_events, 5);
    expect_event(&fixture.events[0], 4, 0x8203, 0, 0);
    expect_event(&fixture.events[1], 4, 0x1cd, 30, 2);
    expect_event(&fixture.events[2], 4, 0x2cd, 0, 2);
    expect_counters(&fixture.events[3], 0);
    assert_true(fixture.events[0].leads && fixture.events[0].no_sample);
    assert_false(fixture.events[1].leads || fixture.events[1].no_sample);
    assert_float_equal(fixture.pmus.events[1].cycle_sec, 1 / MEM_CLOCK_DEFAULT_HZ, 1e-15);
    done(&fixture);
}

static void expect_cpus(const bool *cpus, int first, int last)
{
    assert_non_null(cpus);
    for (int cpu = 0; cpu < N_CPU_IDS; cpu++)
        assert_int_equal(cpus[cpu], cpu >= first && cpu <= last);
}

/* Each PMU on its own CPUs; the auxiliary event on the large cores only. */
static void test_alder_lake(void **state)
{
    struct fixture fixture;

    (void)state;
    assert_int_equal(FIND(&fixture, alder_lake), 0);
    demand(&fixture, everything);
    assert_int_equal(fixture.n_events, 7);
    expect_event(&fixture.events[0], 4, 0x8203, 0, 0);
    expect_event(&fixture.events[1], 4, 0x1cd, 30, 2);
    expect_event(&fixture.events[2], 4, 0x2cd, 0, 2);
    expect_event(&fixture.events[3], 10, 0x5d0, 30, 2);
    expect_event(&fixture.events[4], 10, 0x6d0, 0, 2);
    expect_counters(&fixture.events[5], UINT64_C(4) << 32);
    for (size_t i = 0; i < 3; i++)
        expect_cpus(fixture.events[i].cpus, 0, 15);
    expect_cpus(fixture.events[3].cpus, 16, 23);
    expect_cpus(fixture.events[4].cpus, 16, 23);
    expect_cpus(fixture.events[5].cpus, 0, 15);
    assert_int_equal(fixture.pmus.events[1].n_sharing, 2);
    assert_int_equal(fixture.pmus.events[3].n_sharing, 2);
    assert_float_equal(fixture.pmus.events[1].cycle_sec, 1 / 3.2e9, 1e-15);
    assert_float_equal(fixture.pmus.events[3].cycle_sec, 1 / 2.4e9, 1e-15);
    assert_string_equal(fixture.pmus.text,
                        "cpu_core mem-loads mem-stores, cpu_atom mem-loads mem-stores");
    done(&fixture);
}

/* IBS: no exclude bit at all, cnt_ctl and l3missonly off. */
static void test_zen4(void **state)
{
    struct fixture fixture;
    const struct perf_event_attr *attr = &fixture.events[0].attr;

    (void)state;
    assert_int_equal(FIND(&fixture, zen4), 0);
    demand(&fixture, everything);
    assert_int_equal(fixture.n_events, 3);
    expect_event(&fixture.events[0], 11, 0, 0, 0);
    assert_false(attr->exclude_kernel || attr->exclude_hv || attr->exclude_user ||
                 attr->exclude_idle || attr->exclude_guest || attr->exclude_host);
    assert_int_equal(attr->config2, 0);
    assert_false(fixture.events[0].system);
    assert_int_equal(fixture.pmus.events[0].role, MEM_ROLE_OPS);
    assert_int_equal(fixture.pmus.events[0].n_sharing, 1);
    expect_counters(&fixture.events[1], 0);
    done(&fixture);
}

static void test_zen4_old_kernel_is_for_the_whole_system(void **state)
{
    struct mem_demand wanted = everything;
    struct fixture fixture;

    (void)state;
    wanted.scoped = false;
    assert_int_equal(FIND(&fixture, zen4), 0);
    demand(&fixture, wanted);
    assert_true(fixture.events[0].system);
    assert_false(fixture.events[1].system); /* the counters still follow the targets */
    done(&fixture);
}

static void test_zen4_swfilt(void **state)
{
    struct fixture fixture;
    struct tree_file files[ARRAY_LENGTH(zen4) + 1];

    (void)state;
    memcpy(files, zen4, sizeof zen4);
    files[ARRAY_LENGTH(zen4)] = zen4_swfilt[0];
    assert_int_equal(FIND(&fixture, files), 0);
    demand(&fixture, everything);
    assert_int_equal(fixture.events[0].attr.config2, 1);
    assert_int_equal(fixture.events[0].attr.config, 0);
    assert_true(fixture.events[0].attr.exclude_kernel && fixture.events[0].attr.exclude_hv);
    assert_false(fixture.events[0].attr.exclude_guest); /* still refused */
    done(&fixture);
}

static void test_demands(void **state)
{
    struct mem_demand wanted = everything;
    struct fixture fixture;

    (void)state;
    assert_int_equal(FIND(&fixture, skylake), 0);
    wanted.counts = false;
    wanted.layout = (struct mem_layout){false, false};
    demand(&fixture, wanted);
    assert_int_equal(fixture.n_events, 2);
    assert_false(fixture.events[0].attr.sample_type &
                 (PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_WEIGHT_STRUCT));
    assert_true(fixture.events[0].attr.sample_type & PERF_SAMPLE_WEIGHT);
    done(&fixture);
}

static const struct {
    const char *name;
    const struct tree_file *files;
    size_t n;
    const char *tells;
} refusals[] = {
    {"no PMU", no_pmu, ARRAY_LENGTH(no_pmu), "no PMU"},
    {"nothing at all", no_pmu, 0, "no PMU"},
    {"a guest without PEBS", guest, ARRAY_LENGTH(guest), "max_precise is 0"},
    {"a core PMU without memory events", core_without_events, ARRAY_LENGTH(core_without_events),
     "no events/mem-loads"},
    {"Arm SPE", spe, ARRAY_LENGTH(spe), "arm_spe_0 (Arm SPE) was found; decoding"},
    {"a term without format", unexplained, ARRAY_LENGTH(unexplained), "warp=9"},
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(refusals); i++) {
        struct fixture fixture;

        assert_int_equal(find(&fixture, refusals[i].files, refusals[i].n), SOURCE_UNAVAILABLE);
        print_message("%s: %s\n", refusals[i].name, fixture.reason.text);
        assert_non_null(strstr(fixture.reason.text, refusals[i].tells));
        assert_null(strchr(fixture.reason.text, '\n'));
        assert_true(strlen(fixture.reason.text) < sizeof fixture.reason.text - 1);
        done(&fixture);
    }
}

/* Without its leader's encoding the loads would be wrong; the stores are not. */
static void test_bad_leader_leaves_stores(void **state)
{
    struct fixture fixture;
    struct tree_file files[ARRAY_LENGTH(sapphire_rapids)];

    (void)state;
    memcpy(files, sapphire_rapids, sizeof files);
    files[6].content = "event=0x03,umask=0x18200\n";
    assert_int_equal(FIND(&fixture, files), 0);
    demand(&fixture, everything);
    assert_int_equal(fixture.n_events, 3);
    expect_event(&fixture.events[0], 4, 0x2cd, 0, 2);
    assert_int_equal(fixture.pmus.events[0].n_sharing, 1);
    assert_string_equal(fixture.pmus.text, "cpu mem-stores");
    done(&fixture);
}

static void test_leader_without_loads_is_left_out(void **state)
{
    struct fixture fixture;
    struct tree_file files[ARRAY_LENGTH(sapphire_rapids)];

    (void)state;
    memcpy(files, sapphire_rapids, sizeof files);
    files[5].content = "event=0xcd,ldlat=3,other=1\n";
    assert_int_equal(FIND(&fixture, files), 0);
    demand(&fixture, everything);
    assert_int_equal(fixture.n_events, 3);
    expect_event(&fixture.events[0], 4, 0x2cd, 0, 2);
    done(&fixture);
}

/* No machine has all of them. What does not fit is left out, and no leader without its loads. */
static void test_more_pmus_than_fit(void **state)
{
    const struct mem_demand wanted = everything;
    struct fixture fixture;

    (void)state;
    assert_int_equal(FIND(&fixture, sapphire_rapids), 0);
    mem_pmus_deinit(&fixture.pmus);
    tree_add(&fixture.tree, alder_lake, ARRAY_LENGTH(alder_lake));
    tree_add(&fixture.tree, zen4 + 5, ARRAY_LENGTH(zen4) - 5);
    assert_int_equal(mem_pmus_init(&fixture.pmus, &fixture.host, N_CPU_IDS, &fixture.reason), 0);
    demand(&fixture, wanted);
    assert_int_equal(fixture.n_events, PERF_SCOPE_EVENTS_MAX);
    expect_event(&fixture.events[3], 4, 0x8203, 0, 0);
    expect_event(&fixture.events[4], 4, 0x1cd, 30, 2);
    expect_counters(&fixture.events[6], 0);
    done(&fixture);
}

static const struct {
    const char *name, *path, *text;
    double hz;
} clocks[] = {
    {"base clock", "sys/devices/system/cpu/cpu3/cpufreq/base_frequency", "2100000\n", 2.1e9},
    {"highest clock", "sys/devices/system/cpu/cpu3/cpufreq/cpuinfo_max_freq", "3700000\n", 3.7e9},
    {"of another CPU", "sys/devices/system/cpu/cpu2/cpufreq/base_frequency", "2100000\n",
     MEM_CLOCK_DEFAULT_HZ},
    {"no number", "sys/devices/system/cpu/cpu3/cpufreq/base_frequency", "<unknown>\n",
     MEM_CLOCK_DEFAULT_HZ},
    {"0", "sys/devices/system/cpu/cpu3/cpufreq/base_frequency", "0\n", MEM_CLOCK_DEFAULT_HZ},
    {"1 kHz", "sys/devices/system/cpu/cpu3/cpufreq/base_frequency", "1\n", MEM_CLOCK_DEFAULT_HZ},
    {"cpuinfo", "proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2596.144\n", 2.596144e9},
    {"cpuinfo without MHz", "proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50\n",
     MEM_CLOCK_DEFAULT_HZ},
    {"cpuinfo cut", "proc/cpuinfo", "cpu MHz", MEM_CLOCK_DEFAULT_HZ},
    {"cpuinfo with nonsense", "proc/cpuinfo", "cpu MHz\t: nan\n", MEM_CLOCK_DEFAULT_HZ},
};

static void test_clocks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(clocks); i++) {
        const struct tree_file file = {clocks[i].path, clocks[i].text};
        struct tree tree;
        struct host host;

        print_message("%s\n", clocks[i].name);
        tree_init(&tree);
        tree_add(&tree, &file, 1);
        host = host_root(tree.root);
        assert_float_equal(mem_clock_cycle_sec(&host, 3) * clocks[i].hz, 1, 1e-9);
        tree_deinit(&tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skylake),
        cmocka_unit_test(test_sapphire_rapids),
        cmocka_unit_test(test_alder_lake),
        cmocka_unit_test(test_zen4),
        cmocka_unit_test(test_zen4_old_kernel_is_for_the_whole_system),
        cmocka_unit_test(test_zen4_swfilt),
        cmocka_unit_test(test_demands),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bad_leader_leaves_stores),
        cmocka_unit_test(test_leader_without_loads_is_left_out),
        cmocka_unit_test(test_more_pmus_than_fit),
        cmocka_unit_test(test_clocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
