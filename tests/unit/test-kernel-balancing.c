/* When the kernel's own balancing is paused, put back, and left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_host.h"
#include "migrate/kernel_balancing.h"
#include "util/array.h"
#include "util/procfs.h"

#define SYSCTL "proc/sys/kernel/numa_balancing"

static const struct kernel_balancing_facts ready = {.wanted = true};

struct bed {
    char folder[64], path[96];
    struct fake_host host;
    struct undo *undo;
    struct kernel_balancing kernel;
    char said[1024];
    unsigned n_said;
};

static void bed_say(void *userdata, const char *line)
{
    struct bed *bed = userdata;

    snprintf(bed->said, sizeof bed->said, "%s", line);
    bed->n_said++;
}

static void bed_init(struct bed *bed, const char *value)
{
    struct undo_reason reason;

    *bed = (struct bed){.folder = "/tmp/numabd-kernel-XXXXXX"};
    assert_non_null(mkdtemp(bed->folder));
    snprintf(bed->path, sizeof bed->path, "%s/undo", bed->folder);
    fake_host_init(&bed->host);
    if (value)
        fake_host_set_file(&bed->host, SYSCTL, value);
    assert_int_equal(undo_new(&bed->undo, bed->path, &bed->host.host, &reason), 0);
    bed->kernel.undo = bed->undo;
}

static void bed_deinit(struct bed *bed)
{
    undo_free(bed->undo);
    fake_host_deinit(&bed->host);
    unlink(bed->path);
    rmdir(bed->folder);
}

static void bed_rounds(struct bed *bed, const struct kernel_balancing_facts *facts, unsigned n)
{
    while (n-- > 0)
        assert_int_equal(kernel_balancing_round(&bed->kernel, facts, bed_say, bed), 0);
}

static void assert_value(const struct bed *bed, unsigned long long expected)
{
    unsigned long long value = 99;

    assert_int_equal(undo_get(bed->undo, UNDO_NUMA_BALANCING, &value), 0);
    assert_int_equal(value, expected);
}

static void only_bit_0_is_cleared_and_it_comes_back(void **state)
{
    static const struct {
        const char *before, *state;
        unsigned long long value, paused;
    } cases[] = {
        {"1\n", "paused", 1, 0},
        {"3\n", "paused", 3, 2},
        {"2\n", "tiering", 2, 2},
        {"0\n", "off", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct kernel_balancing_facts observing = {.wanted = true, .observing = true};
        struct bed bed;

        bed_init(&bed, cases[i].before);
        bed_rounds(&bed, &ready, KERNEL_BALANCING_ROUNDS - 1);
        assert_value(&bed, cases[i].value); /* not yet */
        bed_rounds(&bed, &ready, 10);
        assert_value(&bed, cases[i].paused);
        assert_string_equal(bed.kernel.state, cases[i].state);
        bed_rounds(&bed, &observing, 1);
        assert_value(&bed, cases[i].value);
        assert_int_equal(bed.n_said, cases[i].value == cases[i].paused ? 0 : 2);
        assert_int_equal(undo_n(bed.undo), 0);
        bed_deinit(&bed);
    }
}

static const struct {
    struct kernel_balancing_facts facts;
    const char *state;
} obstacles[] = {
    {{.wanted = false}, "on: kernel_balancing = leave"},
    {{.wanted = true, .observing = true}, "on: numabd only observes"},
    {{.wanted = true, .blind = true}, "on: no source sees who accesses memory in all processes"},
    {{.wanted = true, .partial = true}, "on: numabd balances the processes of [include] only"},
};

static void it_is_left_for_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(obstacles); i++) {
        struct bed bed;

        bed_init(&bed, "1\n");
        bed_rounds(&bed, &obstacles[i].facts, 10);
        assert_value(&bed, 1);
        assert_string_equal(bed.kernel.state, obstacles[i].state);
        assert_int_equal(bed.n_said, 0); /* status tells; the log is not for what never was */
        bed_rounds(&bed, &ready, KERNEL_BALANCING_ROUNDS);
        assert_value(&bed, 0);
        bed_rounds(&bed, &obstacles[i].facts, 1);
        assert_value(&bed, 1);
        bed_deinit(&bed);
    }
}

/* Each switch patches kernel code on all CPUs. */
static void a_source_that_comes_and_goes_switches_nothing(void **state)
{
    const struct kernel_balancing_facts blind = {.wanted = true, .blind = true};
    struct bed bed;

    (void)state;
    bed_init(&bed, "1\n");
    for (unsigned i = 0; i < 20; i++) {
        bed_rounds(&bed, &ready, KERNEL_BALANCING_ROUNDS - 1);
        bed_rounds(&bed, &blind, 1);
    }
    assert_value(&bed, 1);
    assert_int_equal(bed.n_said, 0);
    bed_deinit(&bed);
}

static void who_turns_it_on_again_has_the_last_word(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, "1\n");
    bed_rounds(&bed, &ready, 5);
    fake_host_set_file(&bed.host, SYSCTL, "1\n");
    bed_rounds(&bed, &ready, 20);
    assert_value(&bed, 1);
    assert_string_equal(bed.kernel.state, "on: somebody turned it on again");
    assert_string_equal(bed.said, "kernel balancing stays on: somebody turned it on again");
    assert_int_equal(bed.n_said, 2);
    assert_int_equal(undo_n(bed.undo), 0); /* it is theirs now */
    kernel_balancing_reset(&bed.kernel);   /* until the configuration is read anew */
    bed_rounds(&bed, &ready, 5);
    assert_value(&bed, 0);
    bed_deinit(&bed);
}

static void our_own_undo_is_nobody_elses_doing(void **state)
{
    const struct kernel_balancing_facts held = {.wanted = true, .observing = true};
    struct bed bed;

    (void)state;
    bed_init(&bed, "1\n");
    bed_rounds(&bed, &ready, 5);
    assert_int_equal(kernel_balancing_undo(&bed.kernel, bed_say, &bed), 0);
    assert_value(&bed, 1);
    bed_rounds(&bed, &held, 3);
    assert_string_equal(bed.kernel.state, "on: numabd only observes");
    bed_rounds(&bed, &ready, 5); /* resumed */
    assert_value(&bed, 0);
    bed_deinit(&bed);
}

static void who_turns_it_off_for_good_meanwhile_finds_it_off(void **state)
{
    const struct kernel_balancing_facts observing = {.wanted = true, .observing = true};
    struct bed bed;

    (void)state;
    bed_init(&bed, "3\n");
    bed_rounds(&bed, &ready, 5);
    assert_value(&bed, 2);
    fake_host_set_file(&bed.host, SYSCTL, "0\n");
    bed_rounds(&bed, &ready, 5);
    assert_string_equal(bed.kernel.state, "paused");
    bed_rounds(&bed, &observing, 1);
    assert_value(&bed, 0);
    assert_int_equal(undo_n(bed.undo), 0);
    bed_deinit(&bed);
}

static void a_kernel_that_refuses_is_asked_once(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, "1\n");
    bed.host.write_result = PROCFS_DENIED;
    bed_rounds(&bed, &ready, 30);
    assert_int_equal(bed.n_said, 1);
    assert_string_equal(bed.kernel.state,
                        "on: cannot set kernel.numa_balancing: Permission denied");
    bed_deinit(&bed);
}

static void a_kernel_without_it_has_nothing_to_pause(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, NULL);
    bed_rounds(&bed, &ready, 5);
    assert_string_equal(bed.kernel.state, "absent");
    bed.kernel =
        (struct kernel_balancing){.undo = NULL}; /* and without a journal it is not asked */
    bed_rounds(&bed, &ready, 5);
    assert_string_equal(bed.kernel.state, "");
    bed_deinit(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_bit_0_is_cleared_and_it_comes_back),
        cmocka_unit_test(it_is_left_for_a_reason),
        cmocka_unit_test(a_source_that_comes_and_goes_switches_nothing),
        cmocka_unit_test(who_turns_it_on_again_has_the_last_word),
        cmocka_unit_test(our_own_undo_is_nobody_elses_doing),
        cmocka_unit_test(who_turns_it_off_for_good_meanwhile_finds_it_off),
        cmocka_unit_test(a_kernel_that_refuses_is_asked_once),
        cmocka_unit_test(a_kernel_without_it_has_nothing_to_pause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
