/*
 * Idle scan against the model: when a page may be called touched, and what is armed.
 */
#include "idle_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "sample/idle/idle_scan.h"
#include "util/array.h"

#define PAGE IDLE_WORLD_PAGE
#define PID 4711
#define OTHER 4712
#define ADDR UINT64_C(0x7f0000000000)
#define FRAME 100

static int arm(struct idle_world *world, struct idle_scan *scan, size_t n)
{
    for (size_t i = 0; i < n; i++)
        page_frames_add(&scan->next, &(struct page_frame){.addr = ADDR + i * PAGE});
    return idle_scan_arm(&world->host, PID, scan);
}

/* ---- one page, and what happens to it ---- */

static void touch(struct idle_world *world)
{
    idle_world_touch(world, PID, ADDR);
}

static void leave(struct idle_world *world)
{
    (void)world;
}

static void off_lru(struct idle_world *world)
{
    world->frames[FRAME].lru = false;
}

static void unmap(struct idle_world *world)
{
    world->n_pages = 0;
    world->frames[FRAME] = (struct idle_world_frame){0};
}

static void swap_out(struct idle_world *world)
{
    idle_world_page(world, PID, ADDR)->swapped = true;
    world->frames[FRAME] = (struct idle_world_frame){0};
}

static void flagged_as_ksm(struct idle_world *world)
{
    world->frames[FRAME].ksm = true;
}

static void migrate(struct idle_world *world)
{
    idle_world_migrate(world, PID, ADDR, 300);
}

static void migrate_and_touch(struct idle_world *world)
{
    migrate(world);
    touch(world);
}

/* Another process gets the frame, and touches it. */
static void frame_reused(struct idle_world *world)
{
    migrate(world);
    idle_world_map(world, OTHER, ADDR, FRAME, 1);
}

/* The page itself, and what has its old frame now. */
static void touch_both(struct idle_world *world)
{
    touch(world);
    idle_world_touch(world, OTHER, ADDR);
}

static void migrate_at_write(struct idle_world *world)
{
    world->before_write = frame_reused;
}

static void migrate_at_lookup(struct idle_world *world)
{
    touch(world);
    world->before_lookup = frame_reused;
}

static void touch_and_isolate(struct idle_world *world)
{
    touch(world);
    off_lru(world);
}

static void huge(struct idle_world *world)
{
    idle_world_join(world, FRAME & ~UINT64_C(3), 4);
    world->frames[FRAME & ~UINT64_C(3)].used = world->frames[FRAME & ~UINT64_C(3)].lru = true;
}

static void no_flags(struct idle_world *world)
{
    world->flags_error = -EACCES;
}

static void off_lru_without_flags(struct idle_world *world)
{
    off_lru(world);
    no_flags(world);
}

static void exec_between(struct idle_world *world)
{
    world->epoch++;
    touch(world);
}

static void exit_between(struct idle_world *world)
{
    unmap(world);
    world->gone = true;
}

static void never_sets(struct idle_world *world)
{
    world->never_sets = true;
}

static void no_such_memory(struct idle_world *world)
{
    no_flags(world);
    idle_world_page(world, PID, ADDR)->pfn = IDLE_WORLD_FRAMES + 7;
}

static const struct page_case {
    const char *name;
    void (*before)(struct idle_world *world);  /* arming */
    void (*between)(struct idle_world *world); /* arming and checking */
    size_t n_armed, n_touched, n_unresolved;
} page_cases[] = {
    {"a touched page is found", leave, touch, 1, 1, 0},
    {"an idle one is not", leave, leave, 1, 0, 0},
    {"the same without kpageflags", no_flags, touch, 1, 1, 0},
    {"and idle without kpageflags", no_flags, leave, 1, 0, 0},
    {"a page on no LRU list is not armed", off_lru, touch, 0, 0, 1},
    {"nor trusted without kpageflags", off_lru_without_flags, touch, 0, 0, 1},
    {"a bit that does not set says nothing", never_sets, touch, 0, 0, 1},
    {"a hole", unmap, leave, 0, 0, 1},
    {"a swapped page", swap_out, leave, 0, 0, 1},
    /* Named after the bug: Linux 6.12 flags every anonymous page as KSM, and none was armed. */
    {"a page that is flagged as KSM", flagged_as_ksm, touch, 1, 1, 0},
    {"a frame beyond the bitmap", no_such_memory, leave, 0, 0, 1},
    {"head of a large folio", huge, touch, 1, 1, 0},
    {"moved meanwhile: its old frame reads as 0", leave, migrate, 1, 0, 1},
    {"moved and touched", leave, migrate_and_touch, 1, 0, 1},
    {"moved, and its frame is another's now", leave, frame_reused, 1, 0, 1},
    {"moved just before its old frame is armed", migrate_at_write, touch_both, 1, 0, 1},
    {"moved between the bit and the look-up", leave, migrate_at_lookup, 1, 0, 1},
    {"taken off the LRU at the check", leave, off_lru, 1, 0, 1},
    {"the same, touched", leave, touch_and_isolate, 1, 0, 1},
    {"swapped out meanwhile", leave, swap_out, 1, 0, 1},
    {"unmapped meanwhile", leave, unmap, 1, 0, 1},
    {"exec: another address space", leave, exec_between, 1, 0, 1},
    {"exit", leave, exit_between, 1, 0, 1},
};

static void test_pages(void **state)
{
    struct idle_world *world = malloc(sizeof *world);
    unsigned n_wrong = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(page_cases); i++) {
        const struct page_case *c = &page_cases[i];
        struct idle_scan scan = IDLE_SCAN_NULL;
        size_t n_armed;

        idle_world_init(world);
        idle_world_map(world, PID, ADDR, FRAME, 1);
        c->before(world);
        assert_int_equal(arm(world, &scan, 1), 0);
        n_armed = scan.armed.frames.n;
        assert_true(n_armed > 0 || scan.armed.files.pagemap == -1); /* no file for nothing */
        c->between(world);
        assert_int_equal(idle_scan_check(&world->host, PID, &scan), 0);
        if (n_armed != c->n_armed || scan.touched.n != c->n_touched ||
            scan.n_unresolved != c->n_unresolved || scan.armed.frames.n != 0) {
            print_error("%s: armed %zu, touched %zu, unresolved %zu\n", c->name, n_armed,
                        scan.touched.n, scan.n_unresolved);
            n_wrong++;
        }
        idle_scan_deinit(&scan);
        idle_world_deinit(world);
    }
    free(world);
    assert_int_equal(n_wrong, 0);
}

/* ---- folios ---- */

/* Pages 1 to 3 of a folio of 8 frames, of which page 6 is touched. */
static void try_tails(bool with_flags, size_t n_armed, size_t n_touched)
{
    struct idle_world *world = malloc(sizeof *world);
    struct idle_scan scan = IDLE_SCAN_NULL;

    idle_world_init(world);
    world->flags_error = with_flags ? 0 : -EACCES;
    idle_world_map(world, PID, ADDR, 64, 8);
    idle_world_join(world, 64, 8);
    for (size_t i = 1; i <= 3; i++)
        page_frames_add(&scan.next, &(struct page_frame){.addr = ADDR + i * PAGE});
    assert_int_equal(idle_scan_arm(&world->host, PID, &scan), 0);
    assert_int_equal(scan.armed.frames.n, n_armed);
    idle_world_touch(world, PID, ADDR + 6 * PAGE);
    assert_int_equal(idle_scan_check(&world->host, PID, &scan), 0);
    assert_int_equal(scan.touched.n, n_touched);
    if (n_touched > 0)
        assert_int_equal(scan.touched.items[0].addr, ADDR + PAGE); /* one that was asked for */
    idle_scan_deinit(&scan);
    free(world);
}

static void test_tails_by_their_head(void **state)
{
    (void)state;
    try_tails(true, 1, 1);
}

static void test_tails_without_kpageflags(void **state)
{
    (void)state;
    try_tails(false, 0, 0);
}

/* The head's bit speaks for its own page only, from the split on. */
static void test_split_folio(void **state)
{
    struct idle_world *world = malloc(sizeof *world);
    struct idle_scan scan = IDLE_SCAN_NULL;

    (void)state;
    idle_world_init(world);
    idle_world_map(world, PID, ADDR, 64, 4);
    idle_world_join(world, 64, 4);
    page_frames_add(&scan.next, &(struct page_frame){.addr = ADDR + 2 * PAGE});
    assert_int_equal(idle_scan_arm(&world->host, PID, &scan), 0);
    assert_int_equal(scan.armed.frames.items[0].head, 64);
    idle_world_split(world, 64, 4);
    idle_world_touch(world, PID, ADDR);
    assert_int_equal(idle_scan_check(&world->host, PID, &scan), 0);
    assert_int_equal(scan.touched.n, 0);
    assert_int_equal(scan.n_unresolved, 1);
    idle_scan_deinit(&scan);
    free(world);
}

/* ---- batches ---- */

static void test_words_are_written_once(void **state)
{
    struct idle_world *world = malloc(sizeof *world);
    struct idle_scan scan = IDLE_SCAN_NULL;

    (void)state;
    idle_world_init(world);
    idle_world_map(world, PID, ADDR, 64, 130); /* two full words and two frames of a third */
    assert_int_equal(arm(world, &scan, 130), 0);
    assert_int_equal(scan.armed.frames.n, 130);
    assert_int_equal(world->n_writes, 3);
    assert_int_equal(world->n_reads, 3);
    assert_int_equal(world->bits_written, 130);
    world->n_reads = world->n_lookups = 0;
    idle_world_touch(world, PID, ADDR + 70 * PAGE);
    assert_int_equal(idle_scan_check(&world->host, PID, &scan), 0);
    assert_int_equal(scan.touched.n, 1);
    assert_int_equal(scan.touched.items[0].addr, ADDR + 70 * PAGE);
    assert_int_equal(scan.n_checked, 130);
    assert_int_equal(world->n_reads, 3);
    assert_int_equal(world->n_lookups, 1); /* only what looks touched is looked up again */
    idle_scan_deinit(&scan);
    free(world);
}

/* Neighbours of an armed page keep their bits. */
static void test_only_asked_pages_are_armed(void **state)
{
    struct idle_world *world = malloc(sizeof *world);
    struct idle_scan scan = IDLE_SCAN_NULL;

    (void)state;
    idle_world_init(world);
    idle_world_map(world, PID, ADDR, 64, 2);
    idle_world_map(world, OTHER, ADDR, 66, 2);
    assert_int_equal(arm(world, &scan, 2), 0);
    assert_true(world->frames[64].idle && world->frames[65].idle);
    assert_false(world->frames[66].idle || world->frames[67].idle);
    assert_true(world->frames[66].young);
    idle_scan_deinit(&scan);
    free(world);
}

/* Between rounds each armed process cost two files, and one of them was the same for all. */
static void an_armed_process_holds_one_file(void **state)
{
    struct idle_world *world = malloc(sizeof *world);
    struct idle_scan scan = IDLE_SCAN_NULL;

    (void)state;
    idle_world_init(world);
    idle_world_map(world, PID, ADDR, 64, 2);
    assert_int_equal(arm(world, &scan, 2), 0);
    assert_true(scan.armed.files.pagemap >= 0);
    assert_int_equal(scan.armed.files.kpageflags, -1);
    idle_scan_deinit(&scan);
    free(world);
}

static void test_both_at_once(void **state)
{
    struct idle_world *world = malloc(sizeof *world);
    struct idle_scan scan = IDLE_SCAN_NULL;

    (void)state;
    idle_world_init(world);
    idle_world_map(world, PID, ADDR, 64, 4);
    assert_int_equal(arm(world, &scan, 1), 0);
    idle_world_touch(world, PID, ADDR);
    page_frames_add(&scan.next, &(struct page_frame){.addr = ADDR + 3 * PAGE});
    assert_int_equal(idle_scan_run(&world->host, PID, &scan), 0);
    assert_int_equal(scan.touched.n, 1);
    assert_int_equal(scan.armed.frames.n, 1);
    assert_int_equal(scan.armed.frames.items[0].addr, ADDR + 3 * PAGE);
    idle_scan_deinit(&scan);
    free(world);
}

/* After an exec the new address space can be armed at once. */
static void test_armed_again_after_exec(void **state)
{
    struct idle_world *world = malloc(sizeof *world);
    struct idle_scan scan = IDLE_SCAN_NULL;

    (void)state;
    idle_world_init(world);
    idle_world_map(world, PID, ADDR, 64, 1);
    assert_int_equal(arm(world, &scan, 1), 0);
    exec_between(world);
    page_frames_add(&scan.next, &(struct page_frame){.addr = ADDR});
    assert_int_equal(idle_scan_run(&world->host, PID, &scan), 0);
    assert_int_equal(scan.touched.n, 0);
    assert_int_equal(scan.armed.frames.n, 1);
    idle_scan_deinit(&scan);
    free(world);
}

/* ---- refusals ---- */

static void refuse_gone(struct idle_world *world)
{
    world->gone = true;
}

static void refuse_pagemap(struct idle_world *world)
{
    world->pagemap_error = -EACCES;
}

static void refuse_fds(struct idle_world *world)
{
    world->pagemap_error = -EMFILE;
}

/* CASES B089: frame 0 must not stand for what the kernel hides. */
static void refuse_frames(struct idle_world *world)
{
    world->hidden = true;
}

static void refuse_bitmap(struct idle_world *world)
{
    world->bitmap_error = -EPERM;
}

/* The first of three words is written, the second is not. */
static void refuse_midway(struct idle_world *world)
{
    world->bitmap_error = -EPERM;
    world->bitmap_calls_good = 2;
}

static void test_refusals(void **state)
{
    static const struct {
        void (*refuse)(struct idle_world *world);
        int r;
        size_t n_writes;
        const char *path;
    } cases[] = {
        {refuse_gone, IDLE_SCAN_GONE, 0, NULL},
        {refuse_pagemap, IDLE_SCAN_GONE, 0, NULL},
        {refuse_fds, -EMFILE, 0, "proc/PID/pagemap"},
        {refuse_frames, IDLE_SCAN_HIDDEN, 0, NULL},
        {refuse_bitmap, -EPERM, 1, "sys/kernel/mm/page_idle/bitmap"},
        {refuse_midway, -EPERM, 2, "sys/kernel/mm/page_idle/bitmap"},
    };
    struct idle_world *world = malloc(sizeof *world);

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct idle_scan scan = IDLE_SCAN_NULL;

        idle_world_init(world);
        idle_world_map(world, PID, ADDR, 64, 130);
        cases[i].refuse(world);
        assert_int_equal(arm(world, &scan, 130), cases[i].r);
        assert_int_equal(world->n_writes, cases[i].n_writes);
        assert_int_equal(scan.armed.frames.n, 0);
        if (cases[i].path)
            assert_string_equal(scan.path, cases[i].path);
        idle_scan_deinit(&scan);
    }
    free(world);
}

static void test_refused_at_the_check(void **state)
{
    struct idle_world *world = malloc(sizeof *world);
    struct idle_scan scan = IDLE_SCAN_NULL;

    (void)state;
    idle_world_init(world);
    idle_world_map(world, PID, ADDR, 64, 1);
    assert_int_equal(arm(world, &scan, 1), 0);
    touch(world);
    world->bitmap_error = -EPERM;
    assert_int_equal(idle_scan_run(&world->host, PID, &scan), -EPERM);
    assert_int_equal(scan.touched.n, 0);
    idle_scan_deinit(&scan);
    free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_tails_by_their_head),
        cmocka_unit_test(test_tails_without_kpageflags),
        cmocka_unit_test(test_split_folio),
        cmocka_unit_test(test_words_are_written_once),
        cmocka_unit_test(test_only_asked_pages_are_armed),
        cmocka_unit_test(an_armed_process_holds_one_file),
        cmocka_unit_test(test_both_at_once),
        cmocka_unit_test(test_armed_again_after_exec),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_refused_at_the_check),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
