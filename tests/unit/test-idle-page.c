/*
 * The idle_page source on the model: its rounds, its failures, and what outlives what.
 */
#include "idle_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "numabd/sample.h"
#include "util/array.h"
#include "util/nsec.h"

#define PAGE IDLE_WORLD_PAGE
#define PID 4711
#define OTHER 4712
#define ADDR UINT64_C(0x7f0000000000)

struct bed {
    struct idle_world world;
    struct worker_pool *pool;
    struct source source;
    struct source_reason reason;
    struct access accesses[256];
    size_t n_accesses;
    pid_t unwanted;
    struct sample_target targets[2];
    struct sample_range ranges[4];
    size_t n_targets, n_ranges;
    uint64_t now;
};

static void bed_push(void *userdata, const struct access *accesses, size_t n)
{
    struct bed *bed = userdata;

    for (size_t i = 0; i < n && bed->n_accesses < ARRAY_LENGTH(bed->accesses); i++)
        bed->accesses[bed->n_accesses++] = accesses[i];
}

static bool bed_wants(void *userdata, pid_t pid)
{
    const struct bed *bed = userdata;

    return pid != bed->unwanted;
}

static int bed_source(struct bed *bed)
{
    const struct source_options options = {
        .epoll_fd = -1,
        .host = &bed->world.host,
        .pool = bed->pool,
        .sink = {bed_push, bed},
        .filter = {bed_wants, bed},
    };

    return idle_page_new(&bed->source, &options, &bed->reason);
}

/* Two processes with 8 small pages each. */
static struct bed *bed_new(bool threads)
{
    struct bed *bed = calloc(1, sizeof *bed);

    assert_non_null(bed);
    idle_world_init(&bed->world);
    assert_int_equal(threads ? worker_pool_new(&bed->pool, 1) : worker_pool_new_inline(&bed->pool),
                     0);
    idle_world_map(&bed->world, PID, ADDR, 64, 8);
    idle_world_map(&bed->world, OTHER, ADDR, 128, 8);
    bed->targets[0] = (struct sample_target){.pid = PID, .start_ticks = 1};
    bed->targets[1] = (struct sample_target){.pid = OTHER, .start_ticks = 2};
    bed->ranges[0] = (struct sample_range){PID, ADDR, ADDR + 2 * PAGE};
    bed->ranges[1] = (struct sample_range){OTHER, ADDR + 4 * PAGE, ADDR + 8 * PAGE};
    bed->n_targets = bed->n_ranges = 2;
    bed->now = 100 * NSEC_PER_SEC;
    return bed;
}

static struct bed *bed_new_with_source(bool threads)
{
    struct bed *bed = bed_new(threads);

    if (bed_source(bed) != 0)
        fail_msg("%s", bed->reason.text);
    bed->world.n_writes = bed->world.n_reads = bed->world.bits_written = 0;
    return bed;
}

static void bed_free(struct bed *bed)
{
    source_deinit(&bed->source);
    worker_pool_free(bed->pool);
    idle_world_deinit(&bed->world);
    free(bed);
}

static int bed_round(struct bed *bed)
{
    const struct sample_round round = {
        .now = bed->now += NSEC_PER_SEC,
        .targets = bed->targets,
        .n_targets = bed->n_targets,
        .ranges = bed->ranges,
        .n_ranges = bed->n_ranges,
        .cpu_budget = 0.02,
    };
    int r;

    r = bed->source.ops->round(bed->source.self, &round, &bed->reason);
    assert_int_equal(bed->source.ops->drain(bed->source.self), 0);
    return r;
}

/* A round and all its answers. */
static void bed_turn(struct bed *bed)
{
    assert_int_equal(bed_round(bed), 0);
    worker_pool_dispatch(bed->pool, 0);
}

static struct sample_counts bed_counts(const struct bed *bed)
{
    return *bed->source.ops->counts(bed->source.self);
}

static void bitmap_not_permitted(struct idle_world *world)
{
    world->bitmap_error = -EPERM;
}

static void frames_hidden(struct idle_world *world)
{
    world->hidden = true;
}

static void out_of_files(struct idle_world *world)
{
    world->pagemap_error = -EMFILE;
}

static void test_constructor_refuses(void **state)
{
    struct bed *bed = bed_new(false);

    (void)state;
    bitmap_not_permitted(&bed->world);
    assert_int_equal(bed_source(bed), SOURCE_UNAVAILABLE);
    assert_non_null(strstr(bed->reason.text, "CAP_SYS_ADMIN"));
    assert_null(bed->source.ops);
    bed_free(bed);
}

/* ---- rounds ---- */

static void test_touched_pages_arrive(void **state)
{
    struct bed *bed = bed_new_with_source(false);
    const struct access *access = bed->accesses;
    char text[128];

    (void)state;
    bed_turn(bed);
    assert_int_equal(bed->world.bits_written, 6); /* the ranges' pages and no others */
    bed->source.ops->describe(bed->source.self, text, sizeof text);
    assert_non_null(strstr(text, "6 pages armed in 2 processes"));
    assert_false(bed->world.frames[66].idle || bed->world.frames[131].idle);
    idle_world_touch(&bed->world, PID, ADDR + PAGE);
    idle_world_touch(&bed->world, PID, ADDR + 3 * PAGE); /* in no range */
    idle_world_touch(&bed->world, OTHER, ADDR + 5 * PAGE);
    bed_turn(bed);
    assert_int_equal(bed->n_accesses, 2);
    assert_int_equal(access[0].pid, PID);
    assert_int_equal(access[0].addr, ADDR + PAGE);
    assert_int_equal(access[0].when_nsec, bed->now);
    assert_int_equal(access[0].kind, ACCESS_TOUCH);
    assert_int_equal(access[0].source, ACCESS_SOURCE_IDLE_PAGE);
    assert_int_equal(access[0].tid, 0);
    assert_int_equal(access[0].cpu, -1);
    assert_true(access[0].weight_sec == 0);
    assert_int_equal(access[0].locality, ACCESS_LOCALITY_UNKNOWN);
    assert_int_equal(access[1].pid, OTHER);
    assert_int_equal(access[1].addr, ADDR + 5 * PAGE);
    assert_int_equal(bed_counts(bed).n_samples, 6);
    assert_int_equal(bed_counts(bed).n_accesses, 2);
    bed_turn(bed); /* they were armed again, and not touched since */
    assert_int_equal(bed->n_accesses, 2);
    bed_free(bed);
}

/* What is armed is checked once more when its range matters no longer; then it rests. */
static void test_ranges_that_end(void **state)
{
    struct bed *bed = bed_new_with_source(false);

    (void)state;
    bed_turn(bed);
    idle_world_touch(&bed->world, PID, ADDR);
    bed->n_ranges = 0;
    bed_turn(bed);
    assert_int_equal(bed->n_accesses, 1);
    bed->world.n_reads = bed->world.n_writes = 0;
    bed_turn(bed);
    assert_int_equal(bed->world.n_reads + bed->world.n_writes, 0);
    bed_free(bed);
}

static void test_one_scan_in_flight(void **state)
{
    struct bed *bed = bed_new_with_source(false);

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(bed_round(bed), 0);
        assert_int_equal(worker_pool_pending(bed->pool, 0), 2);
    }
    assert_int_equal(worker_pool_dispatch(bed->pool, 0), 2);
    assert_int_equal(bed->world.bits_written, 6);
    bed->world.n_lookups = 0;
    bed_turn(bed);
    assert_int_equal(bed->world.n_lookups, 6); /* nothing has piled up meanwhile */
    bed_free(bed);
}

/* Armed, then: no target any more, another process of that pid (with and without ranges), or not
   wanted. */
static void test_process_that_is_another(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct bed *bed = bed_new_with_source(false);

        bed_turn(bed);
        idle_world_touch(&bed->world, OTHER, ADDR + 4 * PAGE);
        if (i == 0)
            bed->n_targets = 1;
        else if (i == 1)
            bed->targets[1].start_ticks++;
        else if (i == 2)
            bed->targets[1].start_ticks++, bed->n_ranges = 1;
        else
            bed->unwanted = OTHER;
        bed_turn(bed);
        assert_int_equal(bed->n_accesses, 0);
        bed_free(bed);
    }
}

/* The same while its scan is with the workers. */
static void test_process_that_changes_in_flight(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct bed *bed = bed_new_with_source(false);

        bed_turn(bed);
        idle_world_touch(&bed->world, OTHER, ADDR + 4 * PAGE);
        assert_int_equal(bed_round(bed), 0);
        if (i == 0)
            bed->unwanted = OTHER;
        else
            bed->world.epoch++; /* exec: both lose what was armed */
        worker_pool_dispatch(bed->pool, 0);
        assert_int_equal(bed->n_accesses, 0);
        assert_int_equal(bed_counts(bed).n_foreign, i == 0 ? 8 : 0);
        bed_free(bed);
    }
}

/* A target that goes and comes back while its scan is under way has one scan, and it brings
 * nothing.
 */
static void test_target_given_up_in_flight(void **state)
{
    struct bed *bed = bed_new_with_source(false);

    (void)state;
    bed_turn(bed);
    idle_world_touch(&bed->world, OTHER, ADDR + 4 * PAGE);
    assert_int_equal(bed_round(bed), 0);
    bed->n_targets = 1;
    assert_int_equal(bed_round(bed), 0);
    bed->n_targets = 2;
    assert_int_equal(bed_round(bed), 0);
    assert_int_equal(worker_pool_pending(bed->pool, 0), 2);
    worker_pool_dispatch(bed->pool, 0);
    assert_int_equal(bed->n_accesses, 0);
    assert_int_equal(bed_counts(bed).n_foreign, 8);
    bed_turn(bed);
    idle_world_touch(&bed->world, OTHER, ADDR + 4 * PAGE);
    bed_turn(bed);
    assert_int_equal(bed->n_accesses, 1);
    bed_free(bed);
}

static void test_process_that_goes(void **state)
{
    struct bed *bed = bed_new_with_source(false);

    (void)state;
    bed_turn(bed);
    bed->world.gone = true;
    bed_turn(bed);
    bed_turn(bed);
    assert_int_equal(bed->n_accesses, 0);
    bed->world.gone = false; /* others may come */
    bed_turn(bed);
    idle_world_touch(&bed->world, PID, ADDR);
    bed_turn(bed);
    assert_int_equal(bed->n_accesses, 1);
    bed_free(bed);
}

/* More than a round can take: all has its turn, no round exceeds the budget. */
static void test_large_ranges_take_turns(void **state)
{
    const uint64_t size = UINT64_C(64) << 30;
    struct bed *bed = bed_new_with_source(false);

    (void)state;
    bed->ranges[0] = (struct sample_range){PID, ADDR - size, ADDR + 2 * PAGE};
    for (unsigned i = 0; i < 4; i++) {
        bed->world.n_lookups = 0;
        bed_turn(bed);
        assert_in_range(bed->world.n_lookups, 64, 4096 + 4);
    }
    bed_free(bed);
}

/* ---- failures ---- */

static void test_permission_lost(void **state)
{
    static const struct {
        void (*refuse)(struct idle_world *world);
        const char *reason;
    } cases[] = {
        {bitmap_not_permitted, "CAP_SYS_ADMIN"},
        {frames_hidden, "CAP_SYS_ADMIN"},
        {out_of_files, "LimitNOFILE"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct bed *bed = bed_new_with_source(false);

        bed_turn(bed);
        cases[i].refuse(&bed->world);
        bed_turn(bed);
        bed->world.n_writes = 0;
        assert_int_equal(bed_round(bed), SOURCE_UNAVAILABLE);
        assert_non_null(strstr(bed->reason.text, cases[i].reason));
        assert_int_equal(worker_pool_dispatch(bed->pool, 0), 0);
        bed_free(bed);
    }
}

static void test_one_process_denied(void **state)
{
    struct bed *bed = bed_new_with_source(false);

    (void)state;
    bed->world.pagemap_error = -EACCES;
    bed_turn(bed);
    bed->world.pagemap_error = 0;
    bed_turn(bed);
    idle_world_touch(&bed->world, PID, ADDR);
    bed_turn(bed);
    assert_int_equal(bed->n_accesses, 1);
    bed_free(bed);
}

/* ---- threads ---- */

static void ignore_late(void *userdata, pid_t pid, const char *name)
{
    (void)pid, (void)name;
    ++*(unsigned *)userdata;
}

static void dispatch_one(struct bed *bed)
{
    for (unsigned i = 0; worker_pool_dispatch(bed->pool, 1) == 0; i++) {
        assert_true(i < 20000); /* a hang, not a deadline */
        usleep(1000);
    }
}

/* A minute is a hang, not a deadline. */
static void wait_entered(struct bed *bed)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    assert_int_equal(sem_timedwait(&bed->world.entered, &until), 0);
}

/* A scan that comes late brings nothing; the next round starts anew. */
static void test_late_scan(void **state)
{
    struct bed *bed = bed_new_with_source(true);
    unsigned n_late = 0;

    (void)state;
    bed->n_targets = bed->n_ranges = 1;
    assert_int_equal(bed_round(bed), 0);
    dispatch_one(bed);
    idle_world_touch(&bed->world, PID, ADDR);
    bed->world.blocks = true;
    assert_int_equal(bed_round(bed), 0);
    assert_int_equal(worker_pool_pending(bed->pool, 0), 1);
    wait_entered(bed);
    worker_pool_check(bed->pool, NSEC_NEVER, ignore_late, &n_late);
    assert_int_equal(n_late, 1);
    bed->world.blocks = false;
    assert_int_equal(bed_round(bed), 0);
    assert_int_equal(worker_pool_pending(bed->pool, 0), 0); /* not asked again meanwhile */
    sem_post(&bed->world.leave);
    dispatch_one(bed);
    assert_int_equal(bed->n_accesses, 0);
    assert_int_equal(bed_counts(bed).n_unresolved, 4);
    assert_int_equal(bed_round(bed), 0);
    dispatch_one(bed);
    idle_world_touch(&bed->world, PID, ADDR);
    assert_int_equal(bed_round(bed), 0);
    dispatch_one(bed);
    assert_int_equal(bed->n_accesses, 1);
    bed_free(bed);
}

static void test_scan_outlives_source(void **state)
{
    struct bed *bed = bed_new_with_source(true);

    (void)state;
    bed->n_targets = bed->n_ranges = 1;
    bed->world.blocks = true;
    assert_int_equal(bed_round(bed), 0);
    wait_entered(bed);
    source_deinit(&bed->source);
    bed->world.blocks = false;
    sem_post(&bed->world.leave);
    dispatch_one(bed);
    assert_int_equal(bed->n_accesses, 0);
    bed_free(bed);
}

/* Waiting requests go with the pool, the source first or last. */
static void test_ends_in_any_order(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct bed *bed = bed_new_with_source(false);

        bed_turn(bed);
        assert_int_equal(bed_round(bed), 0);
        if (i == 0)
            source_deinit(&bed->source);
        else
            bed->pool = worker_pool_free(bed->pool);
        bed_free(bed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constructor_refuses),
        cmocka_unit_test(test_touched_pages_arrive),
        cmocka_unit_test(test_ranges_that_end),
        cmocka_unit_test(test_one_scan_in_flight),
        cmocka_unit_test(test_process_that_is_another),
        cmocka_unit_test(test_process_that_changes_in_flight),
        cmocka_unit_test(test_target_given_up_in_flight),
        cmocka_unit_test(test_process_that_goes),
        cmocka_unit_test(test_large_ranges_take_turns),
        cmocka_unit_test(test_permission_lost),
        cmocka_unit_test(test_one_process_denied),
        cmocka_unit_test(test_late_scan),
        cmocka_unit_test(test_scan_outlives_source),
        cmocka_unit_test(test_ends_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
