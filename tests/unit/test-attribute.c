/* When something is read of a process, in which order, and what happens to late answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "attribute/ranges.h"
#include "attribute/tally.h"
#include "attribute/thread_mask.h"
#include "attribute_rig.h"
#include "util/array.h"
#include "util/procfs.h"

#define ANON "1000000-2000000 rw-p 0 0:0 0 \n"
#define DEFAULT "1000000 default anon=4096 N0=4096\n"
#define BASE (16 * M)

/* Knows the maps, has 10 samples from node 0 at BASE, and no call is logged. */
static void init_known(struct attribute_rig *rig)
{
    attribute_rig_init(rig, ANON, DEFAULT);
    attribute_rig_push(rig, 0, BASE, 1);
    attribute_rig_dispatch(rig);
    attribute_rig_push(rig, 0, BASE, 10);
    fake_host_clear_log(&rig->fake);
}

static void test_maps_at_the_first_sample(void **state)
{
    struct attribute_rig rig;

    (void)state;
    attribute_rig_init(&rig, ANON, DEFAULT);
    attribute_rig_push(&rig, 0, BASE, 1);
    assert_string_equal(rig.fake.log, ""); /* never in the loop */
    assert_int_equal(worker_pool_pending(rig.pool, 0), 1);
    attribute_rig_push(&rig, 0, BASE, 5);
    assert_int_equal(worker_pool_pending(rig.pool, 0), 1); /* asked once */
    attribute_rig_dispatch(&rig);
    assert_string_equal(rig.fake.log, "maps");
    assert_true(attribute_rig_space(&rig)->maps_known);
    assert_int_equal(attribute_rig_space(&rig)->n_accesses, 6);
    assert_int_equal(attribute_rig_space(&rig)->n_outside, 6);
    attribute_rig_push(&rig, 3, BASE, 1);
    attribute_rig_push(&rig, 4, BASE, 1);  /* its CPU is on no node */
    attribute_rig_push(&rig, -1, BASE, 1); /* nor known */
    attribute_rig_push(&rig, 99, BASE, 1);
    assert_true(tally_n(&attribute_rig_range(&rig, BASE)->window, 8) == 1);
    assert_true(tally_total_n(&attribute_rig_range(&rig, BASE)->window) == 1);
    assert_int_equal(attribute_n_ranges(rig.attribute), 1);
    attribute_rig_deinit(&rig);
}

static void test_order_in_a_round(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    attribute_rig_round(&rig, 1);
    assert_string_equal(rig.fake.log, "maps numa_maps task pages"); /* fresh maps before policies */
    fake_host_clear_log(&rig.fake);
    attribute_rig_push(&rig, 0, BASE, 2); /* too few for a claim: nothing is due */
    attribute_rig_round(&rig, 1);
    assert_string_equal(rig.fake.log, "");
    attribute_rig_deinit(&rig);
}

static void test_maps_at_most_once_a_second(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    for (int i = 0; i < 40; i++) { /* ten seconds, all samples outside */
        attribute_rig_push(&rig, 0, 64 * M, 3);
        rig.now += SEC / 4;
        assert_int_equal(attribute_round(rig.attribute, rig.config, rig.now), 0);
        attribute_rig_dispatch(&rig);
    }
    assert_in_range(rig.fake.n_maps, 9, 11);
    assert_int_equal(attribute_rig_space(&rig)->n_outside, 1 + 120);
    attribute_rig_deinit(&rig);
}

static void test_maps_at_most_20_times_their_cost(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    rig.fake.n_maps = 0;
    for (int i = 0; i < 12; i++) {
        attribute_rig_space(&rig)->maps_cost_nsec =
            SEC / 5; /* as if it had taken 200 ms: each 4 s */
        attribute_rig_push(&rig, 0, 64 * M, 1);
        attribute_rig_round(&rig, 1);
    }
    assert_in_range(rig.fake.n_maps, 2, 3);
    attribute_rig_deinit(&rig);
}

static void test_old_samples_outside_ask_for_nothing(void **state)
{
    struct attribute_rig rig;
    struct access access = {.pid = SPACE_PID, .tid = SPACE_PID, .addr = 64 * M};

    (void)state;
    init_known(&rig);
    access.when_nsec = attribute_rig_space(&rig)->maps_nsec; /* taken before the maps were read */
    assert_int_equal(attribute_push(rig.attribute, &rig.target, &access, 1), 0);
    assert_false(attribute_rig_space(&rig)->maps_wanted);
    access.when_nsec++;
    assert_int_equal(attribute_push(rig.attribute, &rig.target, &access, 1), 0);
    assert_true(attribute_rig_space(&rig)->maps_wanted);
    attribute_rig_deinit(&rig);
}

/* A process above numa_maps_limit: its policies are read when a claim needs them, once. */
static void test_policy_before_a_claim_can_be_acted_on(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    rig.config->numa_maps_limit_bytes = 0;
    attribute_rig_round(&rig, 1); /* 10 samples are no claim */
    assert_string_equal(rig.fake.log, "pages");
    attribute_rig_push(&rig, 0, BASE, 20);
    rig.held = true;
    attribute_rig_round(&rig, 1);
    assert_int_equal(range_evidence(attribute_rig_range(&rig, BASE)), REASON_UNCONFIRMED);
    assert_int_equal(attribute_rig_policy(&rig, BASE), REASON_POLICY_UNKNOWN);
    assert_true(thread_mask_overlaps(&attribute_rig_range(&rig, BASE)->threads,
                                     &attribute_rig_space(&rig)->unknown_policy));
    fake_host_clear_log(&rig.fake);
    attribute_rig_dispatch(&rig);
    assert_string_equal(rig.fake.log, "maps numa_maps task pages");
    assert_int_equal(attribute_rig_policy(&rig, BASE), REASON_NONE);
    assert_false(thread_mask_overlaps(&attribute_rig_range(&rig, BASE)->threads,
                                      &attribute_rig_space(&rig)->unknown_policy));
    rig.held = false;
    rig.fake.n_files_read = 0;
    for (int i = 0; i < 10; i++) {
        attribute_rig_push(&rig, 0, BASE, 20);
        attribute_rig_round(&rig, 1);
    }
    assert_int_equal(rig.fake.n_files_read, 0);
    assert_int_equal(range_evidence(attribute_rig_range(&rig, BASE)), REASON_NONE);
    attribute_rig_deinit(&rig);
}

/* The same where only a group of ranges has enough samples. */
static void test_policy_before_a_groups_claim_can_be_acted_on(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    rig.config->numa_maps_limit_bytes = 0;
    for (int round = 0; round < 4; round++) {
        for (uint64_t i = 1; i < 8; i++)
            attribute_rig_push(&rig, 0, BASE + i * 2 * M, 3);
        attribute_rig_round(&rig, 1);
    }
    assert_int_equal(attribute_rig_range(&rig, BASE + 2 * M)->claim.n_passes, 0);
    assert_ptr_not_equal(space_find_evidence(attribute_rig_space(&rig),
                                             attribute_rig_range(&rig, BASE + 2 * M), 0.6),
                         attribute_rig_range(&rig, BASE + 2 * M));
    assert_int_equal(attribute_rig_policy(&rig, BASE), REASON_NONE);
    assert_false(thread_mask_overlaps(&attribute_rig_space(&rig)->unknown_policy,
                                      &attribute_rig_range(&rig, BASE)->threads));
    attribute_rig_deinit(&rig);
}

static void test_policies_are_refreshed_each_5_seconds(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    attribute_rig_round(&rig, 1);
    assert_int_equal(attribute_rig_policy(&rig, BASE), REASON_NONE);
    fake_host_set_file(&rig.fake, "proc/4711/numa_maps", "1000000 bind:0\n"); /* mbind, no split */
    for (int i = 0; i < 4; i++) {
        attribute_rig_push(&rig, 0, BASE, 1);
        attribute_rig_round(&rig, 1);
        assert_int_equal(attribute_rig_policy(&rig, BASE), REASON_NONE);
    }
    attribute_rig_push(&rig, 0, BASE, 1);
    attribute_rig_round(&rig, 1);
    assert_int_equal(attribute_rig_policy(&rig, BASE), REASON_BIND);
    attribute_rig_deinit(&rig);
}

static void test_dear_policies_are_refreshed_seldom(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    attribute_rig_round(&rig, 1);
    rig.fake.n_files_read = 0;
    for (int i = 0; i < 24; i++) {
        attribute_rig_space(&rig)->policy_cost_nsec = SEC / 50; /* 20 ms: each 10 s */
        attribute_rig_push(&rig, 0, BASE, 1);
        attribute_rig_round(&rig, 1);
    }
    assert_int_equal(rig.fake.n_files_read, 2 * 2); /* numa_maps and one thread, twice */
    attribute_rig_deinit(&rig);
}

static void test_policies_that_do_not_match_ask_for_maps_again(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    fake_host_set_file(&rig.fake, "proc/4711/numa_maps", "1000000 default\n1800000 bind:0\n");
    attribute_rig_push(&rig, 0, BASE, 20);
    attribute_rig_round(&rig, 1);
    assert_int_equal(attribute_rig_policy(&rig, BASE), REASON_POLICY_UNKNOWN);
    assert_true(attribute_rig_space(&rig)->maps_wanted);
    attribute_rig_set_maps(&rig, "1000000-1800000 rw-p 0 0:0 0 \n1800000-2000000 rw-p 0 0:0 0 \n");
    fake_host_clear_log(&rig.fake);
    attribute_rig_push(&rig, 0, BASE, 20);
    attribute_rig_round(&rig, 1);
    assert_string_equal(rig.fake.log, "maps numa_maps task pages");
    assert_int_equal(attribute_rig_policy(&rig, BASE), REASON_NONE);
    assert_int_equal(attribute_rig_policy(&rig, BASE + 8 * M), REASON_BIND);
    attribute_rig_deinit(&rig);
}

static void test_exec_forgets_everything_and_reads_anew(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    attribute_rig_push(&rig, 0, BASE, 50);
    attribute_rig_round(&rig, 1);
    assert_int_equal(attribute_rig_range(&rig, BASE)->claim.n_passes, 1);
    fake_host_exec(&rig.fake); /* the new program has the same addresses */
    attribute_rig_push(&rig, 0, 64 * M, 1);
    attribute_rig_round(&rig, 1);
    assert_null(attribute_rig_space(&rig)->ranges);
    assert_null(attribute_rig_space(&rig)->threads);
    assert_int_equal(attribute_n_ranges(rig.attribute), 0);
    assert_false(attribute_rig_space(&rig)->maps_known);
    fake_host_clear_log(&rig.fake);
    attribute_rig_push(&rig, 0, BASE, 1); /* asks at once */
    attribute_rig_dispatch(&rig);
    assert_string_equal(rig.fake.log, "maps");
    assert_true(attribute_rig_space(&rig)->maps_known);
    assert_int_equal(attribute_rig_policy(&rig, BASE), REASON_POLICY_UNKNOWN);
    attribute_rig_push(&rig, 0, BASE, 1);
    assert_int_equal(attribute_rig_range(&rig, BASE)->claim.n_passes, 0);
    attribute_rig_deinit(&rig);
}

static const int failures[] = {-EIO, PROCFS_DENIED};

/* A failed read must not lose the file that shows an exec. */
static void test_exec_after_a_failed_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(failures); i++) {
        struct attribute_rig rig;

        init_known(&rig);
        fake_host_set_result(&rig.fake, "proc/4711/maps", failures[i]);
        attribute_rig_push(&rig, 0, 64 * M, 1);
        attribute_rig_round(&rig, 1);
        assert_int_equal(attribute_n_ranges(rig.attribute), 1); /* what was known stays */
        assert_int_equal(attribute_rig_space(&rig)->denied, failures[i] == PROCFS_DENIED);
        fake_host_exec(&rig.fake);
        attribute_rig_set_maps(&rig, ANON);
        attribute_rig_push(&rig, 0, 64 * M, 1);
        attribute_rig_round(&rig, 1);
        assert_int_equal(attribute_n_ranges(rig.attribute), 0);
        attribute_rig_deinit(&rig);
    }
}

static void test_maps_that_fail_at_first_are_asked_again(void **state)
{
    struct attribute_rig rig;

    (void)state;
    attribute_rig_init(&rig, ANON, DEFAULT);
    fake_host_set_result(&rig.fake, "proc/4711/maps", -EIO);
    attribute_rig_push(&rig, 0, BASE, 1);
    attribute_rig_dispatch(&rig);
    for (int i = 0; i < 100; i++) {
        attribute_rig_push(&rig, 0, BASE, 1);
        attribute_rig_dispatch(&rig);
    }
    assert_int_equal(rig.fake.n_maps, 1); /* not within the same second */
    attribute_rig_set_maps(&rig, ANON);
    rig.now += SEC;
    attribute_rig_push(&rig, 0, BASE, 1);
    attribute_rig_dispatch(&rig);
    assert_true(attribute_rig_space(&rig)->maps_known);
    attribute_rig_deinit(&rig);
}

static void test_addresses_of_one_sample_count_once_per_range(void **state)
{
    struct attribute_rig rig;
    struct access sample[6];

    (void)state;
    init_known(&rig);
    for (uint64_t i = 0; i < 6; i++)
        sample[i] = (struct access){.when_nsec = rig.now + 1,
                                    .pid = SPACE_PID,
                                    .tid = SPACE_PID + (i == 5), /* another thread's sample */
                                    .cpu = 2,
                                    .addr = BASE + (i % 2) * 2 * M + i * 64,
                                    .weight_sec = 0.001};
    assert_int_equal(attribute_push(rig.attribute, &rig.target, sample, 6), 0);
    assert_true(tally_n(&attribute_rig_range(&rig, BASE)->window, 8) == 1);
    assert_true(tally_n(&attribute_rig_range(&rig, BASE + 2 * M)->window, 8) == 2);
    assert_true(tally_sec(&attribute_rig_range(&rig, BASE)->window, 8) > 0.0029);
    attribute_rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps_at_the_first_sample),
        cmocka_unit_test(test_order_in_a_round),
        cmocka_unit_test(test_maps_at_most_once_a_second),
        cmocka_unit_test(test_maps_at_most_20_times_their_cost),
        cmocka_unit_test(test_old_samples_outside_ask_for_nothing),
        cmocka_unit_test(test_policy_before_a_claim_can_be_acted_on),
        cmocka_unit_test(test_policy_before_a_groups_claim_can_be_acted_on),
        cmocka_unit_test(test_policies_are_refreshed_each_5_seconds),
        cmocka_unit_test(test_dear_policies_are_refreshed_seldom),
        cmocka_unit_test(test_policies_that_do_not_match_ask_for_maps_again),
        cmocka_unit_test(test_exec_forgets_everything_and_reads_anew),
        cmocka_unit_test(test_exec_after_a_failed_read),
        cmocka_unit_test(test_maps_that_fail_at_first_are_asked_again),
        cmocka_unit_test(test_addresses_of_one_sample_count_once_per_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
