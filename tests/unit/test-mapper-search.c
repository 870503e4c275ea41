/* Who else maps shared memory: the search over all processes, and what it says of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/mapper_search.h"
#include "attribute/object_policy.h"
#include "attribute/object_scope.h"
#include "attribute/objects_round.h"
#include "attribute/ranges.h"
#include "attribute/tally.h"
#include "discover_world.h"
#include "object_rig.h"
#include "util/array.h"
#include "util/procfs.h"

#define A 100
#define STRANGER 300
#define AT_A 0x10000000
#define MAPS "10000000-11000000 rw-s 00000000 00:01 77 /dev/zero (deleted)\n"
#define OTHERS "10000000-11000000 rw-s 00000000 00:01 78 /dev/zero (deleted)\n"

static const struct work_ops no_ops;

static struct object *init(struct object_rig *rig, struct discover *discover)
{
    struct object *object;

    object_rig_init(rig, discover);
    object_rig_map(rig, A, MAPS)->maps_known = true;
    fake_host_set_file(&rig->fake, "proc/100/maps", MAPS);
    object_rig_add(rig, A, 0, AT_A, 1);
    object = object_rig_at(rig, A, AT_A);
    object->wanted = true;
    return object;
}

static struct search_request *search(struct object_rig *rig)
{
    struct search_request *request;

    assert_int_equal(
        search_request_new(&request, rig->objects, rig->spaces, rig->now, &no_ops, NULL), 0);
    search_request_run(&request->work);
    return request;
}

static void strangers_are_found_by_what_they_map(void **state)
{
    static const struct {
        const char *maps;
        bool found;
    } cases[] = {
        {MAPS, true},
        {OTHERS, false},
        {"7000000-7001000 r--s 00400000 00:01 77 /dev/zero (deleted)\n", true},
        {"7000000-7001000 rw-s 00000000 00:02 77 /dev/zero (deleted)\n", false},
        {"7000000-7001000 rw-s 00000000 00:01 77 /SYSV0052e2c1 (deleted)\n", false},
        /* a private mapping loses its pages too */
        {"7000000-7001000 r--p 00000000 00:01 77 /dev/zero (deleted)\n", true},
        {OTHERS "20000000-21000000 rw-s 00000000 00:01 77 /dev/zero (deleted)\n"
                "30000000-31000000 rw-s 01000000 00:01 77 /dev/zero (deleted)\n",
         true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct object_rig rig;
        struct object *object = init(&rig, NULL);
        struct search_request *request;

        fake_host_set_file(&rig.fake, "proc/300/maps", cases[i].maps);
        fake_host_set_file(&rig.fake, "proc/300/numa_maps", "");
        request = search(&rig);
        assert_int_equal(request->n_hits, cases[i].found);
        if (cases[i].found)
            assert_true(request->hits[0].pid == STRANGER && request->hits[0].id == object->id);
        assert_false(request->unread);
        search_request_free(&request->work);
        object_rig_deinit(&rig);
    }
}

static void process_whose_maps_are_kept_is_not_read(void **state)
{
    struct object_rig rig;
    struct search_request *request;

    (void)state;
    init(&rig, NULL);
    request = search(&rig);
    assert_int_equal(rig.fake.n_maps, 0);
    assert_true(search_knows(request, A));
    assert_false(search_knows(request, STRANGER));
    search_request_free(&request->work);
    object_rig_deinit(&rig);
}

static void what_cannot_be_read_is_said(void **state)
{
    static const struct {
        int list, maps, numa_maps;
        bool unread;
    } cases[] = {
        {0, 0, 0, false},           {0, PROCFS_GONE, 0, false}, /* it ended, or is a kernel thread
                                                                 */
        {0, 0, PROCFS_GONE, false}, {0, PROCFS_DENIED, 0, true}, {0, 0, PROCFS_DENIED, true},
        {0, -EIO, 0, true},         {PROCFS_DENIED, 0, 0, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct object_rig rig;
        struct search_request *request;

        init(&rig, NULL);
        rig.fake.list_r = cases[i].list;
        fake_host_set_file(&rig.fake, "proc/300/maps", MAPS);
        fake_host_set_file(&rig.fake, "proc/300/numa_maps", "");
        if (cases[i].maps)
            fake_host_set_result(&rig.fake, "proc/300/maps", cases[i].maps);
        if (cases[i].numa_maps)
            fake_host_set_result(&rig.fake, "proc/300/numa_maps", cases[i].numa_maps);
        request = search(&rig);
        assert_int_equal(request->unread, cases[i].unread);
        search_request_free(&request->work);
        object_rig_deinit(&rig);
    }
}

/* Of a process that nobody samples: its numa_maps is never read otherwise. */
static void policy_of_a_stranger_is_found(void **state)
{
    struct object_rig rig;
    struct object *object = init(&rig, NULL);
    struct search_request *request;

    (void)state;
    fake_host_set_file(&rig.fake, "proc/300/maps",
                       "20000000-20800000 rw-s 00000000 00:01 77 /dev/zero (deleted)\n"
                       "20800000-21000000 rw-s 00800000 00:01 77 /dev/zero (deleted)\n"
                       "30000000-31000000 rw-p 00000000 00:00 0 \n");
    fake_host_set_file(&rig.fake, "proc/300/numa_maps",
                       "20000000 default file=/dev/zero N0=9\n20800000 bind:0 file=/dev/zero\n"
                       "30000000 prefer:0\n");
    request = search(&rig);
    assert_int_equal(request->n_policies, 1);
    assert_true(request->policies[0].id == object->id);
    assert_true(request->policies[0].start == 8 * M && request->policies[0].end == 16 * M);
    assert_int_equal(request->policies[0].reason, REASON_BIND);
    search_request_free(&request->work);
    object_rig_deinit(&rig);
}

static void add_rule(struct rule_list *list, const char *comm)
{
    assert_int_equal(ARRAY_RESERVE(list->rules, list->cap, list->n_rules + 1), 0);
    list->rules[list->n_rules++] = (struct rule){.field = RULE_COMM, .pattern = strdup(comm)};
}

static enum reason judge(struct object_rig *rig, struct object *object)
{
    assert_int_equal(object_judge_scope(object, rig->objects, rig->now), 0);
    return object->barred;
}

static void all_mappers_must_be_in_scope(void **state)
{
    static const struct {
        struct fake_process stranger;
        enum reason barred;
    } cases[] = {
        {{.pid = STRANGER, .rss_bytes = 64 * MIB}, REASON_NONE},
        {{.pid = STRANGER, .rss_bytes = 1}, REASON_NONE},
        {{.pid = STRANGER, .rss_bytes = 64 * MIB, .comm = "spared"}, REASON_SHARED_OUT_OF_SCOPE},
        {{.pid = STRANGER, .rss_bytes = 1, .comm = "spared"}, REASON_SHARED_OUT_OF_SCOPE},
        {{.pid = STRANGER, .rss_bytes = 64 * MIB, .mems = "0"}, REASON_SHARED_OUT_OF_SCOPE},
        {{.pid = STRANGER, .rss_bytes = 1, .mems = "0"}, REASON_SHARED_OUT_OF_SCOPE},
        {{.pid = 1, .rss_bytes = 64 * MIB}, REASON_SHARED_OUT_OF_SCOPE},
        {{.pid = DISCOVER_WORLD_SELF, .rss_bytes = 64 * MIB}, REASON_SHARED_OUT_OF_SCOPE},
        {{.pid = 5, .rss_bytes = 64 * MIB}, REASON_MAPPERS_UNKNOWN}, /* not the one that maps it */
    };
    struct discover_world *world = *state;

    add_rule(&world->config->exclude, "spared");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_process items[] = {{.pid = A, .rss_bytes = 64 * MIB, .start_ticks = 1},
                                       cases[i].stranger};
        struct object_rig rig;
        struct object *object = init(&rig, world->discover);

        items[1].start_ticks = 10 + i; /* another process each time */
        discover_world_set(world, items, 2);
        discover_world_scan(world);
        object->searched_nsec = rig.now;
        object_note_stranger(object, items[1].pid == 5 ? STRANGER : items[1].pid, 0);
        judge(&rig, object); /* discover is asked to look closer at small ones */
        discover_world_scan(world);
        if (judge(&rig, object) != cases[i].barred)
            fail_msg("case %zu: %s", i, reason_name(object->barred));
        object_rig_deinit(&rig);
    }
}

static void search_counts_for_a_time(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {{.pid = A, .rss_bytes = 64 * MIB}};
    struct object_rig rig;
    struct object *object = init(&rig, world->discover);

    discover_world_set(world, items, 1);
    discover_world_scan(world);
    assert_int_equal(judge(&rig, object), REASON_MAPPERS_UNKNOWN);
    object->searched_nsec = rig.now;
    assert_int_equal(judge(&rig, object), REASON_NONE);
    rig.now += SEARCH_AGE_NSEC + 1;
    assert_int_equal(judge(&rig, object), REASON_MAPPERS_UNKNOWN);
    rig.objects->search_cost_nsec = NSEC_PER_SEC; /* a dear one counts for longer */
    assert_int_equal(judge(&rig, object), REASON_NONE);
    object->unread = true;
    assert_int_equal(judge(&rig, object), REASON_MAPPERS_UNKNOWN);
    object_rig_deinit(&rig);
}

static void stranger_that_has_gone_bars_nothing(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {
        {.pid = A, .rss_bytes = 64 * MIB},
        {.pid = STRANGER, .rss_bytes = 64 * MIB, .start_ticks = 7, .comm = "spared"}};
    struct object_rig rig;
    struct object *object = init(&rig, world->discover);

    add_rule(&world->config->exclude, "spared");
    discover_world_set(world, items, 2);
    discover_world_scan(world);
    object->searched_nsec = rig.now;
    object_note_stranger(object, STRANGER, 0);
    assert_int_equal(judge(&rig, object), REASON_SHARED_OUT_OF_SCOPE);
    items[1].start_ticks = 8; /* its pid is used again */
    discover_world_scan(world);
    assert_int_equal(judge(&rig, object), REASON_NONE);
    assert_int_equal(object->n_strangers, 0);
    object_rig_deinit(&rig);
}

/* Pages may go where every mapper may have them. */
static void nodes_are_those_that_all_mappers_allow(void **state)
{
    struct discover_world *world = *state;
    struct fake_process items[] = {{.pid = A, .rss_bytes = 64 * MIB, .mems = "0-1"},
                                   {.pid = STRANGER, .rss_bytes = 64 * MIB, .mems = "0-2"}};
    struct object_rig rig;
    struct object *object = init(&rig, world->discover);

    discover_world_set(world, items, 2);
    discover_world_scan(world);
    object->searched_nsec = rig.now;
    object_note_stranger(object, STRANGER, 0);
    assert_int_equal(judge(&rig, object), REASON_NONE);
    assert_true(object->mems_allowed[0] && object->mems_allowed[1] && !object->mems_allowed[2]);
    object_rig_deinit(&rig);
}

static void close_round(struct object_rig *rig, uint64_t later)
{
    rig->now += later;
    assert_int_equal(objects_close_round(rig->objects, rig->spaces, 0.6, rig->now), 0);
    while (worker_pool_dispatch(rig->pool, 0))
        ;
}

/* Only while something is to be moved, and for at most 0.5 % of a CPU. */
static void searches_are_made_when_needed_and_paid_off(void **state)
{
    struct object_rig rig;
    struct object *object = init(&rig, NULL);
    struct range *range = object_rig_range(object, 0);

    (void)state;
    fake_host_set_file(&rig.fake, "proc/300/maps", OTHERS);
    close_round(&rig, NSEC_PER_SEC);
    assert_int_equal(rig.fake.n_maps, 0);
    range->claim = (struct claim){.node = 0, .n_passes = CLAIM_PASSES};
    assert_int_equal(tally_add(&range->residency, 1, 16, 0), 0);
    range->residency_nsec = rig.now;
    close_round(&rig, NSEC_PER_SEC);
    assert_int_equal(rig.fake.n_maps, 1);
    assert_true(object->wanted && object->searched_nsec == rig.now);
    close_round(&rig, NSEC_PER_SEC);
    assert_int_equal(rig.fake.n_maps, 1);
    close_round(&rig, SEARCH_AGE_NSEC);
    assert_int_equal(rig.fake.n_maps, 2);
    rig.objects->search_cost_nsec = NSEC_PER_SEC; /* so dear that it counts for 200 s */
    close_round(&rig, 199 * NSEC_PER_SEC);
    assert_int_equal(rig.fake.n_maps, 2);
    close_round(&rig, 2 * NSEC_PER_SEC);
    assert_int_equal(rig.fake.n_maps, 3);
    object_rig_deinit(&rig);
}

/* What a search that was out did not look at is not forgotten for that. */
static void search_forgets_no_one_it_left_out(void **state)
{
    struct object_rig rig;
    struct object *object = init(&rig, NULL);
    struct range *range = object_rig_range(object, 0);

    (void)state;
    object_rig_map(&rig, 150, MAPS)->maps_known = true;
    range->claim = (struct claim){.node = 0, .n_passes = CLAIM_PASSES};
    assert_int_equal(tally_add(&range->residency, 1, 16, 0), 0);
    range->residency_nsec = ++rig.now;
    assert_int_equal(objects_close_round(rig.objects, rig.spaces, 0.6, rig.now), 0);
    object_rig_drop(&rig, 150);
    while (worker_pool_dispatch(rig.pool, 0))
        ;
    assert_true(object->searched_nsec == rig.now);
    assert_int_equal(object->n_strangers, 1);
    assert_int_equal(object->strangers[0].pid, 150);
    object_rig_deinit(&rig);
}

int main(void)
{
#define WORLD(function)                                                                            \
    cmocka_unit_test_setup_teardown(function, discover_world_setup, discover_world_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_are_found_by_what_they_map),
        cmocka_unit_test(process_whose_maps_are_kept_is_not_read),
        cmocka_unit_test(what_cannot_be_read_is_said),
        cmocka_unit_test(policy_of_a_stranger_is_found),
        cmocka_unit_test(searches_are_made_when_needed_and_paid_off),
        cmocka_unit_test(search_forgets_no_one_it_left_out),
        WORLD(all_mappers_must_be_in_scope),
        WORLD(search_counts_for_a_time),
        WORLD(stranger_that_has_gone_bars_nothing),
        WORLD(nodes_are_those_that_all_mappers_allow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
