/* Which threads are vCPUs, and what they ran. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "sample/kvm/vmm_thread.h"
#include "util/array.h"

static struct vmm_thread thread_named(const char *name, const char *guest)
{
    struct vmm_thread thread;
    char text[512];

    snprintf(
        text, sizeof text,
        "42 (%s) S 1 1 1 0 -1 64 1 2 3 4 500 70 8 9 20 0 3 0 999 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
        "17 5 0 0 0 %s 0 1 1 1 1 1 1 1 0\n",
        name, guest);
    assert_int_equal(vmm_thread_parse(text, &thread), 0);
    return thread;
}

static void test_fields(void **state)
{
    struct vmm_thread thread = thread_named("CPU 12/KVM", "333");

    (void)state;
    assert_int_equal(thread.tid, 42);
    assert_int_equal(thread.start_ticks, 999);
    assert_int_equal(thread.cpu_ticks, 570);
    assert_int_equal(thread.guest_ticks, 333);
    assert_int_equal(thread.cpu, 5);
    assert_int_equal(thread.index, 12);
}

static void test_names(void **state)
{
    static const struct {
        const char *name;
        int index;
    } cases[] = {
        {"CPU 0/KVM", 0},
        {"CPU 1023/KVM", 1023},
        {"vcpu0", 0},
        {"vcpu17", 17},
        {"fc_vcpu 3", 3},
        {"crosvm_vcpu2", 2},
        {"kvm-vcpu-1", 1},
        {"CPU 0/TCG", -1}, /* emulated: its accesses are the process's own */
        {"CPU 0/KVMx", -1},
        {"CPU /KVM", -1},
        {"CPU -1/KVM", -1},
        {"xCPU 0/KVM", -1},
        {"CPU 99999999999/KVM", -1},
        {"vcpu", -1},
        {"vcpu1x", -1},
        {"vcpu_1", -1},
        {"fc_vcpu", -1},
        {"IO iothread1", -1},
        {"vhost-4711", -1},
        {"qemu-system-x86", -1},
        {"a) S 1 (vcpu0", -1},
        {"", -1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct vmm_thread thread = thread_named(cases[i].name, "0");

        if (thread.index != cases[i].index || thread.cpu_ticks != 570)
            fail_msg("%s: %d", cases[i].name, thread.index);
        assert_int_equal(vmm_thread_is_vcpu(&thread), cases[i].index >= 0);
    }
}

static void test_guest_time_tells_a_vcpu_without_a_name(void **state)
{
    struct vmm_thread thread = thread_named("qemu-system-x86", "1");

    (void)state;
    assert_int_equal(thread.index, -1);
    assert_true(vmm_thread_is_vcpu(&thread));
}

static void test_odd_texts(void **state)
{
    static const char *const texts[] = {
        "",
        "42",
        "42 (CPU 0/KVM",
        "42 CPU 0/KVM) S",
        ")42(",
        "42 (CPU 0/KVM) S 1 1 1 0 -1 64 1 2 3 4 500 70 8 9 20 0 3 0 999",
        "-1 (vcpu0) S 1 1 1 0 -1 64 1 2 3 4 500 70 8 9 20 0 3 0 999 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
        "17 5 "
        "0 0 0 1",
        "42 (vcpu0)S 1 1 1 0 -1 64 1 2 3 4 500 70 8 9 20 0 3 0 999 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
        "17 5 "
        "0 0 0 1",
        /* Linux 2.6.23: no guest time */
        "42 (vcpu0) S 1 1 1 0 -1 64 1 2 3 4 500 70 8 9 20 0 3 0 999 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
        "17 5 "
        "0 0 0",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct vmm_thread thread = {.tid = 7};

        if (vmm_thread_parse(texts[i], &thread) != VMM_THREAD_MALFORMED)
            fail_msg("%s", texts[i]);
        assert_int_equal(thread.tid, 7);
    }
}

static void test_what_ran(void **state)
{
    const struct vmm_thread was = {.tid = 1, .start_ticks = 2, .cpu_ticks = 100, .guest_ticks = 50};
    static const struct {
        const char *name;
        struct vmm_thread now;
        uint64_t ran;
    } cases[] = {
        {"time in the guest counts", {1, 2, 190, 110, 0, 0}, 60},
        {"exits alone are none of the guest's", {1, 2, 190, 50, 0, 0}, 0},
        {"another thread with the tid", {1, 3, 190, 110, 0, 0}, 0},
        {"another tid", {2, 2, 190, 110, 0, 0}, 0},
        {"time that goes back", {1, 2, 90, 40, 0, 0}, 0},
    };
    const struct vmm_thread unaccounted = {1, 2, 100, 0, 0, 0}, later = {1, 2, 130, 0, 0, 0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        if (vmm_thread_ran(&was, &cases[i].now) != cases[i].ran)
            fail_msg("%s", cases[i].name);
    assert_int_equal(vmm_thread_ran(&unaccounted, &later), 30); /* no guest time: all of it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_guest_time_tells_a_vcpu_without_a_name),
        cmocka_unit_test(test_odd_texts),
        cmocka_unit_test(test_what_ran),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
