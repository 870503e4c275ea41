/*
 * The self-test of idle-page tracking: what it finds, and what it tells an administrator.
 */
#include "idle_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sample/idle/idle_probe.h"
#include "util/array.h"

static void no_bitmap(struct idle_world *world)
{
    world->bitmap_error = -ENOENT;
}

static void bitmap_denied(struct idle_world *world)
{
    world->bitmap_error = -EACCES;
}

static void bitmap_not_permitted(struct idle_world *world)
{
    world->bitmap_error = -EPERM;
}

static void sysfs_read_only(struct idle_world *world)
{
    world->bitmap_error = -EROFS;
    world->bitmap_calls_good = 1; /* reading goes */
}

static void frames_hidden(struct idle_world *world)
{
    world->hidden = true;
}

static void no_pagemap(struct idle_world *world)
{
    world->gone = true;
}

static void out_of_files(struct idle_world *world)
{
    world->pagemap_error = -EMFILE;
}

static void never_sets(struct idle_world *world)
{
    world->never_sets = true;
}

static void never_young(struct idle_world *world)
{
    world->never_young = true;
}

static void always_young(struct idle_world *world)
{
    world->always_young = true;
}

static void flags_denied(struct idle_world *world)
{
    world->flags_error = -EACCES;
}

static void all_well(struct idle_world *world)
{
    (void)world;
}

static void test_probe(void **state)
{
    static const struct {
        void (*before)(struct idle_world *world);
        const char *reason; /* part of it; NULL: works */
    } cases[] = {
        {all_well, NULL},
        {flags_denied, NULL},
        {no_bitmap, "CONFIG_IDLE_PAGE_TRACKING"},
        {bitmap_denied, "CAP_SYS_ADMIN"},
        {bitmap_not_permitted, "CAP_SYS_ADMIN"},
        {sysfs_read_only, "ProtectKernelTunables"},
        {frames_hidden, "hidden (all 0): give CAP_SYS_ADMIN"},
        {no_pagemap, "CONFIG_PROC_PAGE_MONITOR"},
        {out_of_files, "LimitNOFILE"},
        {never_sets, "no bit of numabd's own pages reads back as set"},
        {never_young, "pages that were touched read as idle"},
        {always_young, "pages that were not touched do not read as idle"},
    };
    struct idle_world *world = malloc(sizeof *world);

    (void)state;
    assert_non_null(world);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct source_reason reason = {0};
        int r;

        idle_world_init(world);
        cases[i].before(world);
        r = idle_probe(&world->host, &reason);
        assert_int_equal(r, cases[i].reason ? SOURCE_UNAVAILABLE : 0);
        if (cases[i].reason && !strstr(reason.text, cases[i].reason))
            fail_msg("\"%s\" does not say \"%s\"", reason.text, cases[i].reason);
        assert_null(strchr(reason.text, '\n'));
        assert_true(strlen(reason.text) < sizeof reason.text - 1);
        idle_world_deinit(world);
    }
    free(world);
}

/* A host without such files (a fixture tree): refused, with a word. */
static void test_host_without_files(void **state)
{
    static const struct host_ops ops = {0};
    const struct host host = {.ops = &ops, .page_bytes = 4096};
    struct source_reason reason = {0};

    (void)state;
    assert_int_equal(idle_probe(&host, &reason), SOURCE_UNAVAILABLE);
    assert_non_null(strstr(reason.text, "not supported"));
}

/* On this machine: it works, or says why not. */
static void test_live_host(void **state)
{
    const struct host host = host_live();
    struct source_reason reason = {0};
    int r;

    (void)state;
    r = idle_probe(&host, &reason);
    assert_true(r == 0 || r == SOURCE_UNAVAILABLE);
    if (r)
        assert_non_null(strstr(reason.text, "page_idle/bitmap"));
    print_message("live: %s\n", r ? reason.text : "works");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_host_without_files),
        cmocka_unit_test(test_live_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
