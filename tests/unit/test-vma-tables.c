/* The names and pages that stand beside VMAs, and the verdict made of their ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/scans.h"
#include "attribute/vma_names.h"
#include "attribute/vma_pages.h"
#include "report/vma_verdict.h"
#include "space_rig.h"
#include "util/array.h"

#define MANY 65530

static uint32_t add_name(struct vma_names *names, struct vma_names_cache *cache, const char *name)
{
    uint32_t offset = UINT32_MAX;

    assert_int_equal(vma_names_add(names, cache, name, strlen(name), &offset), 0);
    return offset;
}

static void the_same_name_is_kept_once(void **state)
{
    struct vma_names names = {0};
    struct vma_names_cache cache = {{0}};
    uint32_t libc, size;

    (void)state;
    assert_string_equal(vma_names_at(&names, add_name(&names, &cache, "")), "");
    libc = add_name(&names, &cache, "/lib/libc.so.6");
    size = (uint32_t)names.size;
    assert_int_equal(add_name(&names, &cache, ""), VMA_NAME_NONE);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(add_name(&names, &cache, "/lib/libc.so.6"), libc);
    assert_int_equal(names.size, size);
    assert_int_not_equal(add_name(&names, &cache, "/lib/libc.so"), libc); /* not its beginning */
    assert_string_equal(vma_names_at(&names, libc), "/lib/libc.so.6");
    vma_names_deinit(&names);
}

static void a_long_name_keeps_its_end(void **state)
{
    struct vma_names names = {0};
    struct vma_names_cache cache = {{0}};
    char name[5000];
    const char *kept;

    (void)state;
    memset(name, 'x', sizeof name);
    strcpy(&name[sizeof name - 11], " (deleted)");
    kept = vma_names_at(&names, add_name(&names, &cache, name));
    assert_int_equal(strlen(kept), VMA_NAME_MAX);
    assert_memory_equal(kept, "...xxx", 6);
    assert_string_equal(&kept[VMA_NAME_MAX - 10], " (deleted)");
    vma_names_deinit(&names);
}

/* Whoever maps 65,530 files with long names. */
static void names_without_end_are_left_out(void **state)
{
    struct vma_names names = {0};
    struct vma_names_cache cache = {{0}};
    char name[256];
    uint32_t last = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "%d%0200d", i, i);
        last = add_name(&names, &cache, name);
    }
    assert_true(names.size <= VMA_NAMES_BYTES);
    assert_string_equal(vma_names_at(&names, last), "...");
    vma_names_deinit(&names);
}

static void add_line(struct vma_pages *pages, uint64_t start, double n0, double n1)
{
    struct tally line = {0};

    assert_int_equal(n0 ? tally_add(&line, 0, n0, 0) : 0, 0);
    assert_int_equal(n1 ? tally_add(&line, 1, n1, 0) : 0, 0);
    assert_int_equal(vma_pages_add(pages, start, 2 * M, 512, &line), 0);
    tally_deinit(&line);
}

static uint64_t pages_on(const struct vma_pages *pages, const struct vma_pages_line *line, int node)
{
    for (size_t i = line->first; i < line->first + line->n_nodes; i++)
        if (pages->nodes[i].node == node)
            return pages->nodes[i].n;
    return 0;
}

static void only_a_line_that_is_all_of_the_vma_counts(void **state)
{
    struct vma_pages pages = {0};
    struct vma vma = {.start = 4 * M, .end = 8 * M};
    const struct vma_pages_line *line;

    (void)state;
    add_line(&pages, 4 * M, 2, 0);
    add_line(&pages, 8 * M, 0, 0);
    line = vma_pages_find(&pages, &vma);
    assert_non_null(line);
    assert_int_equal(pages_on(&pages, line, 0), 1024); /* in base pages */
    assert_int_equal(line->page_shift, 21);
    vma.end = 8 * M + 4096; /* numa_maps saw two there */
    assert_null(vma_pages_find(&pages, &vma));
    vma = (struct vma){.start = 8 * M, .end = 9 * M};
    assert_int_equal(vma_pages_find(&pages, &vma)->page_shift, 0); /* no pages tell no size */
    vma.start = 6 * M;
    assert_null(vma_pages_find(&pages, &vma));
    vma_pages_deinit(&pages);
}

static void a_move_to_a_new_node_leaves_the_neighbours_alone(void **state)
{
    struct vma_pages pages = {0};
    struct vma vma = {.start = 4 * M, .end = 8 * M}, other = {.start = 8 * M, .end = 9 * M};
    struct tally before = {0}, after = {0};

    (void)state;
    add_line(&pages, 4 * M, 2, 0);
    add_line(&pages, 8 * M, 0, 3);
    assert_int_equal(tally_add(&before, 0, 512, 0), 0);
    assert_int_equal(tally_add(&after, 7, 512, 0), 0);
    vma_pages_move(&pages, 4 * M, &before, &after);
    assert_int_equal(pages_on(&pages, vma_pages_find(&pages, &vma), 0), 512);
    assert_int_equal(pages_on(&pages, vma_pages_find(&pages, &vma), 7), 512);
    assert_int_equal(pages_on(&pages, vma_pages_find(&pages, &other), 1), 3 * 512);
    vma_pages_move(&pages, 4 * M, &before, &after);
    vma_pages_move(&pages, 4 * M, &before, &after); /* more than there were: never below 0 */
    assert_int_equal(pages_on(&pages, vma_pages_find(&pages, &vma), 0), 0);
    vma_pages_move(&pages, 5 * M, &before, &after); /* no line */
    tally_deinit(&before);
    tally_deinit(&after);
    vma_pages_deinit(&pages);
}

static void verdicts_sum_up_with_counts(void **state)
{
    static const struct {
        uint64_t moved, local, cool_down, planned;
        enum reason barred;
        enum scan_verdict scan;
        const char *verdict, *reason;
    } cases[] = {
        {0, 0, 0, 0, REASON_NONE, SCAN_ACTIVE, "not sampled", "few_samples"},
        {0, 0, 0, 0, REASON_NONE, SCAN_UNJUDGED, "not sampled", "few_samples"},
        {0, 0, 0, 0, REASON_NONE, SCAN_INACTIVE, "not sampled; scan filter: pid_inactive",
         "few_samples"},
        {0, 0, 0, 0, REASON_BIND, SCAN_INACTIVE, "bind", "bind"},
        {M, 3, 0, 0, REASON_BIND, SCAN_ACTIVE, "moved 1 MiB: bind", "bind"},
        {64 * M, 2, 30, 0, REASON_NONE, SCAN_ACTIVE, "moved 64 MiB: cool_down 30, in place 2",
         "cool_down"},
        {0, 2, 2, 3, REASON_NONE, SCAN_INACTIVE,
         "to be moved 3, in place 2, cool_down 2; scan filter: pid_inactive", "none"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct vma_report report = {.moved_bytes = cases[i].moved};

        report.ranges.n[REASON_LOCAL] = cases[i].local;
        report.ranges.n[REASON_COOL_DOWN] = cases[i].cool_down;
        report.ranges.n[REASON_NONE] = cases[i].planned;
        vma_verdict_fill(&report, cases[i].barred, cases[i].scan);
        assert_string_equal(report.verdict, cases[i].verdict);
        assert_string_equal(report.reason, cases[i].reason);
    }
}

static void a_verdict_of_all_reasons_is_cut_and_not_beyond(void **state)
{
    struct vma_report report = {.moved_bytes = UINT64_MAX};

    (void)state;
    for (enum reason reason = 0; reason < REASON_COUNT; reason++)
        report.ranges.n[reason] = UINT64_MAX;
    vma_verdict_fill(&report, REASON_NONE, SCAN_INACTIVE);
    assert_int_equal(strlen(report.verdict), sizeof report.verdict - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_name_is_kept_once),
        cmocka_unit_test(a_long_name_keeps_its_end),
        cmocka_unit_test(names_without_end_are_left_out),
        cmocka_unit_test(only_a_line_that_is_all_of_the_vma_counts),
        cmocka_unit_test(a_move_to_a_new_node_leaves_the_neighbours_alone),
        cmocka_unit_test(verdicts_sum_up_with_counts),
        cmocka_unit_test(a_verdict_of_all_reasons_is_cut_and_not_beyond),
    };

    print_message("bytes: VMA %zu, its scans %zu, its pages %zu, each node of them %zu\n",
                  sizeof(struct vma), sizeof(struct vma_scan), sizeof(struct vma_pages_line),
                  sizeof(struct node_pages));
    return cmocka_run_group_tests_name("vma tables", tests, NULL, NULL);
}
