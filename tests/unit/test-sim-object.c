/*
 * The simulator's page tables: pages by node are counted right however they are split and moved.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/object.h"
#include "sim/random.h"

#define NODES 4
#define PAGES (3 * SIM_CHUNK_PAGES + 100) /* the last chunk is short */

struct bed {
    struct sim_node nodes[NODES];
    struct sim_object *object;
};

static int setup(void **state)
{
    static struct bed bed;

    for (int node = 0; node < NODES; node++)
        bed.nodes[node] = sim_node_init(1, node, 64);
    bed.object = sim_object_new(1, PAGES);
    *state = &bed;
    return 0;
}

static int teardown(void **state)
{
    struct bed *bed = *state;

    sim_object_free(bed->object);
    return 0;
}

/* Every count there is agrees with page after page. */
static void check_counts(const struct bed *bed)
{
    uint64_t n_on[NODES] = {0}, counted[SIM_NODES_MAX] = {0};

    for (uint64_t page = 0; page < PAGES; page++)
        if (sim_object_node(bed->object, page) >= 0)
            n_on[sim_object_node(bed->object, page)]++;
    sim_object_count(bed->object, 0, PAGES, counted);
    for (int node = 0; node < NODES; node++) {
        assert_int_equal(bed->object->n_on[node], n_on[node]);
        assert_int_equal(counted[node], n_on[node]);
        assert_int_equal(bed->nodes[node].total - bed->nodes[node].free, n_on[node]);
    }
}

static void pages_begin_absent_and_come_when_placed(void **state)
{
    struct bed *bed = *state;

    assert_int_equal(sim_object_node(bed->object, 7), SIM_ABSENT);
    assert_true(sim_object_move(bed->object, bed->nodes, 0, SIM_CHUNK_PAGES, 1));
    assert_int_equal(sim_object_n_present(bed->object), 0);
    assert_true(sim_object_place(bed->object, bed->nodes, 10, 1000, 1));
    assert_int_equal(sim_object_n_present(bed->object), 1000);
    assert_int_equal(sim_object_node(bed->object, 9), SIM_ABSENT);
    assert_int_equal(sim_object_node(bed->object, 10), 1);
    check_counts(bed);
}

static void chunks_split_and_join(void **state)
{
    struct bed *bed = *state;

    assert_true(sim_object_place(bed->object, bed->nodes, 0, PAGES, 0));
    assert_null(bed->object->chunks[1].pages);
    assert_true(sim_object_move(bed->object, bed->nodes, SIM_CHUNK_PAGES + 3, 5, 2));
    assert_non_null(bed->object->chunks[1].pages);
    assert_int_equal(bed->nodes[2].n_arrived, 5);
    check_counts(bed);
    assert_true(sim_object_move(bed->object, bed->nodes, SIM_CHUNK_PAGES, SIM_CHUNK_PAGES, 2));
    assert_null(bed->object->chunks[1].pages);
    assert_int_equal(bed->nodes[2].n_arrived, SIM_CHUNK_PAGES);
    check_counts(bed);
}

static void huge_pages_move_whole(void **state)
{
    struct bed *bed = *state;

    bed->object->huge = true;
    assert_true(sim_object_place(bed->object, bed->nodes, 0, PAGES, 0));
    assert_true(sim_object_move(bed->object, bed->nodes, 3 * SIM_CHUNK_PAGES + 50, 1, 3));
    assert_int_equal(bed->object->n_on[3], 100);
    check_counts(bed);
}

static void full_nodes_take_nothing_but_cache_makes_room(void **state)
{
    struct bed *bed = *state;
    struct sim_node *node = &bed->nodes[1];

    assert_true(sim_object_place(bed->object, bed->nodes, 0, PAGES, 0));
    assert_true(sim_node_take(node, node->free - 100));
    assert_false(sim_object_move(bed->object, bed->nodes, 0, SIM_CHUNK_PAGES, 1));
    assert_int_equal(node->n_refused, SIM_CHUNK_PAGES);
    assert_int_equal(bed->object->n_on[1], 0);
    node->cache = 1000;
    assert_true(sim_object_move(bed->object, bed->nodes, 0, SIM_CHUNK_PAGES, 1));
    assert_int_equal(bed->object->n_on[1], SIM_CHUNK_PAGES);
    assert_int_equal(node->cache, 1000 - node->n_reclaimed);
    assert_int_equal(node->free, node->high);
}

static void counts_hold_after_anything(void **state)
{
    struct bed *bed = *state;
    struct sim_random random = sim_random_init(42);

    for (int i = 0; i < 2000; i++) {
        uint64_t first = sim_random_below(&random, PAGES);
        uint64_t n = 1 + sim_random_below(&random, PAGES - first);
        int node = (int)sim_random_below(&random, NODES);

        if (sim_random_below(&random, 2))
            assert_true(sim_object_place(bed->object, bed->nodes, first, n, node));
        else
            assert_true(sim_object_move(bed->object, bed->nodes, first, n, node));
        if (i % 50 == 0)
            check_counts(bed);
    }
    sim_object_empty(bed->object, bed->nodes);
    assert_int_equal(sim_object_n_present(bed->object), 0);
    check_counts(bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_begin_absent_and_come_when_placed, setup, teardown),
        cmocka_unit_test_setup_teardown(chunks_split_and_join, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_pages_move_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(full_nodes_take_nothing_but_cache_makes_room, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(counts_hold_after_anything, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
