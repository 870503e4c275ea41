/* What was done to processes, in the kernel's units: pages asked, samples, local ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute_rig.h"

#define ANON "1000000-2000000 rw-p 0 0:0 0 \n"
#define DEFAULT "1000000 default anon=4096 N0=4096\n"
#define BASE (16 * M)

/* Maps and residency of the first range are known: half of it on each node. */
static void init_known(struct attribute_rig *rig)
{
    attribute_rig_init(rig, ANON, DEFAULT);
    fake_host_place(&rig->fake, BASE, BASE + M, 0);
    fake_host_place(&rig->fake, BASE + M, BASE + 2 * M, 8);
    attribute_rig_push(rig, 0, BASE, 1);
    attribute_rig_dispatch(rig);
    attribute_rig_push(rig, 0, BASE, 1);
    attribute_rig_round(rig, 1);
    attribute_rig_round(rig, 1);
    attribute_rig_space(rig)->autonuma = (struct autonuma){0};
}

static struct autonuma sum_of(const struct attribute_rig *rig)
{
    struct autonuma sum;

    attribute_count_autonuma(rig->attribute, &sum);
    return sum;
}

static void a_sample_counts_once_however_many_addresses_it_has(void **state)
{
    struct attribute_rig rig;
    struct access sample[4];

    (void)state;
    init_known(&rig);
    for (unsigned i = 0; i < 4; i++)
        sample[i] = (struct access){.when_nsec = rig.now + 1,
                                    .pid = SPACE_PID,
                                    .tid = SPACE_PID + (i == 3), /* another thread's */
                                    .cpu = 0,
                                    .addr = BASE + i * 64,
                                    .weight_sec = 0.001};
    assert_int_equal(attribute_push(rig.attribute, &rig.target, sample, 4), 0);
    assert_int_equal(sum_of(&rig).n_hint_faults, 2);
    attribute_rig_deinit(&rig);
}

static void samples_are_local_by_the_share_that_lies_there(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    attribute_rig_push(&rig, 0, BASE, 4);
    assert_float_equal(sum_of(&rig).n_local, 2, 1e-9);
    attribute_rig_push(&rig, 0, BASE + 8 * M, 4); /* nothing is known: not local */
    attribute_rig_push(&rig, 0, 0x1000, 4);       /* in no VMA */
    assert_float_equal(sum_of(&rig).n_local, 2, 1e-9);
    assert_int_equal(sum_of(&rig).n_hint_faults, 12);
    attribute_rig_deinit(&rig);
}

static void what_the_hardware_says_of_a_sample_comes_first(void **state)
{
    struct attribute_rig rig;
    struct access access = {.pid = SPACE_PID, .tid = SPACE_PID, .addr = BASE, .weight_sec = 0.001};

    (void)state;
    init_known(&rig);
    for (int locality = ACCESS_LOCALITY_CACHE; locality <= ACCESS_LOCALITY_REMOTE; locality++) {
        access.when_nsec = ++rig.now;
        access.locality = (enum access_locality)locality;
        assert_int_equal(attribute_push(rig.attribute, &rig.target, &access, 1), 0);
    }
    assert_int_equal(sum_of(&rig).n_hint_faults, 3);
    assert_float_equal(sum_of(&rig).n_local, 1, 1e-9);
    attribute_rig_deinit(&rig);
}

static void pages_count_when_they_were_asked_and_never_by_numa_maps(void **state)
{
    struct attribute_rig rig;
    size_t before;

    (void)state;
    init_known(&rig);
    before = rig.fake.n_pages;
    for (int i = 0; i < 12; i++) {
        attribute_rig_push(&rig, 0, BASE, 1);
        attribute_rig_round(&rig, 1);
    }
    assert_true(rig.fake.n_pages > before);
    assert_int_equal(sum_of(&rig).n_pte_updates, rig.fake.n_pages - before);
    attribute_rig_deinit(&rig);
}

/* Totals that fall when a process ends would be no counters. */
static void counts_of_processes_that_have_gone_stay(void **state)
{
    struct attribute_rig rig;

    (void)state;
    init_known(&rig);
    attribute_rig_push(&rig, 0, BASE, 4);
    attribute_autonuma(rig.attribute, attribute_rig_space(&rig))->n_migrated = 7;
    attribute_drop(rig.attribute, SPACE_PID);
    attribute_autonuma(rig.attribute, NULL)->n_migrated += 3; /* a move that ended too late */
    assert_int_equal(sum_of(&rig).n_hint_faults, 4);
    assert_int_equal(sum_of(&rig).n_migrated, 10);
    attribute_rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_counts_once_however_many_addresses_it_has),
        cmocka_unit_test(samples_are_local_by_the_share_that_lies_there),
        cmocka_unit_test(what_the_hardware_says_of_a_sample_comes_first),
        cmocka_unit_test(pages_count_when_they_were_asked_and_never_by_numa_maps),
        cmocka_unit_test(counts_of_processes_that_have_gone_stay),
    };

    return cmocka_run_group_tests_name("attribute counts", tests, NULL, NULL);
}
