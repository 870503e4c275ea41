#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numabd/topology.h"
#include "tree.h"
#include "util/array.h"

#define NODES "sys/devices/system/node/"
#define CPUS "sys/devices/system/cpu/"
#define MEMINFO(node) NODES "node" #node "/meminfo", "Node " #node " MemTotal: 1024 kB\n"
#define TREE_ADD(tree, files) tree_add(tree, files, ARRAY_LENGTH(files))

static struct topology *read_tree(struct tree *tree)
{
    struct topology *topology = NULL;

    assert_int_equal(topology_new(&topology, tree->root), 0);
    assert_non_null(topology);
    return topology;
}

static void assert_row(const struct topology *topology, int from, const int *to,
                       const unsigned *distances, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(topology_distance(topology, from, to[i]), distances[i]);
}

static void test_sparse_ids_of_power9(void **state)
{
    static const struct tree_file files[] = {
        {NODES "online", "0,8,252-255\n"},
        {CPUS "online", "0-7\n"},
        {NODES "node0/cpulist", "0-3\n"},
        {NODES "node8/cpulist", "4-7\n"},
        {NODES "node252/cpulist", "\n"},
        {NODES "node0/distance", "10 40 80 80 80 80\n"},
        {NODES "node8/distance", "40 10 80 80 80 80\n"},
        {NODES "node252/distance", "80 80 10 60 61 62\n"},
        {NODES "node255/distance", "80 81 82 83 84 10\n"},
        {MEMINFO(0)},
        {MEMINFO(8)},
        {NODES "node252/meminfo", "Node 252 MemTotal: 0 kB\n"},
    };
    static const int ids[] = {0, 8, 252, 253, 254, 255};
    static const unsigned row252[] = {80, 80, 10, 60, 61, 62}, row255[] = {80, 81, 82, 83, 84, 10};
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    topology = read_tree(&tree);
    assert_int_equal(topology->n_node_ids, 256);
    assert_int_equal(topology->n_memory_nodes, 2);
    assert_int_equal(topology_cpu_node(topology, 7), 8);
    assert_true(topology->nodes[8].online && topology->nodes[8].has_cpus);
    assert_false(topology->nodes[1].online);
    assert_true(topology->nodes[252].online);
    assert_false(topology->nodes[252].has_memory || topology->nodes[252].has_cpus);
    assert_row(topology, 252, ids, row252, ARRAY_LENGTH(ids));
    assert_row(topology, 255, ids, row255, ARRAY_LENGTH(ids));
    assert_int_equal(topology_distance(topology, 253, 253), 10); /* no file: the defaults */
    assert_int_equal(topology_distance(topology, 253, 0), 20);
    assert_int_equal(topology_distance(topology, 0, 1), TOPOLOGY_UNREACHABLE);
    assert_int_equal(topology_distance(topology, 1, 1), TOPOLOGY_UNREACHABLE);
}

/* The column of node 72 is the sixth. */
static void test_distances_by_column_of_online_nodes(void **state)
{
    static const struct tree_file files[] = {
        {NODES "online", "0-3,33,72\n"},
        {NODES "node33/distance", "21 22 23 24 10 31\n"},
        {NODES "node72/distance", "41 42 43 44 45 10\n"},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    topology = read_tree(&tree);
    assert_int_equal(topology_distance(topology, 33, 72), 31);
    assert_int_equal(topology_distance(topology, 72, 33), 45);
    assert_int_equal(topology_distance(topology, 33, 3), 24);
    assert_int_equal(topology_distance(topology, 33, 4), TOPOLOGY_UNREACHABLE);
    assert_true(topology_relative(topology, 33, 72) == 3.1);
    assert_true(topology_relative(topology, 33, 33) == 1.0);
}

/* The kernel puts the blank before every node but node 0. */
static void test_no_node_0(void **state)
{
    static const struct tree_file files[] = {
        {NODES "online", "1-2\n"},
        {CPUS "online", "0-3\n"},
        {NODES "node1/cpulist", "0-1\n"},
        {NODES "node2/cpulist", "2-3\n"},
        {NODES "node1/distance", " 10 17\n"},
        {NODES "node2/distance", " 18 10\n"},
        {MEMINFO(1)},
        {MEMINFO(2)},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    topology = read_tree(&tree);
    assert_int_equal(topology->n_node_ids, 3);
    assert_false(topology->nodes[0].online);
    assert_false(topology_has_memory(topology, 0));
    assert_int_equal(topology->n_memory_nodes, 2);
    assert_int_equal(topology_distance(topology, 1, 2), 17);
    assert_int_equal(topology_distance(topology, 2, 1), 18);
    assert_int_equal(topology_cpu_node(topology, 0), 1);
}

static void test_nodes_without_memory_or_cpus(void **state)
{
    static const struct tree_file files[] = {
        {NODES "online", "0-3\n"},
        {CPUS "online", "0-3\n"},
        {NODES "node0/cpulist", "0-1\n"},
        {NODES "node1/cpulist", "2-3\n"},
        {NODES "node2/cpulist", "\n"},
        {NODES "node3/cpulist", ""},
        {MEMINFO(0)},
        {NODES "node1/meminfo", "Node 1 MemTotal:       0 kB\n"},
        {NODES "node2/meminfo", "\nNode 2 MemTotal:    1024 kB\nNode 2 MemFree: 1 kB\n"},
        {NODES "node3/meminfo", "Node 3 MemTotal:       0 kB\n"},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    topology = read_tree(&tree);
    assert_int_equal(topology->n_memory_nodes, 2);
    assert_true(topology->nodes[1].has_cpus && !topology->nodes[1].has_memory);
    assert_true(!topology->nodes[2].has_cpus && topology->nodes[2].has_memory);
    assert_false(topology->nodes[3].has_cpus || topology->nodes[3].has_memory);
    assert_int_equal(topology->nodes[2].total_bytes, 1 << 20);
    assert_false(topology_has_memory(topology, 1));
    assert_true(topology_has_memory(topology, 2));
    assert_false(topology_has_memory(topology, -1));
    assert_false(topology_has_memory(topology, 4));
}

/* GPU nodes that are out of each other's reach. */
static void test_unreachable_nodes(void **state)
{
    static const struct tree_file files[] = {
        {NODES "online", "0-2\n"},
        {NODES "node0/distance", "10 80 80\n"},
        {NODES "node1/distance", "80 10 255\n"},
        {NODES "node2/distance", "80 255 10\n"},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    topology = read_tree(&tree);
    assert_int_equal(topology_distance(topology, 1, 2), TOPOLOGY_UNREACHABLE);
    assert_int_equal(topology_distance(topology, 1, 0), 80);
    assert_true(topology_relative(topology, 1, 2) == 25.5);
}

static void test_garbage_rows_fall_back_alone(void **state)
{
    static const struct {
        const char *row;
        bool good;
    } cases[] = {
        {"11 21 31\n", true},   {"11 21 31", true},        {"11 21 31 \n", true},
        {" 11  21 31\n", true}, {"11 21 255\n", true},     {"11 21 31 41\n", false},
        {"11 21\n", false},     {"11 21 \n", false},       {"", false},
        {"\n", false},          {"11 21 256\n", false},    {"11 21 0\n", false},
        {"11 21 -31\n", false}, {"11 21 31x\n", false},    {"11,21,31\n", false},
        {"11 x 31\n", false},   {"11 21 31\n41\n", false}, {"11 21 4294967306\n", false},
        {"112131\n", false},    {"11 21 31\n\n", false},
    };
    static const struct tree_file files[] = {
        {NODES "online", "0-2\n"},
        {NODES "node1/distance", "22 12 32\n"},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(topology_freep) struct topology *topology = NULL;

        print_message("  \"%s\"\n", cases[i].row);
        tree_write(&tree, NODES "node0/distance", cases[i].row, strlen(cases[i].row));
        topology = read_tree(&tree);
        assert_int_equal(topology_distance(topology, 0, 0), cases[i].good ? 11 : 10);
        assert_int_equal(topology_distance(topology, 0, 1), cases[i].good ? 21 : 20);
        assert_int_equal(topology_distance(topology, 1, 0), 22);
        assert_int_equal(topology_distance(topology, 1, 2), 32);
        assert_int_equal(topology_distance(topology, 2, 1), 20);
    }
}

static void add_large_node(struct tree *tree, int node)
{
    char path[64], content[600];
    int size = 0;

    snprintf(path, sizeof path, NODES "node%d/cpulist", node);
    snprintf(content, sizeof content, "%d-%d,%d-%d\n", node * 8, node * 8 + 7, 512 + node * 8,
             512 + node * 8 + 7);
    tree_write(tree, path, content, strlen(content));
    snprintf(path, sizeof path, NODES "node%d/meminfo", node);
    snprintf(content, sizeof content, "Node %d MemTotal: %d kB\n", node, 1000 + node);
    tree_write(tree, path, content, strlen(content));
    snprintf(path, sizeof path, NODES "node%d/distance", node);
    for (int to = 0; to < 64; to++)
        size += snprintf(content + size, sizeof content - (size_t)size, "%d ",
                         to == node ? 10 : 100 + to);
    tree_write(tree, path, content, (size_t)size);
}

static void test_1024_cpus_and_64_nodes(void **state)
{
    static const struct tree_file files[] = {
        {NODES "online", "0-63\n"},
        {CPUS "online", "0-1023\n"},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    for (int node = 0; node < 64; node++)
        add_large_node(&tree, node);
    topology = read_tree(&tree);
    assert_int_equal(topology->n_memory_nodes, 64);
    assert_int_equal(topology->n_cpu_ids, 1024);
    for (int cpu = 0; cpu < 1024; cpu++)
        assert_int_equal(topology_cpu_node(topology, cpu), cpu % 512 / 8);
    for (int to = 0; to < 64; to++)
        assert_int_equal(topology_distance(topology, 63, to), to == 63 ? 10 : 100 + to);
    assert_int_equal(topology->nodes[63].total_bytes, 1063 * 1024);
}

static void test_isolated_and_offline_cpus(void **state)
{
    static const struct tree_file files[] = {
        {NODES "online", "0-1\n"},        {CPUS "online", "0-3,5-7\n"},
        {CPUS "isolated", "2-3,40\n"},    {CPUS "nohz_full", "7\n"},
        {NODES "node0/cpulist", "0-3\n"}, {NODES "node1/cpulist", "4-9\n"},
    };
    static const int nodes[] = {0, 0, 0, 0, -1, 1, 1, 1};
    static const bool isolated[] = {0, 0, 1, 1, 0, 0, 0, 1};
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    topology = read_tree(&tree);
    assert_int_equal(topology->n_cpu_ids, 8);
    for (int cpu = 0; cpu < 8; cpu++) {
        assert_int_equal(topology_cpu_node(topology, cpu), nodes[cpu]);
        assert_int_equal(topology->cpu_isolated[cpu], isolated[cpu]);
    }
    assert_int_equal(topology_cpu_node(topology, 8), -1);
    assert_int_equal(topology_cpu_node(topology, -1), -1);
    assert_int_equal(topology_cpu_node(topology, INT_MAX), -1);
    assert_int_equal(topology_cpu_node(topology, INT_MIN), -1);
}

/* Kernels without nohz_full CPUs print "(null)" or blanks into it. */
static void test_nohz_full_without_cpus(void **state)
{
    static const char *const contents[] = {"  (null)\n", "       \n", "\n", ""};
    static const struct tree_file files[] = {
        {NODES "online", "0\n"},
        {CPUS "online", "0-3\n"},
        {CPUS "isolated", "1\n"},
        {NODES "node0/cpulist", "0-3\n"},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    for (size_t i = 0; i < ARRAY_LENGTH(contents); i++) {
        CLEANUP(topology_freep) struct topology *topology = NULL;

        tree_write(&tree, CPUS "nohz_full", contents[i], strlen(contents[i]));
        topology = read_tree(&tree);
        for (int cpu = 0; cpu < 4; cpu++)
            assert_int_equal(topology->cpu_isolated[cpu], cpu == 1);
    }
}

static void test_overlapping_cpus_stay_with_the_first_node(void **state)
{
    static const struct tree_file files[] = {
        {NODES "online", "0-2\n"},
        {CPUS "online", "0-3\n"},
        {NODES "node0/cpulist", "0-3\n"},
        {NODES "node1/cpulist", "0-3\n"},
        {NODES "node2/cpulist", "0-3\n"},
        {NODES "node0/distance", "10 10 10\n"},
        {NODES "node1/distance", "10 10 10\n"},
        {NODES "node2/distance", "10 10 10\n"},
        {MEMINFO(0)},
        {MEMINFO(1)},
        {MEMINFO(2)},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    topology = read_tree(&tree);
    for (int cpu = 0; cpu < 4; cpu++)
        assert_int_equal(topology_cpu_node(topology, cpu), 0);
    assert_true(topology->nodes[0].has_cpus);
    assert_false(topology->nodes[1].has_cpus || topology->nodes[2].has_cpus);
    assert_int_equal(topology->n_memory_nodes, 3);
    assert_true(topology_relative(topology, 0, 2) == 1.0); /* no gain from a move */
}

static void test_distances_of_any_int(void **state)
{
    static const int ids[] = {INT_MIN, -1, 1, 1024, INT_MAX};
    static const struct tree_file files[] = {{NODES "online", "0\n"}};
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    topology = read_tree(&tree);
    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++) {
        assert_int_equal(topology_distance(topology, ids[i], 0), TOPOLOGY_UNREACHABLE);
        assert_int_equal(topology_distance(topology, 0, ids[i]), TOPOLOGY_UNREACHABLE);
        assert_true(topology_relative(topology, ids[i], ids[i]) > 20); /* local to nothing */
    }
}

static void check_libnuma(const struct topology *topology)
{
    const char *difference = topology_compare_libnuma(topology);

    if (difference)
        print_message("%s\n", difference);
    assert_null(difference);
}

/* The machine that runs the test, and the same with one thing changed. */
static void test_libnuma_agrees_on_this_machine(void **state)
{
    CLEANUP(topology_freep) struct topology *topology = NULL;
    int local;

    (void)state;
    assert_int_equal(topology_new(&topology, "/"), 0);
    assert_true(topology->n_memory_nodes >= 1);
    check_libnuma(topology);
    local = topology->nodes[0].online ? topology->cpu_node[0] : -1;
    if (local < 0)
        skip();
    topology->cpu_node[0] = local + 1;
    assert_non_null(topology_compare_libnuma(topology));
    topology->cpu_node[0] = local;
    topology->distances[0] = 11;
    assert_non_null(topology_compare_libnuma(topology));
    topology->distances[0] = 10;
    check_libnuma(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sparse_ids_of_power9),
        cmocka_unit_test(test_distances_by_column_of_online_nodes),
        cmocka_unit_test(test_no_node_0),
        cmocka_unit_test(test_nodes_without_memory_or_cpus),
        cmocka_unit_test(test_unreachable_nodes),
        cmocka_unit_test(test_garbage_rows_fall_back_alone),
        cmocka_unit_test(test_1024_cpus_and_64_nodes),
        cmocka_unit_test(test_isolated_and_offline_cpus),
        cmocka_unit_test(test_nohz_full_without_cpus),
        cmocka_unit_test(test_overlapping_cpus_stay_with_the_first_node),
        cmocka_unit_test(test_distances_of_any_int),
        cmocka_unit_test(test_libnuma_agrees_on_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
