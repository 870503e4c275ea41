#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "numabd/topology.h"
#include "tree.h"
#include "util/array.h"

#define NODES "sys/devices/system/node/"
#define KIB UINT64_C(1024)

static uint64_t pages_to_bytes(uint64_t pages)
{
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Nodes 0 and 1 with this zoneinfo. */
static struct topology *read_zones(struct tree *tree, const char *zoneinfo)
{
    struct topology *topology = NULL;

    tree_init(tree);
    tree_write(tree, NODES "online", "0-1\n", 4);
    tree_write(tree, "proc/zoneinfo", zoneinfo, strlen(zoneinfo));
    assert_int_equal(topology_new(&topology, tree->root), 0);
    assert_int_equal(topology_read_room(topology, tree->root), 0);
    return topology;
}

static const struct {
    const char *shows, *zoneinfo;
    uint64_t free_pages[2], reserve_pages[2];
} cases[] = {
    {"low zones do not count beside Normal and Movable",
     "Node 0, zone      DMA\n"
     "  pages free     3840\n        high     81\n        managed  3840\n"
     "        protection: (0, 3018, 4554, 4554, 4554)\n"
     "Node 0, zone    DMA32\n"
     "  pages free     700000\n        high     16741\n        managed  772807\n"
     "        protection: (0, 0, 1536, 1536, 1536)\n"
     "Node 0, zone   Normal\n"
     "  pages free     281530\n        high     8517\n        managed  393216\n"
     "        protection: (0, 0, 0, 1000, 1000)\n"
     "Node 0, zone  Movable\n"
     "  pages free     5000\n        high     32\n        managed  6000\n"
     "        protection: (0, 0, 0, 0, 0)\n"
     "Node 1, zone   Normal\n"
     "  pages free     700\n        high     10\n        managed  900\n"
     "        protection: (0, 0, 0, 0, 0)\n"
     "Node 1, zone  Device\n"
     "  pages free     99999\n        high     1\n        managed  99999\n",
     {286530, 700},
     {9549, 10}},
    {"a node that has only low zones counts them; a zone below its reserve gives nothing",
     "Node 0, zone      DMA\n"
     "  pages free     100\n        high     81\n        managed  3840\n"
     "        protection: (0, 3018, 3018, 3018, 3018)\n"
     "Node 0, zone    DMA32\n"
     "  pages free     5000\n        high     50\n        managed  6000\n"
     "        protection: (0, 0, 0, 0, 0)\n"
     "Node 0, zone   Normal\n"
     "  pages free     0\n        high     0\n        managed  0\n"
     "        protection: (0, 0, 0, 0, 0)\n"
     "Node 0, zone  Movable\n"
     "  pages free     0\n        high     32\n        managed  0\n"
     "        protection: (0, 0, 0, 0, 0)\n",
     {5100, 0},
     {150, 0}},
    {"a full Normal zone is no missing one",
     "Node 0, zone    DMA32\n"
     "  pages free     5000\n        high     50\n        managed  6000\n"
     "Node 0, zone   Normal\n"
     "  pages free     0\n        high     40\n        managed  8000\n",
     {0, 0},
     {0, 0}},
    {"a small Normal zone that is protected from a large Movable one takes nothing from it",
     "Node 1, zone   Normal\n"
     "  pages free     1000\n        high     10\n        managed  2000\n"
     "        protection: (0, 0, 0, 8000000, 8000000)\n"
     "Node 1, zone  Movable\n"
     "  pages free     256000000\n        high     500\n        managed  256000000\n"
     "        protection: (0, 0, 0, 0, 0)\n",
     {0, 256001000},
     {0, 1500}},
    {"counters and per-CPU lists of the same names do not disturb",
     "Node 0, zone   Normal\n"
     "  per-node stats\n      nr_free_pages 9\n      high 7777\n"
     "  pages free     500\n        boost    0\n        min      1\n        low      2\n"
     "        high     3\n        promo    4\n        spanned  900\n        present  900\n"
     "        managed  800\n        cma      0\n        protection: (0, 5, 2)\n"
     "      nr_free_pages 500\n  pagesets\n    cpu: 0\n              count: 361\n"
     "              high:  378\n              batch: 63\n  vm stats threshold: 70\n"
     "  node_unreclaimable:  0\n  start_pfn:           1048576\n",
     {500, 0},
     {8, 0}},
    {"a node that is not known, and one beyond all",
     "Node 7, zone   Normal\n  pages free     500\n        high     3\n        managed  800\n"
     "Node 99999999999, zone   Normal\n  pages free     500\n        managed  800\n",
     {0, 0},
     {0, 0}},
    {"garbage",
     "Node 0, zone\nNode x, zone Normal\nNode 0 zone Normal\n\n  pages free\n"
     "Node 0, zone   Normal\n  pages free     99999999999999999999\n        managed  x\n"
     "        high\n        protection: (0, x\n",
     {0, 0},
     {0, 0}},
    {"nothing", "", {0, 0}, {0, 0}},
    {"cut in the middle",
     "Node 0, zone   Normal\n  pages free     500\n        high     3\n        managed  800\n"
     "Node 1, zone   Normal\n  pages free     50",
     {500, 0},
     {3, 0}},
};

static void test_zones(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(tree_deinit) struct tree tree = {0};
        CLEANUP(topology_freep) struct topology *topology = NULL;

        print_message("  %s\n", cases[i].shows);
        topology = read_zones(&tree, cases[i].zoneinfo);
        for (int node = 0; node < 2; node++) {
            assert_true(topology->nodes[node].free_bytes ==
                        pages_to_bytes(cases[i].free_pages[node]));
            assert_true(topology->nodes[node].reserve_bytes ==
                        pages_to_bytes(cases[i].reserve_pages[node]));
        }
    }
}

static void test_reading_again_replaces(void **state)
{
    static const char later[] = "Node 1, zone   Normal\n"
                                "  pages free     77\n        high     7\n        managed  800\n";
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = read_zones(&tree, cases[0].zoneinfo);

    (void)state;
    tree_write(&tree, "proc/zoneinfo", later, sizeof later - 1);
    assert_int_equal(topology_read_room(topology, tree.root), 0);
    assert_int_equal(topology->nodes[0].free_bytes, 0);
    assert_true(topology->nodes[1].free_bytes == pages_to_bytes(77));
    assert_true(topology->nodes[1].reserve_bytes == pages_to_bytes(7));
    tree_remove(&tree, "proc/zoneinfo");
    assert_int_equal(topology_read_room(topology, tree.root), 0);
    assert_int_equal(topology->nodes[1].free_bytes, 0);
}

static void test_clean_page_cache(void **state)
{
    static const struct {
        const char *meminfo;
        uint64_t kib;
    } caches[] = {
        {"Node 1 Inactive:         999 kB\nNode 1 Inactive(anon):  888 kB\n"
         "Node 1 Inactive(file):   1000 kB\nNode 1 Dirty:   100 kB\nNode 1 Writeback:    10 kB\n"
         "Node 1 WritebackTmp:     5 kB\n",
         890},
        {"Node 1 Inactive(file):   100 kB\nNode 1 Dirty:   100 kB\nNode 1 Writeback:    10 kB\n",
         0},
        {"Node 1 Inactive(file):   100 kB\n", 100},
        {"Node 1 Dirty:   100 kB\n", 0},
        {"Node 1 Inactive(file):   99999999999999999999 kB\n", 0},
        {"Node 1 Inactive(file):   18014398509481984 kB\n", 0}, /* 2^64 bytes */
        {"Node 1 Inactive(file):   100\n", 0},
        {"Inactive(file)\n\nNode \nNode 1\nNode 1 Inactive(file): 7 kB", 7},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = read_zones(&tree, "");

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(caches); i++) {
        tree_write(&tree, NODES "node1/meminfo", caches[i].meminfo, strlen(caches[i].meminfo));
        assert_int_equal(topology_read_room(topology, tree.root), 0);
        assert_true(topology->nodes[1].inactive_file_bytes == caches[i].kib * KIB);
    }
}

static void test_room_without_node_folders(void **state)
{
    static const struct tree_file files[] = {
        {"proc/meminfo", "MemTotal: 10000 kB\nDirty: 1 kB\nInactive(file): 5 kB\n"},
        {"proc/zoneinfo", "Node 0, zone   Normal\n  pages free     9\n        managed  10\n"},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    tree_add(&tree, files, ARRAY_LENGTH(files));
    assert_int_equal(topology_new(&topology, tree.root), 0);
    assert_int_equal(topology_read_room(topology, tree.root), 0);
    assert_true(topology->nodes[0].free_bytes == pages_to_bytes(9));
    assert_true(topology->nodes[0].inactive_file_bytes == 4 * KIB);
}

static void test_fixture(void **state)
{
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;
    char *text;
    size_t size;

    (void)state;
    if (!fixture_available())
        skip();
    text = fixture_read("zoneinfo-node0.txt", &size);
    assert_non_null(text);
    topology = read_zones(&tree, text);
    free(text);
    assert_true(topology->nodes[0].free_bytes == pages_to_bytes(18553));
    assert_true(topology->nodes[0].reserve_bytes == pages_to_bytes(16508));
}

/* The machine that runs the test. */
static void test_live_room(void **state)
{
    CLEANUP(topology_freep) struct topology *topology = NULL;
    uint64_t free_bytes = 0;

    (void)state;
    assert_int_equal(topology_new(&topology, "/"), 0);
    assert_int_equal(topology_read_room(topology, "/"), 0);
    for (int node = 0; node < topology->n_node_ids; node++) {
        const struct node *at = &topology->nodes[node];

        free_bytes += at->free_bytes;
        assert_true(at->free_bytes <= at->total_bytes);
        assert_true(at->reserve_bytes <= at->free_bytes);
        assert_true(at->inactive_file_bytes <= at->total_bytes);
    }
    assert_true(free_bytes > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zones),
        cmocka_unit_test(test_reading_again_replaces),
        cmocka_unit_test(test_clean_page_cache),
        cmocka_unit_test(test_room_without_node_folders),
        cmocka_unit_test(test_fixture),
        cmocka_unit_test(test_live_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
