/* Which events are open after each round, as targets, cgroups, threads and rates change. */
#include "scope_rig.h"

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

static void probe_leaves_nothing_open(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    assert_true(rig.perf.n_opens > 0);
    assert_int_equal(rig.perf.n_files, 0);
    one_round(&rig); /* nobody to sample: nothing to open */
    assert_int_equal(rig.perf.n_files, 0);
    scope_rig_deinit(&rig);
}

static void cgroup_has_an_event_per_cpu_that_is_not_skipped(void **state)
{
    char text[128];
    struct scope_rig rig;

    (void)state;
    scope_rig_init(&rig);
    rig.skip[2] = true;
    assert_int_equal(scope_rig_open(&rig), 0);
    scope_rig_target(&rig, 100, "/a", 5);
    scope_rig_target(&rig, 200, "/a", 5);
    scope_rig_target(&rig, 300, "/b", 5);
    one_round(&rig);
    for (int cpu = 0; cpu < RIG_CPUS; cpu++) {
        assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, cpu), cpu != 2);
        assert_int_equal(fake_perf_count(&rig.perf, "/cg/b", 0, cpu), cpu != 2);
    }
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -2), 6);
    assert_string_equal(scope_rig_describe(&rig, text),
                        "2 cgroups, 6 events at 3 CPUs, nothing at 1 isolated CPU");
    one_round(&rig); /* and nothing is opened twice */
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -2), 6);
    assert_int_equal(perf_scope_counts(rig.scope)->n_rings, 3);
    scope_rig_deinit(&rig);
}

/* The owner of a ring is polled, events write to the ring of their own CPU. */
static void events_of_a_cpu_share_its_ring(void **state)
{
    struct scope_rig rig;
    struct fake_perf_event *a, *b;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/a", 5);
    scope_rig_target(&rig, 300, "/b", 5);
    one_round(&rig);
    a = fake_perf_find(&rig.perf, "/cg/a", 0, 1);
    b = fake_perf_find(&rig.perf, "/cg/b", 0, 1);
    assert_int_equal(a->output_fd, b->output_fd);
    assert_int_not_equal(a->output_fd, fake_perf_find(&rig.perf, "/cg/a", 0, 2)->output_fd);
    for (size_t i = 0; i < rig.perf.n_events; i++)
        assert_true(!rig.perf.events[i].map || rig.perf.events[i].watched);
    scope_rig_sample(&rig, a, 1);
    scope_rig_sample(&rig, b, 2);
    scope_rig_read(&rig);
    assert_int_equal(rig.n_seen, 2);
    assert_int_equal(rig.seen[1].number, 2);
    scope_rig_deinit(&rig);
}

static void nested_cgroups_are_sampled_once(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/a", 5);
    scope_rig_target(&rig, 200, "/a/b", 40);
    scope_rig_target(&rig, 300, "/ab", 40);
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, -2), RIG_CPUS);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a/b", 0, -2), 0);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/ab", 0, -2), RIG_CPUS);
    scope_rig_drop_target(&rig, 100); /* now the lower one is on its own */
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, -2), 0);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a/b", 0, -2), RIG_CPUS);
    scope_rig_deinit(&rig);
}

static void place_has_the_highest_rate_of_its_targets(void **state)
{
    struct scope_rig rig;
    struct sample_target *first, *second;

    (void)state;
    open_rig(&rig);
    first = scope_rig_target(&rig, 100, "/a", 5);
    second = scope_rig_target(&rig, 200, "/a", 5);
    first->rate_hz = 25;
    second->rate_hz = 100;
    one_round(&rig);
    assert_int_equal(fake_perf_find(&rig.perf, "/cg/a", 0, 0)->period, NSEC_PER_SEC / 100);
    second->rate_hz = 10;
    one_round(&rig);
    assert_int_equal(fake_perf_find(&rig.perf, "/cg/a", 0, 3)->period, NSEC_PER_SEC / 25);
    first->rate_hz = 10 * RIG_RATE; /* after a reload: higher than at the start */
    one_round(&rig);
    assert_int_equal(fake_perf_find(&rig.perf, "/cg/a", 0, 3)->period,
                     NSEC_PER_SEC / RIG_RATE / 10);
    assert_int_equal(rig.perf.n_periods, 2 * RIG_CPUS);
    one_round(&rig);
    assert_int_equal(rig.perf.n_periods, 2 * RIG_CPUS);
    first->rate_hz = second->rate_hz = 0; /* nothing wanted */
    one_round(&rig);
    assert_int_equal(rig.perf.n_files, 0);
    scope_rig_deinit(&rig);
}

/* Samples that wait in the ring keep the period they were taken with; other events theirs. */
static void waiting_samples_keep_their_period(void **state)
{
    struct scope_rig rig;
    struct sample_target *target;
    struct fake_perf_event *a, *b;

    (void)state;
    open_rig(&rig);
    target = scope_rig_target(&rig, 100, "/a", 5);
    scope_rig_target(&rig, 200, "/b", 5);
    one_round(&rig);
    a = fake_perf_find(&rig.perf, "/cg/a", 0, 1);
    b = fake_perf_find(&rig.perf, "/cg/b", 0, 1);
    scope_rig_sample(&rig, a, 1);
    target->rate_hz = 50;
    one_round(&rig);
    scope_rig_sample(&rig, a, 2);
    scope_rig_sample(&rig, b, 3);
    scope_rig_read(&rig);
    assert_int_equal(rig.n_seen, 3);
    assert_int_equal(rig.seen[0].period, NSEC_PER_SEC / RIG_RATE);
    assert_int_equal(rig.seen[1].period, NSEC_PER_SEC / 50);
    assert_int_equal(rig.seen[2].period, NSEC_PER_SEC / RIG_RATE);
    scope_rig_sample(&rig, a, 4);
    target->rate_hz = 25;
    one_round(&rig);
    scope_rig_read(&rig);
    assert_int_equal(rig.seen[0].period, NSEC_PER_SEC / 50);
    scope_rig_deinit(&rig);
}

static void refused_rate_leaves_the_old_one(void **state)
{
    struct scope_rig rig;
    struct sample_target *target;

    (void)state;
    open_rig(&rig);
    target = scope_rig_target(&rig, 100, "/a", 5);
    one_round(&rig);
    rig.perf.refuse_period = 22;
    target->rate_hz = 50;
    one_round(&rig);
    scope_rig_sample(&rig, fake_perf_find(&rig.perf, "/cg/a", 0, 1), 1);
    scope_rig_read(&rig);
    assert_int_equal(rig.seen[0].period, NSEC_PER_SEC / RIG_RATE);
    rig.perf.refuse_period = 0; /* asked again */
    one_round(&rig);
    assert_int_equal(fake_perf_find(&rig.perf, "/cg/a", 0, 1)->period, NSEC_PER_SEC / 50);
    scope_rig_deinit(&rig);
}

/* The last samples of what is closed are still read, of a cgroup and of a thread. */
static void last_samples_are_not_lost(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/a", 5);
    scope_rig_target(&rig, 200, "/b", 5);
    scope_rig_target(&rig, 300, NULL, 1);
    one_round(&rig);
    scope_rig_sample(&rig, fake_perf_find(&rig.perf, "/cg/a", 0, 1), 1);
    scope_rig_sample(&rig, fake_perf_find(&rig.perf, NULL, 300, -1), 2);
    scope_rig_drop_target(&rig, 100);
    scope_rig_drop_target(&rig, 300);
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -2), RIG_CPUS);
    scope_rig_read(&rig);
    assert_int_equal(rig.n_seen, 2);
    scope_rig_read(&rig);
    assert_int_equal(rig.n_seen, 0);
    assert_int_equal(perf_scope_counts(rig.scope)->n_unknown, 0);
    scope_rig_deinit(&rig);
}

static void foreign_ids_are_counted(void **state)
{
    struct fake_perf_event stranger;
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/a", 5);
    one_round(&rig);
    stranger = *fake_perf_find(&rig.perf, "/cg/a", 0, 1);
    stranger.id = 99999;
    scope_rig_sample(&rig, &stranger, 1);
    scope_rig_read(&rig);
    assert_int_equal(rig.n_seen, 0);
    assert_int_equal(perf_scope_counts(rig.scope)->n_unknown, 1);
    scope_rig_deinit(&rig);
}

static void threads_are_followed_within_a_round(void **state)
{
    const pid_t later[] = {100, 102, 103};
    char text[128];
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/", 3); /* the root holds everything */
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -1), 3);
    assert_string_equal(scope_rig_describe(&rig, text), "3 threads, 3 events");
    fake_perf_process(&rig.perf, 100, later, ARRAY_LENGTH(later)); /* as many as before */
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 101, -1), 0);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 102, -1), 1);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 103, -1), 1);
    fake_perf_process(&rig.perf, 100, NULL, 0);
    one_round(&rig);
    assert_int_equal(rig.perf.n_files, 0);
    scope_rig_deinit(&rig);
}

/* A later process with the same pid and tids. */
static void reused_pid_gets_new_events(void **state)
{
    struct scope_rig rig;
    struct sample_target *target;
    uint64_t before;

    (void)state;
    open_rig(&rig);
    target = scope_rig_target(&rig, 100, NULL, 1);
    one_round(&rig);
    before = fake_perf_find(&rig.perf, NULL, 100, -1)->id;
    target->start_ticks++;
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 100, -1), 1);
    assert_int_not_equal(fake_perf_find(&rig.perf, NULL, 100, -1)->id, before);
    scope_rig_deinit(&rig);
}

static void isolated_thread_has_no_event(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    rig.perf.isolated_tid = 101;
    scope_rig_target(&rig, 100, NULL, 3);
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 101, -1), 0);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -1), 2);
    scope_rig_deinit(&rig);
}

static void whole_system_is_alone(void **state)
{
    char text[128];
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/a", 5);
    one_round(&rig);
    scope_rig_target(&rig, 200, "/../x", 40);
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, -2), 0);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, -1, -2), RIG_CPUS);
    assert_true(perf_scope_counts(rig.scope)->whole_system);
    assert_string_equal(scope_rig_describe(&rig, text),
                        "whole system, 4 events at 4 CPUs (a target has no cgroup of its own)");
    scope_rig_drop_target(&rig, 200);
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, -2), RIG_CPUS);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -2), RIG_CPUS);
    scope_rig_deinit(&rig);
}

static void forced_scopes_are_obeyed(void **state)
{
    static const struct {
        enum sample_scope scope;
        size_t n_cgroup, n_thread, n_system;
    } cases[] = {
        {SAMPLE_SCOPE_CGROUP, RIG_CPUS, 0, 0},
        {SAMPLE_SCOPE_THREAD, 0, 40, 0},
        {SAMPLE_SCOPE_SYSTEM, 0, 0, RIG_CPUS},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct scope_rig rig;

        scope_rig_init(&rig);
        rig.options.scope = cases[i].scope;
        assert_int_equal(scope_rig_open(&rig), 0);
        scope_rig_target(&rig, 100, "/a", 40);
        fake_perf_dir(&rig.perf, "/cg/a", 1, 500);
        one_round(&rig);
        assert_int_equal(fake_perf_count(&rig.perf, "/cg/a", 0, -2), cases[i].n_cgroup);
        assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -1), cases[i].n_thread);
        assert_int_equal(fake_perf_count(&rig.perf, NULL, -1, -2), cases[i].n_system);
        scope_rig_deinit(&rig);
    }
}

/* How full a cgroup is is looked at once a minute, and not at all for large targets. */
static void small_target_in_a_crowd_gets_threads(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/crowd", 3);
    fake_perf_dir(&rig.perf, "/cg/crowd", 1, 500);
    scope_rig_target(&rig, 200, "/large", 100);
    fake_perf_dir(&rig.perf, "/cg/large", 2, 500);
    for (int i = 0; i < 50; i++)
        one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/crowd", 0, -2), 0);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -1), 3);
    assert_int_equal(fake_perf_count(&rig.perf, "/cg/large", 0, -2), RIG_CPUS);
    assert_int_equal(rig.perf.n_counts, 1);
    for (int i = 0; i < 20; i++)
        one_round(&rig);
    assert_int_equal(rig.perf.n_counts, 2);
    scope_rig_deinit(&rig);
}

static void v1_hierarchy_has_its_own_paths(void **state)
{
    struct scope_rig rig;

    (void)state;
    scope_rig_init(&rig);
    fake_host_set_file(&rig.host, "proc/mounts",
                       "cgroup2 /cg cgroup2 rw 0 0\ncgroup /pe cgroup rw,perf_event 0 0\n");
    fake_host_set_file(&rig.host, "proc/100/cgroup", "3:perf_event:/mine\n0::/a\n");
    assert_int_equal(scope_rig_open(&rig), 0);
    scope_rig_target(&rig, 100, "/a", 40);
    fake_perf_dir(&rig.perf, "/pe/mine", 77, 1);
    one_round(&rig);
    assert_int_equal(fake_perf_count(&rig.perf, "/pe/mine", 0, -2), RIG_CPUS);
    assert_int_equal(fake_perf_count(&rig.perf, NULL, 0, -2), RIG_CPUS);
    scope_rig_deinit(&rig);
}

/* Reading events interrupts their CPUs: every 10 s; idle and kernel time counts as well. */
static void interrupts_are_looked_at_seldom(void **state)
{
    struct scope_rig rig;

    (void)state;
    open_rig(&rig);
    scope_rig_target(&rig, 100, "/a", 5);
    one_round(&rig);
    rig.perf.n_reads = 0;
    for (int i = 1; i <= 20; i++) {
        for (int cpu = 0; cpu < RIG_CPUS; cpu++)
            fake_perf_find(&rig.perf, "/cg/a", 0, cpu)->running_nsec += NSEC_PER_SEC;
        one_round(&rig);
    }
    assert_int_equal(rig.perf.n_reads, 2 * RIG_CPUS);
    assert_int_equal(perf_scope_counts(rig.scope)->n_interrupts, 20 * RIG_CPUS * RIG_RATE);
    scope_rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probe_leaves_nothing_open),
        cmocka_unit_test(cgroup_has_an_event_per_cpu_that_is_not_skipped),
        cmocka_unit_test(events_of_a_cpu_share_its_ring),
        cmocka_unit_test(nested_cgroups_are_sampled_once),
        cmocka_unit_test(place_has_the_highest_rate_of_its_targets),
        cmocka_unit_test(waiting_samples_keep_their_period),
        cmocka_unit_test(refused_rate_leaves_the_old_one),
        cmocka_unit_test(last_samples_are_not_lost),
        cmocka_unit_test(foreign_ids_are_counted),
        cmocka_unit_test(threads_are_followed_within_a_round),
        cmocka_unit_test(reused_pid_gets_new_events),
        cmocka_unit_test(isolated_thread_has_no_event),
        cmocka_unit_test(whole_system_is_alone),
        cmocka_unit_test(forced_scopes_are_obeyed),
        cmocka_unit_test(small_target_in_a_crowd_gets_threads),
        cmocka_unit_test(v1_hierarchy_has_its_own_paths),
        cmocka_unit_test(interrupts_are_looked_at_seldom),
    };

    return cmocka_run_group_tests_name("perf scope", tests, NULL, NULL);
}
