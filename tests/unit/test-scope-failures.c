/* What the scope does when the kernel refuses or takes away: CPUs, cgroups, threads. */
#include "scope_rig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/array.h"

static void open_rig(struct scope_rig *rig)
{
    scope_rig_init(rig);
    assert_int_equal(scope_rig_open(rig), 0);
}

static void one_round(struct scope_rig *rig)
{
    assert_int_equal(scope_rig_round(rig), 0);
}

static void refusal_at_the_start_is_told(void **state)
{
    static const struct {
        int error;
        bool map;
        const char *text;
    } cases[] = {
        {EACCES, false, "kernel.perf_event_paranoid is 3: give CAP_PERFMON"},
        {EPERM, false, "seccomp"},
        {EMFILE, false, "raise LimitNOFILE="},
        {ENFILE, false, "raise fs.file-max"},
        {ENOSYS, false, "CONFIG_PERF_EVENTS"},
        {EINVAL, false, "Linux 4.1"},
        {EBUSY, false, "no fix is known"},
        {EPERM, true, "raise LimitMEMLOCK="},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct scope_rig rig;

        scope_rig_init(&rig);
        fake_host_set_file(&rig.host, "proc/sys/kernel/perf_event_paranoid", "3\n");
        *(cases[i].map ? &rig.perf.refuse_map : &rig.perf.refuse_open) = cases[i].error;
        assert_int_equal(scope_rig_open(&rig), SOURCE_UNAVAILABLE);
        print_message("%s\n", rig.reason.text);
        assert_non_null(strstr(rig.reason.text, cases[i].map ? "mmap" : "perf_event_open: "));
        assert_non_null(strstr(rig.reason.text, cases[i].text));
        assert_null(strchr(rig.reason.text, '\n'));
        scope_rig_deinit(&rig);
    }
}

static void no_cpu_is_left(void **state)
{
    struct scope_rig rig;

    (void)state;
    scope_rig_init(&rig);
    for (int cpu = 1; cpu < RIG_CPUS; cpu++)
        rig.skip[cpu] = true;
    fake_host_set_file(&rig.host, "sys/devices/system/cpu/online", "1-3\n");
    assert_int_equal(scope_rig_open(&rig), SOURCE_UNAVAILABLE);
    assert_non_null(strstr(rig.reason.text, "no CPU"));
    scope_rig_deinit(&rig);
}

/* The list of online CPUs tells; what it does not tell yet, the refusal does. */
static void offline_cpu_is_left_out_and_comes_back(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/a", 5);
    one_round(&rig);
    fake_host_set_file(&rig.host, "sys/devices/system/cpu/online", "0,2-3\n");
    rig.perf.offline[1] = true;
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, 1), 0);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, -2), 3);
    assert_int_equal(perf_scope_counts(rig.scope)->n_rings, 3);
    fake_host_set_file(&rig.host, "sys/devices/system/cpu/online", "0-3\n");
    one_round(&rig); /* the list was early */
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, -2), 3);
    rig.perf.offline[1] = false;
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, 1), 1);
    scope_rig_deinit(&rig);
}

/*
 * Named after the bug: the online list was the same in both rounds, and the CPU was not sampled
 * again until a target came or went.
 */
static void cpu_that_came_back_between_two_rounds_is_sampled_again(void **state)
{
    struct fake_perf_event *before, *after;
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/a", 5);
    for (int i = 0; i < 15; i++)
        one_round(&rig);
    before = fake_perf_find(&rig.perf, "/cg/a", 0, 1);
    assert_int_equal(fake_perf_find(&rig.perf, "/cg/a", 0, 2)->id, before->id + 2);
    fake_perf_bounce(&rig.perf, 1);
    scope_rig_sample(&rig, before, 7);
    for (int i = 0; i < 12; i++)
        one_round(&rig);
    after = fake_perf_find(&rig.perf, "/cg/a", 0, 1);
    assert_non_null(after);
    assert_int_not_equal(after->id, before->id);
    assert_false(after->detached);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, -2), RIG_CPUS);
    /* What it took before it went is not lost; the other CPUs' events are those of before. */
    scope_rig_read(&rig);
    assert_int_equal(rig.n_seen, 1);
    assert_int_equal(fake_perf_find(&rig.perf, "/cg/a", 0, 2)->id, before->id + 2);
    scope_rig_deinit(&rig);
}

static void unreadable_online_list_means_all(void **state)
{
    struct scope_rig rig;

    (void)state;
    scope_rig_init(&rig);
    fake_host_set_result(&rig.host, "sys/devices/system/cpu/online", 1);
    rig.perf.offline[3] = true;
    assert_int_equal(scope_rig_open(&rig), 0);
    scope_rig_target(&rig, 100, "/a", 5);
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, -2), 3);
    scope_rig_deinit(&rig);
}

static size_t opens_in(struct scope_rig *rig, unsigned n_rounds)
{
    size_t before = rig->perf.n_opens;

    for (unsigned i = 0; i < n_rounds; i++)
        one_round(rig);
    return rig->perf.n_opens - before;
}

/*
 * Named after the bug: all events of 50 cgroups on 256 CPUs were opened, or re-rated, in one go,
 * and the loop stood still for a quarter of a second. Here it is 16 cgroups, 16 CPUs and six kinds.
 */
static void large_machine_does_not_hold_up_the_loop(void **state)
{
    enum {
        N_CGROUPS = 16,
        N_CPUS = 16,
        N_KINDS = 6,
        N_EVENTS = N_CGROUPS * N_CPUS * N_KINDS
    };
    char names[N_CGROUPS][8];
    struct scope_rig rig;
    size_t before;

    (void)state;
    scope_rig_init(&rig);
    rig.options.n_cpu_ids = N_CPUS;
    fake_host_set_file(&rig.host, "sys/devices/system/cpu/online", "0-15\n");
    for (rig.n_kinds = 1; rig.n_kinds < N_KINDS; rig.n_kinds++)
        rig.kinds[rig.n_kinds] = rig.kinds[0];
    assert_int_equal(scope_rig_open(&rig), 0);
    for (unsigned i = 0; i < N_CGROUPS; i++) {
        snprintf(names[i], sizeof names[i], "/g%u", i);
        scope_rig_target(&rig, 100 + 100 * (pid_t)i, names[i], 5);
    }
    before = rig.perf.n_opens;
    one_round(&rig);
    assert_in_range(rig.perf.n_opens - before, 500, 600);
    for (unsigned i = 0; i < 4; i++) {
        before = rig.perf.n_opens;
        scope_rig_read(&rig);
        assert_true(rig.perf.n_opens - before <= 600);
    }
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -2), N_EVENTS);
    for (size_t i = 0; i < rig.n_targets; i++)
        rig.targets[i].rate_hz /= 10;
    one_round(&rig);
    assert_in_range(rig.perf.n_periods, 500, 600);
    for (unsigned i = 0; i < 4; i++)
        scope_rig_read(&rig);
    assert_int_equal(rig.perf.n_periods, N_EVENTS);
    assert_int_equal(fake_perf_find(&rig.perf, "/cg/g15", 0, 15)->period, NSEC_PER_SEC / 25);
    scope_rig_deinit(&rig);
}

/* 1, 2, 4, ... 512, 600 s: in an hour a dozen times, and not each round. */
static void failed_cpu_is_tried_ever_more_seldom(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    rig.perf.offline[3] = true;
    scope_rig_target(&rig, 100, "/a", 5);
    one_round(&rig);
    assert_int_equal(opens_in(&rig, 1), 1);
    assert_int_equal(opens_in(&rig, 1), 0);
    assert_int_equal(opens_in(&rig, 1), 1);
    assert_in_range(opens_in(&rig, 3600), 10, 15);
    scope_rig_deinit(&rig);
}

/* Named after what would happen else: the events of a removed cgroup are silent for ever. */
static void restarted_service_is_sampled_again(void **state)
{
    struct scope_rig rig;
    uint64_t before;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/a", 5);
    one_round(&rig);
    before = fake_perf_find(&rig.perf, "/cg/a", 0, 0)->id;
    fake_perf_dir(&rig.perf, "/cg/a", 99, 1);
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, -2), RIG_CPUS);
    assert_int_not_equal(fake_perf_find(&rig.perf, "/cg/a", 0, 0)->id, before);
    scope_rig_deinit(&rig);
}

/* At first it may just be coming or going; then its small target gets threads meanwhile. */
static void removed_cgroup_is_retried_and_replaced(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/a", 5);
    scope_rig_target(&rig, 200, "/b", 5);
    one_round(&rig);
    fake_perf_dir(&rig.perf, "/cg/a", 0, 0);
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -2), RIG_CPUS); /* those of b */
    one_round(&rig);
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -1), 5);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/b", 0, -2), RIG_CPUS);
    fake_perf_dir(&rig.perf, "/cg/a", 5, 1);
    for (int i = 0; i < 8; i++)
        one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, -2), RIG_CPUS);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -1), 0);
    assert_true(perf_scope_counts(rig.scope)->n_open_failures > 0);
    scope_rig_deinit(&rig);
}

/* CONFIG_CGROUP_PERF is missing. */
static void kernel_without_cgroup_events(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    rig.perf.refuse_cgroup = EINVAL;
    scope_rig_target(&rig, 100, "/a", 50);
    for (int i = 0; i < 100; i++) {
        one_round(&rig); /* from the third on, also while cgroups are tried again */
        if (i >= 2)
            assert_int_equal(fake_perf_count(&rig.perf, NULL, -1, -2), RIG_CPUS);
    }
    scope_rig_deinit(&rig);
}

static void no_cgroup_mount(void **state)
{
    struct scope_rig rig;

    (void)state;
    scope_rig_init(&rig);
    fake_host_set_file(&rig.host, "proc/mounts", "proc /proc proc rw 0 0\n");
    assert_int_equal(scope_rig_open(&rig), 0);
    scope_rig_target(&rig, 100, "/a", 5);
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -1), 5);
    scope_rig_deinit(&rig);
}

static void one_thread_refuses(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    rig.perf.refuse_tid = 102;
    scope_rig_target(&rig, 100, NULL, 4);
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -1), 3);
    assert_int_equal(perf_scope_counts(rig.scope)->n_open_failures, 1);
    assert_int_equal(opens_in(&rig, 60), 5); /* after 1, 3, 7, 15, 31 s */
    rig.perf.refuse_tid = -5;
    for (int i = 0; i < 60; i++)
        one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -1), 4);
    scope_rig_deinit(&rig);
}

/* Without a file to list them with, the threads that are known stay; an ended process has none. */
/* Named after the bug: its ids are those of before, and so it was never opened again. */
static void thread_that_was_replaced_by_exec_is_opened_again(void **state)
{
    struct fake_perf_event *before, *after;
    struct scope_rig rig;

    (void)state;
    scope_rig_init(&rig);
    rig.options.scope = SAMPLE_SCOPE_THREAD;
    assert_int_equal(scope_rig_open(&rig), 0);
    scope_rig_target(&rig, 100, NULL, 1);
    assert_int_equal(scope_rig_round(&rig), 0);
    before = fake_perf_find(&rig.perf, NULL, 100, -2);
    assert_non_null(before);
    scope_rig_sample(&rig, before, 7);
    before->ended = true;
    assert_int_equal(scope_rig_round(&rig), 0);
    after = fake_perf_find(&rig.perf, NULL, 100, -2);
    assert_non_null(after);
    assert_ptr_not_equal(before, after);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 100, -2), 1);
    scope_rig_read(&rig);
    assert_int_equal(rig.n_seen, 1); /* the last samples of the old one are not lost */
    scope_rig_deinit(&rig);
}

static void threads_cannot_be_listed(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, NULL, 4);
    one_round(&rig);
    rig.perf.refuse_list = EMFILE;
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -1), 4);
    rig.perf.refuse_list = ENOENT;
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -1), 0);
    scope_rig_deinit(&rig);
}

static void an_event_without_id_is_closed(void **state)
{
    struct scope_rig rig;

    (void)state;
    scope_rig_init(&rig);
    rig.perf.refuse_id = ENOTTY;
    assert_int_equal(scope_rig_open(&rig), SOURCE_UNAVAILABLE);
    assert_int_equal(rig.perf.n_files, 0);
    scope_rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusal_at_the_start_is_told),
        cmocka_unit_test(no_cpu_is_left),
        cmocka_unit_test(offline_cpu_is_left_out_and_comes_back),
        cmocka_unit_test(cpu_that_came_back_between_two_rounds_is_sampled_again),
        cmocka_unit_test(unreadable_online_list_means_all),
        cmocka_unit_test(large_machine_does_not_hold_up_the_loop),
        cmocka_unit_test(failed_cpu_is_tried_ever_more_seldom),
        cmocka_unit_test(restarted_service_is_sampled_again),
        cmocka_unit_test(removed_cgroup_is_retried_and_replaced),
        cmocka_unit_test(kernel_without_cgroup_events),
        cmocka_unit_test(no_cgroup_mount),
        cmocka_unit_test(one_thread_refuses),
        cmocka_unit_test(thread_that_was_replaced_by_exec_is_opened_again),
        cmocka_unit_test(threads_cannot_be_listed),
        cmocka_unit_test(an_event_without_id_is_closed),
    };

    return cmocka_run_group_tests_name("perf scope failures", tests, NULL, NULL);
}
