/* What the scope does when files, ring memory or permissions end while it runs. */
#include "scope_rig.h"

#include <errno.h>
#include <string.h>

static void open_rig(struct scope_rig *rig)
{
    scope_rig_init(rig);
    assert_int_equal(scope_rig_open(rig), 0);
}

static void one_round(struct scope_rig *rig)
{
    assert_int_equal(scope_rig_round(rig), 0);
}

static void permission_is_taken_away(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/a", 5);
    rig.perf.refuse_open = EACCES;
    assert_int_equal(scope_rig_round(&rig), SOURCE_UNAVAILABLE);
    assert_non_null(strstr(rig.reason.text, "CAP_PERFMON"));
    assert_int_equal(rig.perf.n_files, 0);
    scope_rig_deinit(&rig);
}

/* Named after the bug: the one that was open went on, and nobody was told of the other. */
static void permission_is_taken_away_from_new_targets(void **state)
{
    char text[128];
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/a", 5);
    one_round(&rig);
    assert_false(perf_scope_lacks(rig.scope, &rig.reason));
    rig.perf.refuse_open = EACCES;
    scope_rig_target(&rig, 200, "/b", 5);
    for (int i = 0; i < 40; i++) {
        one_round(&rig);
        assert_true(perf_scope_lacks(rig.scope, &rig.reason));
        assert_non_null(strstr(rig.reason.text, "CAP_PERFMON"));
        assert_string_equal(scope_rig_describe(&rig, text),
                            "1 cgroup, 4 events at 4 CPUs (some events are not permitted)");
    }
    rig.perf.refuse_open = 0;
    for (int i = 0; i < 40; i++)
        one_round(&rig);
    assert_false(perf_scope_lacks(rig.scope, &rig.reason));
    assert_string_equal(scope_rig_describe(&rig, text), "2 cgroups, 8 events at 4 CPUs");
    scope_rig_deinit(&rig);
}

/* Two files for each of 4 CPUs do for the whole system, not for 4 cgroups. */
static void files_run_out_for_cgroups(void **state)
{
    char text[128];
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    rig.perf.files_max = 12;
    for (int i = 0; i < 4; i++)
        scope_rig_target(&rig, 100 * (i + 1), (const char *const[]){"/a", "/b", "/c", "/d"}[i], 50);
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, -1, -2), RIG_CPUS);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -2), RIG_CPUS);
    assert_string_equal(scope_rig_describe(&rig, text),
                        "whole system, 4 events at 4 CPUs (open files or ring memory ran out)");
    for (int i = 0; i < 40; i++) { /* also while the cgroups are tried again */
        one_round(&rig);
        assert_true(perf_scope_lacks(rig.scope, &rig.reason));
        assert_non_null(strstr(rig.reason.text, "LimitNOFILE"));
    }
    rig.perf.files_max = 0; /* the limit was raised */
    for (int i = 0; i < 40; i++)
        one_round(&rig);
    assert_false(perf_scope_lacks(rig.scope, &rig.reason));
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -2), 4 * RIG_CPUS);
    assert_string_equal(scope_rig_describe(&rig, text), "4 cgroups, 16 events at 4 CPUs");
    scope_rig_deinit(&rig);
}

/* The files that were taken are given back: others need some. */
static void files_run_out_altogether(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    rig.perf.files_max = 5;
    scope_rig_target(&rig, 100, "/a", 50);
    assert_int_equal(scope_rig_round(&rig), SOURCE_UNAVAILABLE);
    assert_non_null(strstr(rig.reason.text, "LimitNOFILE"));
    assert_int_equal(rig.perf.n_files, 0);
    scope_rig_deinit(&rig);
}

/*
 * Named after the bug: 16 more CPUs lost their events in each round until the next try, so that a
 * machine that had files for most of its CPUs was soon not sampled at all.
 */
static void files_for_most_cpus_do_for_these(void **state)
{
    struct scope_rig rig;

    (void)state;
    scope_rig_init(&rig);
    rig.options.n_cpu_ids = FAKE_PERF_CPUS;
    rig.options.scope = SAMPLE_SCOPE_SYSTEM;
    fake_host_set_file(&rig.host, "sys/devices/system/cpu/online", "0-63\n");
    assert_int_equal(scope_rig_open(&rig), 0);
    scope_rig_target(&rig, 100, "/a", 50);
    rig.perf.files_max = 2 * 60;
    for (int i = 0; i < 100; i++) {
        one_round(&rig);
        assert_int_equal(fake_perf_count(&rig.perf, NULL, -1, -2), 60 - 16);
    }
    rig.perf.files_max = 0;
    for (int i = 0; i < 100; i++)
        one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, -1, -2), FAKE_PERF_CPUS);
    scope_rig_deinit(&rig);
}

static void ring_memory_runs_out(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/a", 50);
    one_round(&rig);
    rig.perf.refuse_map = EPERM;
    scope_rig_target(&rig, 200, NULL, 2); /* has its own rings */
    one_round(&rig);
    assert_true(perf_scope_counts(rig.scope)->whole_system); /* in the rings that are there */
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -2), RIG_CPUS);
    scope_rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permission_is_taken_away),
        cmocka_unit_test(permission_is_taken_away_from_new_targets),
        cmocka_unit_test(files_run_out_for_cgroups),
        cmocka_unit_test(files_run_out_altogether),
        cmocka_unit_test(files_for_most_cpus_do_for_these),
        cmocka_unit_test(ring_memory_runs_out),
    };

    return cmocka_run_group_tests_name("scope: what ends while it runs", tests, NULL, NULL);
}
