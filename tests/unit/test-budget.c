/* What a node may take in: headroom, page cache and steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "decide/budget.h"
#include "util/array.h"

#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

static void headroom_is_the_setting_within_bounds_of_the_node(void **state)
{
    static const struct {
        uint64_t setting, total, headroom;
    } cases[] = {
        {MIB(256), GIB(8), MIB(256)},
        {MIB(256), GIB(4), MIB(256)}, /* 1/16 exactly */
        {MIB(256), GIB(2), MIB(128)}, /* small: 1/16 */
        {MIB(256), MIB(128), MIB(8)},
        {MIB(256), MIB(25600), MIB(256)}, /* 1 % exactly */
        {MIB(256), MIB(51200), MIB(512)}, /* big: 1 % */
        {MIB(256), MIB(1024000), MIB(10240)},
        {0, GIB(8), GIB(8) / 100},     /* 1 % in any case */
        {GIB(1024), GIB(8), MIB(512)}, /* never more than 1/16 */
        {MIB(256), 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct config config = {.headroom_bytes = cases[i].setting};
        const struct node node = {.total_bytes = cases[i].total};

        assert_int_equal(budget_headroom(&config, &node), cases[i].headroom);
    }
}

/* A node of 8 GiB with 256 MiB of headroom. */
static void room_is_what_lies_above_reserve_and_headroom(void **state)
{
    static const struct {
        const char *name;
        uint64_t free, reserve, cache;
        bool use_cache;
        uint64_t room;
    } cases[] = {
        {"empty node: a quarter of its room", GIB(8), MIB(64), 0, true, MIB(7872) / 4},
        {"nothing left", MIB(320), MIB(64), 0, true, 0},
        {"less than nothing", MIB(10), MIB(64), 0, true, 0},
        {"one byte above", MIB(320) + 1, MIB(64), 0, true, 1},
        {"near the limit: a step of a quarter of the headroom", MIB(520), MIB(64), 0, true,
         MIB(64)},
        {"nearer: all of it", MIB(360), MIB(64), 0, true, MIB(40)},
        {"page cache counts", MIB(64), MIB(64), MIB(276), true, MIB(20)},
        {"page cache does not count", MIB(64), MIB(64), GIB(4), false, 0},
        {"page cache alone does not lift a node above its headroom", 0, MIB(64), MIB(256), true, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct config config = {.headroom_bytes = MIB(256),
                                      .use_page_cache = cases[i].use_cache};
        const struct node node = {.total_bytes = GIB(8),
                                  .free_bytes = cases[i].free,
                                  .reserve_bytes = cases[i].reserve,
                                  .inactive_file_bytes = cases[i].cache};
        uint64_t room = budget_room(&config, &node, false);

        if (room != cases[i].room)
            fail_msg("%s: %llu", cases[i].name, (unsigned long long)room);
    }
}

/* However often it is asked, the headroom stays. */
static void steps_never_pass_the_limit(void **state)
{
    const struct config config = {.headroom_bytes = MIB(256)};
    struct node node = {.total_bytes = GIB(8), .free_bytes = GIB(8), .reserve_bytes = MIB(64)};
    unsigned n_steps = 0;
    uint64_t room;

    (void)state;
    while ((room = budget_room(&config, &node, false)) > 0) {
        node.free_bytes -= room;
        assert_true(++n_steps < 100);
    }
    assert_int_equal(node.free_bytes, MIB(320));
}

static void node_without_memory_has_no_room(void **state)
{
    const struct config config = {.headroom_bytes = MIB(256), .use_page_cache = true};
    const struct node node = {.online = true, .has_cpus = true};

    (void)state;
    assert_int_equal(budget_room(&config, &node, false), 0);
}

static void under_pressure_only_free_memory_counts(void **state)
{
    const struct config config = {.headroom_bytes = MIB(256), .use_page_cache = true};
    struct node node = {
        .total_bytes = GIB(64), .free_bytes = GIB(1), .inactive_file_bytes = GIB(32)};

    (void)state;
    assert_true(budget_room(&config, &node, false) > GIB(4));
    assert_true(budget_room(&config, &node, true) < GIB(1));
    node.free_bytes = MIB(100);
    assert_int_equal(budget_room(&config, &node, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headroom_is_the_setting_within_bounds_of_the_node),
        cmocka_unit_test(room_is_what_lies_above_reserve_and_headroom),
        cmocka_unit_test(steps_never_pass_the_limit),
        cmocka_unit_test(node_without_memory_has_no_room),
        cmocka_unit_test(under_pressure_only_free_memory_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
