/* Topologies of real machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"
#include "numabd/topology.h"
#include "tree.h"
#include "util/array.h"

static struct topology *read_tree(struct tree *tree)
{
    struct topology *topology = NULL;

    assert_int_equal(topology_new(&topology, tree->root), 0);
    assert_non_null(topology);
    return topology;
}

static void check_cpus(const struct topology *topology)
{
    for (int cpu = 0; cpu < topology->n_cpu_ids; cpu++) {
        int node = topology->cpu_node[cpu];

        assert_in_range(node + 1, 0, topology->n_node_ids);
        assert_true(node < 0 || (topology->nodes[node].online && topology->nodes[node].has_cpus));
    }
}

static void check_nodes(const struct topology *topology)
{
    int n_memory_nodes = 0;

    for (int from = 0; from < topology->n_node_ids; from++) {
        const struct node *node = &topology->nodes[from];

        n_memory_nodes += node->has_memory;
        assert_int_equal(node->has_memory, node->total_bytes > 0);
        assert_true(node->online || !(node->has_memory || node->has_cpus));
        for (int to = 0; to < topology->n_node_ids; to++) {
            unsigned distance = topology_distance(topology, from, to);

            if (node->online && topology->nodes[to].online)
                assert_true(from == to ? distance == 10 : distance >= 10);
            else
                assert_int_equal(distance, TOPOLOGY_UNREACHABLE);
        }
    }
    assert_int_equal(n_memory_nodes, topology->n_memory_nodes);
    assert_true(topology->nodes[topology->n_node_ids - 1].online);
}

static void check_fixture(const char *name)
{
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    tree_init(&tree);
    fixture_unpack(&tree, name);
    topology = read_tree(&tree);
    print_message("  %s: %d memory nodes, node ids to %d, CPU ids to %d\n", name,
                  topology->n_memory_nodes, topology->n_node_ids - 1, topology->n_cpu_ids - 1);
    check_nodes(topology);
    check_cpus(topology);
    assert_int_equal(topology_read_room(topology, tree.root), 0);
}

static void test_all_fixtures(void **state)
{
    (void)state;
    if (!fixture_available())
        skip();
    assert_true(fixture_each("topo-*.txt", check_fixture) > 0);
}

static void test_fixtures_by_name(void **state)
{
    static const struct {
        const char *name;
        int n_memory_nodes, n_node_ids, n_cpu_ids;
        int from, to;
        unsigned distance;
        int cpu, node;
    } fixtures[] = {
        {"topo-16-nodes-tiny-memory.txt", 16, 16, 64, 3, 15, 20, 63, 15},
        {"topo-2n-possible-112-present-32.txt", 2, 2, 112, 0, 1, 21, 16, 0},
        {"topo-buggy-numa-all-nodes-own-all-cpus.txt", 8, 8, 8, 0, 7, 10, 7, 0},
        {"topo-cpuset-restricted-cpu4-offline.txt", 8, 8, 16, 0, 1, 20, 4, -1},
        {"topo-hetero-memtiers.txt", 7, 10, 6, 9, 8, 20, 4, 2},
        {"topo-i386-no-numa-no-hugepages.txt", 1, 1, 2, 0, 0, 10, 1, 0},
        {"topo-k8s-nri-server.txt", 6, 6, 112, 4, 0, 17, 111, 3},
        {"topo-kunpeng-4n-asymmetric-distances.txt", 4, 4, 128, 0, 3, 33, 127, 3},
        {"topo-node_exporter-3n-memory-only-node2.txt", 3, 3, 4, 0, 2, 20, 3, 1},
        {"topo-power7-nodes-0-1-4-5-8-9-12-13.txt", 8, 14, -1, 12, 13, 20, 999999, -1},
        {"topo-s390-no-node-dir.txt", 1, 1, 64, 0, 0, 10, 19, 0},
        {"topo-ia64-17-nodes-cpuless-node16.txt", 17, 17, -1, 0, 16, 14, 999999, -1},
    };

    (void)state;
    if (!fixture_available())
        skip();
    for (size_t i = 0; i < ARRAY_LENGTH(fixtures); i++) {
        CLEANUP(tree_deinit) struct tree tree = {0};
        CLEANUP(topology_freep) struct topology *topology = NULL;

        print_message("  %s\n", fixtures[i].name);
        tree_init(&tree);
        fixture_unpack(&tree, fixtures[i].name);
        topology = read_tree(&tree);
        assert_int_equal(topology->n_memory_nodes, fixtures[i].n_memory_nodes);
        assert_int_equal(topology->n_node_ids, fixtures[i].n_node_ids);
        if (fixtures[i].n_cpu_ids >= 0)
            assert_int_equal(topology->n_cpu_ids, fixtures[i].n_cpu_ids);
        assert_int_equal(topology_distance(topology, fixtures[i].from, fixtures[i].to),
                         fixtures[i].distance);
        assert_int_equal(topology_cpu_node(topology, fixtures[i].cpu), fixtures[i].node);
    }
}

static void test_fixture_with_isolated_cpus(void **state)
{
    CLEANUP(tree_deinit) struct tree tree = {0};
    CLEANUP(topology_freep) struct topology *topology = NULL;

    (void)state;
    if (!fixture_available())
        skip();
    tree_init(&tree);
    fixture_unpack(&tree, "topo-k8s-nri-server.txt");
    topology = read_tree(&tree);
    for (int cpu = 0; cpu < topology->n_cpu_ids; cpu++)
        assert_int_equal(topology->cpu_isolated[cpu],
                         (cpu >= 4 && cpu <= 7) || (cpu >= 60 && cpu <= 63));
    assert_false(topology->nodes[4].has_cpus || topology->nodes[5].has_cpus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_fixtures),
        cmocka_unit_test(test_fixtures_by_name),
        cmocka_unit_test(test_fixture_with_isolated_cpus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
