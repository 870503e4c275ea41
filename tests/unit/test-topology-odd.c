/* Trees that lack something, hold garbage or change under the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

static void test_no_node_folder(void **state)
{
    static const struct tree_file files[] = {
        {CPUS "online", "0-3,8\n"},
        {"proc/meminfo", "MemTotal:        2048 kB\nMemFree: 1 kB\n"},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    topology = read_tree(&tree);
    assert_int_equal(topology->n_node_ids, 1);
    assert_int_equal(topology->n_memory_nodes, 1);
    assert_true(topology->nodes[0].online && topology->nodes[0].has_cpus);
    assert_int_equal(topology->nodes[0].total_bytes, 2 << 20);
    assert_int_equal(topology_cpu_node(topology, 3), 0);
    assert_int_equal(topology_cpu_node(topology, 4), -1);
    assert_int_equal(topology_cpu_node(topology, 8), 0);
    assert_int_equal(topology_distance(topology, 0, 0), 10);
}

static void test_nothing_at_all(void **state)
{
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;
    CLEANUP(topology_freep) struct topology *nowhere = NULL;

    (void)state;
    tree_init(&tree);
    topology = read_tree(&tree);
    assert_int_equal(topology->n_node_ids, 1);
    assert_int_equal(topology->n_memory_nodes, 0);
    assert_int_equal(topology->n_cpu_ids, 0);
    assert_int_equal(topology_cpu_node(topology, 0), -1);
    assert_int_equal(topology_read_room(topology, tree.root), 0);
    assert_int_equal(topology->nodes[0].free_bytes, 0);
    assert_int_equal(topology_new(&nowhere, "/nonexistent"), 0);
    assert_int_equal(nowhere->n_memory_nodes, 0);
    assert_null(topology_free(NULL));
}

static void test_folders_that_are_no_nodes(void **state)
{
    static const struct tree_file files[] = {
        {NODES "node0/cpulist", "0\n"},
        {NODES "node2/cpulist", "1\n"},
        {NODES "firmware_node/cpulist", "0\n"},
        {NODES "node", NULL},
        {NODES "nodeX", NULL},
        {NODES "node01", NULL},
        {NODES "node00", NULL},
        {NODES "node1.bak", NULL},
        {NODES "node-1", NULL},
        {NODES "node+1", NULL},
        {NODES "node 1", NULL},
        {NODES "node1024", NULL},
        {NODES "node2147483647", NULL},
        {NODES "node4294967297", NULL},
        {NODES "node18446744073709551617", NULL},
        {NODES "has_cpu", "0-5\n"},
        {NODES "possible", "0-1023\n"},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    topology = read_tree(&tree);
    assert_int_equal(topology->n_node_ids, 3);
    assert_true(topology->nodes[0].online && topology->nodes[2].online);
    assert_false(topology->nodes[1].online);
    assert_int_equal(topology_cpu_node(topology, 1), 2);
}

static void test_garbage_in_lists(void **state)
{
    static const char *const contents[] = {"garbage\n", "0-2147483647\n", "0-1024\n", "\n", "-1\n"};
    static const struct tree_file files[] = {
        {CPUS "online", "0-3\n"},
        {NODES "node0/cpulist", "0-1\n"},
        {NODES "node1/cpulist", "2-2147483647\n"},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    for (size_t i = 0; i < ARRAY_LENGTH(contents); i++) {
        CLEANUP(topology_freep) struct topology *topology = NULL;

        tree_write(&tree, NODES "online", contents[i], strlen(contents[i]));
        topology = read_tree(&tree);
        assert_int_equal(topology->n_node_ids, 2); /* from the folders */
        assert_int_equal(topology_cpu_node(topology, 1), 0);
        assert_int_equal(topology_cpu_node(topology, 2), -1);
        assert_true(topology->nodes[1].online && !topology->nodes[1].has_cpus);
    }
}

/* Old kernels put a NUL behind their lists. */
static void test_list_with_a_nul_behind(void **state)
{
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    tree_write(&tree, NODES "online", "0-1\n\0", 5);
    tree_write(&tree, CPUS "online", "0-1\n\0", 5);
    tree_write(&tree, NODES "node1/cpulist", "1\n\0", 3);
    topology = read_tree(&tree);
    assert_int_equal(topology->n_node_ids, 2);
    assert_int_equal(topology_cpu_node(topology, 1), 1);
}

static void test_hot_add_and_remove(void **state)
{
    static const struct tree_file before[] = {
        {NODES "online", "0\n"},
        {CPUS "online", "0-1\n"},
        {NODES "node0/cpulist", "0-1\n"},
        {NODES "node0/distance", "10\n"},
        {MEMINFO(0)},
    };
    static const struct tree_file added[] = {
        {NODES "online", "0,3\n"},           {CPUS "online", "0-1,64\n"},
        {NODES "node3/cpulist", "64\n"},     {NODES "node0/distance", "10 25\n"},
        {NODES "node3/distance", "25 10\n"}, {MEMINFO(3)},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *first = NULL;
    CLEANUP(topology_freep) struct topology *second = NULL;
    CLEANUP(topology_freep) struct topology *third = NULL;

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, before);
    first = read_tree(&tree);
    TREE_ADD(&tree, added);
    second = read_tree(&tree);
    assert_int_equal(first->n_memory_nodes, 1);
    assert_int_equal(topology_cpu_node(first, 64), -1);
    assert_int_equal(topology_distance(first, 0, 3), TOPOLOGY_UNREACHABLE);
    assert_int_equal(second->n_memory_nodes, 2);
    assert_int_equal(topology_cpu_node(second, 64), 3);
    assert_int_equal(topology_distance(second, 3, 0), 25);
    tree_remove(&tree, NODES "node3");
    TREE_ADD(&tree, before);
    assert_int_equal(topology_read_room(second, tree.root), 0); /* node 3 went meanwhile */
    assert_int_equal(second->nodes[3].inactive_file_bytes, 0);
    third = read_tree(&tree);
    assert_int_equal(third->n_node_ids, 1);
}

/* The list names a node whose folder is gone: its column stays, the rest is unknown. */
static void test_online_node_without_a_folder(void **state)
{
    static const struct tree_file files[] = {
        {NODES "online", "0-2\n"},
        {NODES "node0/distance", "10 21 31\n"},
        {NODES "node2/distance", "31 32 10\n"},
        {MEMINFO(0)},
        {MEMINFO(2)},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    topology = read_tree(&tree);
    assert_int_equal(topology_distance(topology, 0, 2), 31);
    assert_int_equal(topology_distance(topology, 2, 1), 32);
    assert_false(topology_has_memory(topology, 1));
    assert_int_equal(topology->n_memory_nodes, 2);
}

static void test_cpus_go_and_come(void **state)
{
    static const struct tree_file files[] = {
        {CPUS "possible", "0-7\n"},
        {CPUS "online", "0-3\n"},
        {NODES "online", "0-1\n"},
        {NODES "node0/cpulist", "0-1\n"},
        {NODES "node1/cpulist", "2-3\n"},
        {MEMINFO(0)},
        {MEMINFO(1)},
        {NODES "node0/distance", "10 21\n"},
        {NODES "node1/distance", "21 10\n"},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;
    struct topology_online online = {0};

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    topology = read_tree(&tree);
    assert_int_equal(topology->n_cpu_ids, 8);
    assert_int_equal(topology_cpu_node(topology, 6), -1);
    assert_int_equal(topology_follow(topology, &online, tree.root), 0); /* the first look */
    assert_int_equal(topology_follow(topology, &online, tree.root), 0);
    tree_write(&tree, CPUS "online", "0-2,6\n", 6);
    tree_write(&tree, NODES "node1/cpulist", "2,6\n", 4);
    assert_int_equal(topology_follow(topology, &online, tree.root), TOPOLOGY_CHANGED);
    assert_int_equal(topology_cpu_node(topology, 3), -1);
    assert_int_equal(topology_cpu_node(topology, 6), 1);
    assert_int_equal(topology_follow(topology, &online, tree.root), 0);
}

static void test_nodes_go_and_too_many_come(void **state)
{
    static const struct tree_file files[] = {
        {CPUS "online", "0-1\n"},
        {NODES "online", "0-1\n"},
        {NODES "node0/cpulist", "0\n"},
        {NODES "node1/cpulist", "1\n"},
        {MEMINFO(0)},
        {MEMINFO(1)},
        {NODES "node0/distance", "10 21\n"},
        {NODES "node1/distance", "21 10\n"},
    };
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;
    struct topology_online online = {0};

    (void)state;
    tree_init(&tree);
    TREE_ADD(&tree, files);
    topology = read_tree(&tree);
    assert_int_equal(topology_follow(topology, &online, tree.root), 0);
    tree_write(&tree, NODES "online", "0\n", 2);
    assert_int_equal(topology_follow(topology, &online, tree.root), TOPOLOGY_CHANGED);
    assert_int_equal(topology->n_memory_nodes, 1);
    assert_false(topology_has_memory(topology, 1));
    assert_int_equal(topology_distance(topology, 0, 1), TOPOLOGY_UNREACHABLE);
    tree_write(&tree, NODES "online", "0-2\n", 4);
    assert_int_equal(topology_follow(topology, &online, tree.root), TOPOLOGY_OUTGROWN);
    assert_int_equal(topology->n_node_ids, 2); /* and is said once, not each round */
    assert_int_equal(topology_follow(topology, &online, tree.root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_node_folder),
        cmocka_unit_test(test_nothing_at_all),
        cmocka_unit_test(test_folders_that_are_no_nodes),
        cmocka_unit_test(test_garbage_in_lists),
        cmocka_unit_test(test_list_with_a_nul_behind),
        cmocka_unit_test(test_hot_add_and_remove),
        cmocka_unit_test(test_online_node_without_a_folder),
        cmocka_unit_test(test_cpus_go_and_come),
        cmocka_unit_test(test_nodes_go_and_too_many_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
