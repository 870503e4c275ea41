/*
 * The node of a physical address, from trees like sysfs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_host.h"
#include "sample/mem/mem_phys.h"
#include "util/array.h"

#define BLOCK UINT64_C(0x8000000)

/* Nodes 0, 2 and 3; 3 has no memory. */
static struct node nodes[] = {
    {.online = true, .has_memory = true},
    {.online = false},
    {.online = true, .has_memory = true},
    {.online = true},
};
static const struct topology topology = {.n_node_ids = 4, .nodes = nodes};

struct fixture {
    struct fake_host fake;
    struct mem_phys *phys;
};

static void start(struct fixture *fixture)
{
    fixture->phys = NULL;
    fake_host_init(&fixture->fake);
    fake_host_set_file(&fixture->fake, "sys/devices/system/memory/block_size_bytes", "8000000\n");
    fake_host_set_file(&fixture->fake, "sys/devices/system/node/node0/memory0/state", "online\n");
    fake_host_set_file(&fixture->fake, "sys/devices/system/node/node0/memory1/state", "online\n");
    fake_host_set_file(&fixture->fake, "sys/devices/system/node/node2/memory1/state", "online\n");
    fake_host_set_file(&fixture->fake, "sys/devices/system/node/node2/memory32/state", "online\n");
    fake_host_set_file(&fixture->fake, "sys/devices/system/node/node3/memory40/state", "online\n");
    assert_int_equal(mem_phys_new(&fixture->phys, &fixture->fake.host, &topology), 0);
}

static void stop(struct fixture *fixture)
{
    mem_phys_free(fixture->phys);
    fake_host_deinit(&fixture->fake);
}

static const struct {
    const char *name;
    uint64_t address;
    int node;
} cases[] = {
    {"first block", 0x1000, 0},
    {"its last byte", BLOCK - 1, 0},
    {"a block of two nodes", BLOCK, -1},
    {"block 32", 32 * BLOCK, 2},
    {"its last byte", 33 * BLOCK - 1, 2},
    {"beyond it", 33 * BLOCK, -1},
    {"before it", 32 * BLOCK - 1, -1},
    {"0 is no address", 0, -1},
    {"a node without memory", 40 * BLOCK, -1},
    {"the end of the address space", UINT64_MAX, -1},
};

static void test_nodes(void **state)
{
    struct fixture fixture;

    (void)state;
    start(&fixture);
    for (unsigned pass = 0; pass < 2; pass++) /* looked up, then remembered */
        for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
            print_message("%s\n", cases[i].name);
            assert_int_equal(mem_phys_node(fixture.phys, cases[i].address), cases[i].node);
        }
    stop(&fixture);
}

/* A block costs one read per node with memory, once. */
static void test_remembers(void **state)
{
    struct fixture fixture;
    size_t n_before;

    (void)state;
    start(&fixture);
    n_before = fixture.fake.n_files_read;
    assert_int_equal(mem_phys_node(fixture.phys, 32 * BLOCK), 2);
    assert_int_equal(fixture.fake.n_files_read - n_before, 2);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(mem_phys_node(fixture.phys, 32 * BLOCK + i), 2);
    assert_int_equal(fixture.fake.n_files_read - n_before, 2);
    stop(&fixture);
}

/* What is beyond a drain's reads is unknown until the next, and is not remembered as unknown. */
static void test_reads_are_bounded(void **state)
{
    struct fixture fixture;
    size_t n_before;

    (void)state;
    start(&fixture);
    n_before = fixture.fake.n_files_read;
    for (uint64_t block = 1000; block < 2000; block++)
        mem_phys_node(fixture.phys, block * BLOCK);
    assert_int_equal(fixture.fake.n_files_read - n_before, 64);
    assert_int_equal(mem_phys_node(fixture.phys, 32 * BLOCK), -1);
    mem_phys_refill(fixture.phys);
    assert_int_equal(mem_phys_node(fixture.phys, 32 * BLOCK), 2);
    stop(&fixture);
}

static const char *const no_sizes[] = {"", "0\n", "x\n", "-1\n"};

static void test_kernel_does_not_tell(void **state)
{
    struct fake_host fake;
    struct mem_phys *phys = NULL;

    (void)state;
    fake_host_init(&fake);
    assert_int_equal(mem_phys_new(&phys, &fake.host, &topology), MEM_PHYS_NONE);
    for (size_t i = 0; i < ARRAY_LENGTH(no_sizes); i++) {
        fake_host_set_file(&fake, "sys/devices/system/memory/block_size_bytes", no_sizes[i]);
        assert_int_equal(mem_phys_new(&phys, &fake.host, &topology), MEM_PHYS_NONE);
    }
    assert_null(phys);
    assert_int_equal(mem_phys_node(NULL, 0x1000), -1);
    mem_phys_refill(NULL);
    fake_host_deinit(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_remembers),
        cmocka_unit_test(test_reads_are_bounded),
        cmocka_unit_test(test_kernel_does_not_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
