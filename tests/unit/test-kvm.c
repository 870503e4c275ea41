/* The kvm source on /proc trees of QEMU, libvirt and Cloud Hypervisor, and of what is no machine.
 */
#include "kvm_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/kvm/kvm.h"
#include "sample/kvm/vmm.h"
#include "util/cleanup.h"
#include "util/procfs.h"

#define RAM(id, size) "-object memory-backend-ram,id=" id ",size=" size " "
#define LD "7f8000000000-7f8000001000 r--p 00000000 fe:01 77 /usr/lib/ld-linux-x86-64.so.2\n"
/* 512 MiB at KVM_BASE, 1 GiB at HIGH */
#define HIGH UINT64_C(0x7f1000000000)
#define MAPS_ONE "7f0000000000-7f0020000000 rw-p 00000000 00:00 0 \n" LD
#define MAPS_TWO                                                                                   \
    "7f0000000000-7f0020000000 rw-p 00000000 00:00 0 \n"                                           \
    "7f1000000000-7f1040000000 rw-p 00000000 00:00 0 \n" LD
#define ALL_ADDRESSES 0, UINT64_MAX
#define assert_sec(a, b) assert_true(fabs((a) - (b)) < 1e-6)

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct kvm_world));
    assert_non_null(*state);
    kvm_world_open(*state);
    return 0;
}

static int teardown(void **state)
{
    kvm_world_close(*state);
    free(*state);
    return 0;
}

/* QEMU with libvirt's thread names and two vCPUs on 512 MiB. */
static void make_qemu(struct kvm_world *world, pid_t pid)
{
    kvm_world_process(world, pid, 2);
    kvm_world_thread(world, pid, pid, "qemu-system-x86", 900, 0, 0);
    kvm_world_thread(world, pid, pid + 1, "CPU 0/KVM", 1000, 500, 0);
    kvm_world_thread(world, pid, pid + 2, "CPU 1/KVM", 1000, 500, 2);
    kvm_world_thread(world, pid, pid + 3, "IO iothread1", 1000, 0, 2);
    kvm_world_cmdline(world, pid, "qemu-system-x86_64 -m 512M -smp 2");
    kvm_world_maps(world, pid, MAPS_ONE);
}

static void test_qemu_with_one_node(void **state)
{
    struct kvm_world *world = *state;

    make_qemu(world, KVM_PID);
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "1 virtual machine, 2 vCPUs"));
    assert_int_equal(world->n_accesses, 0); /* nothing to compare with */
    kvm_world_thread(world, KVM_PID, KVM_PID, "qemu-system-x86", 990, 0, 0);
    kvm_world_thread(world, KVM_PID, KVM_PID + 1, "CPU 0/KVM", 1100, 575, 1);
    kvm_world_thread(world, KVM_PID, KVM_PID + 2, "CPU 1/KVM", 1100, 525, 3);
    kvm_world_thread(world, KVM_PID, KVM_PID + 3, "IO iothread1", 1090, 0, 2);
    kvm_world_round(world, 1);
    assert_int_equal(world->n_accesses, 256); /* each 2 MiB once */
    assert_sec(kvm_world_sec(world, 0, KVM_BASE, KVM_BASE + 512 * MIB), 1);
    /* A quarter of the draws, give or take four standard deviations. */
    assert_in_range(kvm_world_count(world, KVM_PID + 2, ALL_ADDRESSES), 64 - 28, 64 + 28);
    for (uint64_t at = 0; at < 512; at += 2)
        assert_int_equal(kvm_world_count(world, 0, KVM_BASE + at * MIB, KVM_BASE + (at + 2) * MIB),
                         1);
    for (size_t i = 0; i < world->n_accesses; i++) {
        const struct access *access = &world->accesses[i];

        assert_int_equal(access->pid, KVM_PID);
        assert_int_equal(access->cpu, access->tid == KVM_PID + 1 ? 1 : 3);
        assert_int_equal(access->kind, ACCESS_READ_WRITE);
        assert_int_equal(access->source, ACCESS_SOURCE_KVM);
        assert_int_equal(access->when_nsec, world->now - (world->n_accesses - 1 - i));
    }
    kvm_world_round(world, 1); /* the guest slept */
    assert_int_equal(world->n_accesses, 0);
}

static void make_two_nodes(struct kvm_world *world, const char *cmdline)
{
    kvm_world_process(world, KVM_PID, 4);
    for (int i = 0; i < 4; i++) {
        char name[32];

        snprintf(name, sizeof name, "CPU %d/KVM", i);
        kvm_world_thread(world, KVM_PID, KVM_PID + 1 + i, name, 1000, 500, i);
    }
    kvm_world_cmdline(world, KVM_PID, cmdline);
    kvm_world_maps(world, KVM_PID, MAPS_TWO);
    kvm_world_round(world, 1);
}

static void run_vcpus(struct kvm_world *world)
{
    for (int i = 0; i < 4; i++) {
        char name[32];

        snprintf(name, sizeof name, "CPU %d/KVM", i);
        kvm_world_thread(world, KVM_PID, KVM_PID + 1 + i, name, 1100, 600, i);
    }
    kvm_world_round(world, 1);
}

/* Two guest nodes: each vCPU uses its own node's memory only. */
static void test_qemu_with_two_nodes(void **state)
{
    struct kvm_world *world = *state;

    make_two_nodes(
        world, "qemu " RAM("m0", "1G")
                   RAM("m1", "512M") "-numa node,cpus=0-1,memdev=m0 -numa node,cpus=2-3,memdev=m1");
    assert_true(kvm_world_is(world, "1 virtual machine, 4 vCPUs"));
    run_vcpus(world);
    assert_sec(kvm_world_sec(world, 0, HIGH, HIGH + GIB), 2);
    assert_sec(kvm_world_sec(world, 0, KVM_BASE, KVM_BASE + 512 * MIB), 2);
    for (int i = 0; i < 4; i++) {
        uint64_t own = i < 2 ? HIGH : KVM_BASE, other = i < 2 ? KVM_BASE : HIGH;

        assert_true(kvm_world_count(world, KVM_PID + 1 + i, own, own + GIB) > 50);
        assert_int_equal(kvm_world_count(world, KVM_PID + 1 + i, other, other + GIB), 0);
    }
}

static void test_node_without_cpus_is_left_alone(void **state)
{
    struct kvm_world *world = *state;

    make_two_nodes(world, "qemu " RAM("m0", "1G") RAM(
                              "m1", "512M") "-numa node,cpus=0-3,memdev=m0 -numa node,memdev=m1");
    run_vcpus(world);
    assert_sec(kvm_world_sec(world, 0, HIGH, HIGH + GIB), 4);
    assert_int_equal(kvm_world_count(world, 0, KVM_BASE, KVM_BASE + GIB), 0);
}

static void test_node_without_memory_uses_that_of_the_others(void **state)
{
    struct kvm_world *world = *state;

    make_two_nodes(world,
                   "qemu " RAM("m0", "1G")
                       RAM("m1", "512M") "-numa node,cpus=0,memdev=m0 -numa node,cpus=1,memdev=m1 "
                                         "-numa node,cpus=2-3");
    run_vcpus(world);
    for (int i = 2; i < 4; i++) {
        assert_true(kvm_world_count(world, KVM_PID + 1 + i, HIGH, HIGH + GIB) > 0);
        assert_true(kvm_world_count(world, KVM_PID + 1 + i, KVM_BASE, KVM_BASE + GIB) > 0);
    }
    assert_int_equal(kvm_world_count(world, KVM_PID + 1, KVM_BASE, KVM_BASE + GIB), 0);
    assert_int_equal(kvm_world_count(world, KVM_PID + 2, HIGH, HIGH + GIB), 0);
}

static void test_cloud_hypervisor(void **state)
{
    struct kvm_world *world = *state;

    kvm_world_process(world, KVM_PID, 1);
    kvm_world_thread(world, KVM_PID, KVM_PID, "cloud-hyperviso", 1000, 0, 0);
    kvm_world_thread(world, KVM_PID, KVM_PID + 1, "vmm", 1000, 0, 0);
    kvm_world_thread(world, KVM_PID, KVM_PID + 2, "vcpu0", 1000, 0, 3);
    kvm_world_cmdline(world, KVM_PID, "cloud-hypervisor --memory size=1536M --cpus boot=1");
    kvm_world_maps(world, KVM_PID, MAPS_TWO);
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "1 virtual machine, 1 vCPU"));
    kvm_world_thread(world, KVM_PID, KVM_PID + 2, "vcpu0", 1100, 0, 3); /* no guest time here */
    kvm_world_round(world, 1);
    assert_int_equal(kvm_world_count(world, KVM_PID + 2, HIGH, HIGH + GIB), 512);
    assert_int_equal(kvm_world_count(world, KVM_PID + 2, KVM_BASE, KVM_BASE + GIB), 256);
    assert_sec(kvm_world_sec(world, KVM_PID + 2, ALL_ADDRESSES), 1);
}

/* Without debug-threads the names tell nothing; the node of such a vCPU stays unknown. */
static void test_vcpus_without_names(void **state)
{
    struct kvm_world *world = *state;

    kvm_world_process(world, KVM_PID, 2);
    kvm_world_thread(world, KVM_PID, KVM_PID, "qemu-system-x86", 1000, 0, 0);
    kvm_world_thread(world, KVM_PID, KVM_PID + 1, "qemu-system-x86", 1000, 500, 0);
    kvm_world_thread(world, KVM_PID, KVM_PID + 2, "qemu-system-x86", 5, 0, 0); /* starts later */
    kvm_world_cmdline(world, KVM_PID,
                      "qemu " RAM("m0", "1G") RAM(
                          "m1", "512M") "-numa node,cpus=0,memdev=m0 -numa node,cpus=1,memdev=m1");
    kvm_world_maps(world, KVM_PID, MAPS_TWO);
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "1 virtual machine, 1 vCPU"));
    kvm_world_thread(world, KVM_PID, KVM_PID + 1, "qemu-system-x86", 1100, 600, 0);
    kvm_world_thread(world, KVM_PID, KVM_PID + 2, "qemu-system-x86", 60, 50, 0);
    kvm_world_round(world, 5); /* one vCPU is missing: looked at soon */
    assert_true(kvm_world_is(world, "1 virtual machine, 2 vCPUs"));
    assert_true(kvm_world_count(world, KVM_PID + 1, HIGH, HIGH + GIB) > 0);
    assert_true(kvm_world_count(world, KVM_PID + 1, KVM_BASE, KVM_BASE + GIB) > 0);
}

static void test_links(void **state)
{
    (void)state;
    assert_true(vmm_link_is_vcpu("anon_inode:kvm-vcpu:0"));
    assert_true(vmm_link_is_vcpu("anon_inode:kvm-vcpu"));
    assert_false(vmm_link_is_vcpu("anon_inode:kvm-vm"));
    assert_false(vmm_link_is_vcpu("anon_inode:kvm-vcpu-stats:0"));
    assert_false(vmm_link_is_vcpu("anon_inode:kvm-vcpux"));
    assert_false(vmm_link_is_vcpu("/dev/kvm"));
    assert_false(vmm_link_is_vcpu("/tmp/anon_inode:kvm-vcpu:0"));
    assert_false(vmm_link_is_vcpu(""));
}

/* libvirt itself asks what KVM can do; threads called vcpu0 make no machine of it. */
static void test_open_device_alone_is_no_machine(void **state)
{
    struct kvm_world *world = *state;

    make_qemu(world, KVM_PID);
    kvm_world_remove(world, KVM_PID, "fd");
    kvm_world_process(world, KVM_PID, 0);
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "0 virtual machines, 0 vCPUs"));
    assert_int_equal(kvm_world_count(world, 0, ALL_ADDRESSES), 0);
}

static void test_becoming_a_machine_later(void **state)
{
    struct kvm_world *world = *state;

    kvm_world_process(world, KVM_PID, 0);
    kvm_world_round(world, 1);
    make_qemu(world, KVM_PID);
    kvm_world_round(world, 59);
    assert_true(kvm_world_is(world, "0 virtual machines, 0 vCPUs"));
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "1 virtual machine, 2 vCPUs"));
}

static void test_ended_thread(void **state)
{
    struct kvm_world *world = *state;

    make_qemu(world, KVM_PID);
    kvm_world_round(world, 1);
    kvm_world_remove(world, KVM_PID, "task/4713");
    kvm_world_thread(world, KVM_PID, KVM_PID + 1, "CPU 0/KVM", 1100, 600, 1);
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "1 virtual machine, 1 vCPU"));
    assert_sec(kvm_world_sec(world, KVM_PID + 1, ALL_ADDRESSES), 1);
    kvm_world_remove(world, KVM_PID, "task/4712");
    kvm_world_remove(world, KVM_PID, "fd"); /* another program runs in it */
    kvm_world_process(world, KVM_PID, 0);
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "0 virtual machines, 0 vCPUs"));
    assert_int_equal(world->n_accesses, 0);
}

/* A tid that is used again by a thread of another time adds nothing. */
static void test_tid_of_another_thread(void **state)
{
    struct kvm_world *world = *state;
    static const char text[] =
        "4712 (CPU 0/KVM) S 1 1 1 0 -1 64 9 9 9 9 9000 9000 0 0 20 0 3 0 6000 "
        "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 17 1 0 0 0 9000 0 1 1 1 1 1 1 1 0\n";

    make_qemu(world, KVM_PID);
    kvm_world_round(world, 1);
    tree_write(&world->tree, "proc/4711/task/4712/stat", text, sizeof text - 1);
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "1 virtual machine, 1 vCPU"));
    assert_int_equal(world->n_accesses, 0);
}

/* The pid is another process's by the time it is looked at. */
static void test_reused_pid(void **state)
{
    struct kvm_world *world = *state;

    make_qemu(world, KVM_PID);
    world->targets[0].start_ticks = KVM_START - 1;
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "0 virtual machines, 0 vCPUs"));
    world->targets[0].start_ticks = KVM_START; /* discover has seen it */
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "1 virtual machine, 2 vCPUs"));
}

static void test_answer_about_an_earlier_process_is_dropped(void **state)
{
    struct kvm_world *world = *state;

    make_qemu(world, KVM_PID);
    world->held = true;
    kvm_world_round(world, 1);
    world->targets[0].start_ticks = KVM_START - 1;
    kvm_world_round(world, 1);
    assert_int_equal(worker_pool_dispatch(world->pool, 1), 1);
    assert_true(kvm_world_is(world, "0 virtual machines, 0 vCPUs"));
    assert_int_equal(worker_pool_dispatch(world->pool, 0), 1); /* the one about this process */
}

static void test_unwanted_process(void **state)
{
    struct kvm_world *world = *state;

    make_qemu(world, KVM_PID);
    kvm_world_round(world, 1);
    kvm_world_thread(world, KVM_PID, KVM_PID + 1, "CPU 0/KVM", 1100, 600, 1);
    world->unwanted = KVM_PID; /* excluded while its request was out */
    kvm_world_round(world, 1);
    assert_int_equal(world->n_accesses, 0);
    assert_int_equal(world->source.ops->counts(world->source.self)->n_foreign, 1);
}

static void test_targets_that_leave_are_forgotten(void **state)
{
    struct kvm_world *world = *state;

    make_qemu(world, 100);
    make_qemu(world, 200);
    make_qemu(world, 300);
    for (int i = 0; i < 3; i++)
        world->targets[i] = (struct sample_target){.pid = 100 + 100 * i, .start_ticks = KVM_START};
    world->n_targets = 3;
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "3 virtual machines, 6 vCPUs"));
    world->targets[1] = world->targets[2];
    world->n_targets = 2;
    kvm_world_thread(world, 300, 301, "CPU 0/KVM", 1100, 600, 1);
    kvm_world_thread(world, 200, 201, "CPU 0/KVM", 1100, 600, 1);
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "2 virtual machines, 4 vCPUs"));
    assert_sec(kvm_world_sec(world, 301, ALL_ADDRESSES), 1);
    assert_sec(kvm_world_sec(world, 0, ALL_ADDRESSES), 1);
    world->n_targets = 0;
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "0 virtual machines, 0 vCPUs"));
}

/* At most 16 in a round, and each gets its turn, also when the first are to be looked at again. */
static void test_looks_are_bounded(void **state)
{
    struct kvm_world *world = *state;

    for (int i = 0; i < 40; i++) {
        make_qemu(world, 1000 + 10 * i);
        kvm_world_process(world, 1000 + 10 * i, 3); /* a vCPU is missing: again in 5 s */
        world->targets[i] = (struct sample_target){.pid = 1000 + 10 * i, .start_ticks = KVM_START};
    }
    world->n_targets = 40;
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "16 virtual machines, 32 vCPUs"));
    kvm_world_round(world, 10);
    assert_true(kvm_world_is(world, "32 virtual machines, 64 vCPUs"));
    kvm_world_round(world, 10);
    assert_true(kvm_world_is(world, "40 virtual machines, 80 vCPUs"));
}

static int denied_folder(void *self, const char *path, size_t limit,
                         bool (*visit)(void *userdata, const char *name), void *userdata)
{
    (void)self, (void)path, (void)limit, (void)visit, (void)userdata;
    return PROCFS_DENIED;
}

static void test_process_that_must_not_be_looked_into(void **state)
{
    struct kvm_world *world = *state;
    struct host_ops ops = *world->host.ops;

    make_qemu(world, KVM_PID);
    ops.list_folder = denied_folder;
    world->host.ops = &ops;
    kvm_world_restart(world);
    kvm_world_round(world, 1);
    assert_true(
        kvm_world_is(world, "0 virtual machines, 0 vCPUs, 1 process not to be looked into"));
}

/* As hosts of tests are. */
static void test_host_that_cannot_list(void **state)
{
    struct kvm_world *world = *state;
    struct host_ops ops = *world->host.ops;

    make_qemu(world, KVM_PID);
    ops.list_folder = NULL;
    world->host.ops = &ops;
    kvm_world_restart(world);
    kvm_world_round(world, 1);
    assert_true(kvm_world_is(world, "0 virtual machines, 0 vCPUs"));
}

/* 128 KiB of arguments are understood; one that is too long may say more behind its end. */
static void test_long_command_lines(void **state)
{
    struct kvm_world *world = *state;
    const struct {
        size_t padding;
        bool understood;
    } cases[] = {{128 << 10, true}, {1 << 20, false}};

    for (size_t i = 0; i < 2; i++) {
        CLEANUP(freep) char *text = calloc(1, cases[i].padding + 512);

        strcpy(text,
               "qemu " RAM("m0", "1G") RAM(
                   "m1",
                   "512M") "-numa node,cpus=0-1,memdev=m0 -numa node,cpus=2-3,memdev=m1 -append ");
        memset(text + strlen(text), 'x', cases[i].padding);
        world->n_targets = 0;
        kvm_world_round(world, 1);
        world->n_targets = 1;
        make_two_nodes(world, text);
        run_vcpus(world);
        assert_true(kvm_world_count(world, KVM_PID + 1, HIGH, HIGH + GIB) > 0);
        assert_int_equal(kvm_world_count(world, KVM_PID + 1, KVM_BASE, KVM_BASE + GIB) == 0,
                         cases[i].understood);
    }
}

static void test_machine_without_memory(void **state)
{
    struct kvm_world *world = *state;

    make_qemu(world, KVM_PID);
    kvm_world_maps(world, KVM_PID, LD);
    kvm_world_round(world, 1);
    kvm_world_thread(world, KVM_PID, KVM_PID + 1, "CPU 0/KVM", 1100, 600, 1);
    kvm_world_round(world, 1);
    assert_int_equal(world->n_accesses, 0);
    assert_int_equal(world->source.ops->counts(world->source.self)->n_unresolved, 1);
}

/* Requests that are still out when the source is freed. */
static void test_source_ends_before_its_requests(void **state)
{
    struct kvm_world *world = *state;

    make_qemu(world, KVM_PID);
    world->held = true;
    kvm_world_round(world, 1);
    source_deinit(&world->source);
    assert_int_equal(worker_pool_dispatch(world->pool, 0), 1);
    assert_int_equal(world->n_accesses, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_qemu_with_one_node),
        TEST(test_qemu_with_two_nodes),
        TEST(test_node_without_cpus_is_left_alone),
        TEST(test_node_without_memory_uses_that_of_the_others),
        TEST(test_cloud_hypervisor),
        TEST(test_vcpus_without_names),
        cmocka_unit_test(test_links),
        TEST(test_open_device_alone_is_no_machine),
        TEST(test_becoming_a_machine_later),
        TEST(test_ended_thread),
        TEST(test_tid_of_another_thread),
        TEST(test_reused_pid),
        TEST(test_answer_about_an_earlier_process_is_dropped),
        TEST(test_unwanted_process),
        TEST(test_targets_that_leave_are_forgotten),
        TEST(test_looks_are_bounded),
        TEST(test_process_that_must_not_be_looked_into),
        TEST(test_host_that_cannot_list),
        TEST(test_long_command_lines),
        TEST(test_machine_without_memory),
        TEST(test_source_ends_before_its_requests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
