/* Which place covers which target: tables of cases with their near misses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sample/scope/scope_plan.h"
#include "util/array.h"

#define MAX 4

struct plan_case {
    const char *name;
    enum sample_scope scope;
    struct scope_plan_target targets[MAX];
    size_t n;
    /* "/x": that cgroup; "t": its threads; "s": the whole system */
    const char *covers[MAX];
    enum scope_plan_note note;
};

#define T(path, threads)                                                                           \
    {                                                                                              \
        .cgroup = path, .n_threads = threads                                                       \
    }
#define CROWD(path, threads, processes)                                                            \
    {                                                                                              \
        .cgroup = path, .n_threads = threads, .n_processes = processes                             \
    }

static const struct plan_case cases[] = {
    {"each target's cgroup", SAMPLE_SCOPE_AUTO, {T("/a", 4), T("/b", 99)}, 2, {"/a", "/b"}, 0},
    {"two targets in one", SAMPLE_SCOPE_AUTO, {T("/a", 4), T("/a", 4)}, 2, {"/a", "/a"}, 0},
    {"the upper one covers the lower, whatever the order of pids",
     SAMPLE_SCOPE_AUTO,
     {T("/a/b/c", 4), T("/a", 4), T("/a/b", 4)},
     3,
     {"/a", "/a", "/a"},
     0},
    {"a longer name is not below",
     SAMPLE_SCOPE_AUTO,
     {T("/a", 4), T("/a-b", 4), T("/ab", 4), T("/a/x", 4)},
     4,
     {"/a", "/a-b", "/ab", "/a"},
     0},
    {"siblings below one that holds no target",
     SAMPLE_SCOPE_AUTO,
     {T("/s/a", 4), T("/s/b", 4)},
     2,
     {"/s/a", "/s/b"},
     0},
    {"small without a cgroup: threads",
     SAMPLE_SCOPE_AUTO,
     {T(NULL, 32), T("/b", 4)},
     2,
     {"t", "/b"},
     0},
    {"large without a cgroup: the system, for all",
     SAMPLE_SCOPE_AUTO,
     {T(NULL, 33), T("/b", 4)},
     2,
     {"s", "s"},
     SCOPE_PLAN_NO_CGROUP},
    {"grown a little while it has its threads",
     SAMPLE_SCOPE_AUTO,
     {{.n_threads = 48, .had_threads = true}},
     1,
     {"t"},
     0},
    {"grown too much",
     SAMPLE_SCOPE_AUTO,
     {{.n_threads = 49, .had_threads = true}},
     1,
     {"s"},
     SCOPE_PLAN_NO_CGROUP},
    {"crowded", SAMPLE_SCOPE_AUTO, {CROWD("/a", 4, 16)}, 1, {"t"}, 0},
    {"nearly crowded", SAMPLE_SCOPE_AUTO, {CROWD("/a", 4, 15)}, 1, {"/a"}, 0},
    {"crowded, but large", SAMPLE_SCOPE_AUTO, {CROWD("/a", 33, 500)}, 1, {"/a"}, 0},
    {"as many targets as others",
     SAMPLE_SCOPE_AUTO,
     {CROWD("/a", 4, 23), CROWD("/a", 4, 23), CROWD("/a/b", 4, 3)},
     3,
     {"/a", "/a", "/a"},
     0},
    {"few targets among others",
     SAMPLE_SCOPE_AUTO,
     {CROWD("/a", 4, 24), CROWD("/a", 4, 24), CROWD("/a/b", 4, 3)},
     3,
     {"t", "t", "/a/b"},
     0},
    {"many small ones together are not small",
     SAMPLE_SCOPE_AUTO,
     {CROWD("/a", 30, 500), CROWD("/a", 30, 500)},
     2,
     {"/a", "/a"},
     0},
    {"crowded, and above it one that is wanted",
     SAMPLE_SCOPE_AUTO,
     {CROWD("/a/b", 4, 100), CROWD("/a", 99, 120)},
     2,
     {"/a", "/a"},
     0},
    {"a cgroup that failed",
     SAMPLE_SCOPE_AUTO,
     {{.cgroup = "/a", .cgroup_failed = true, .n_threads = 4}, T("/a/b", 4)},
     2,
     {"t", "/a/b"},
     0},
    {"a cgroup that failed, large",
     SAMPLE_SCOPE_AUTO,
     {{.cgroup = "/a", .cgroup_failed = true, .n_threads = 40}},
     1,
     {"s"},
     SCOPE_PLAN_NO_CGROUP},
    {"a cgroup that failed below one that did not",
     SAMPLE_SCOPE_AUTO,
     {{.cgroup = "/a/b", .cgroup_failed = true, .n_threads = 40}, T("/a", 4)},
     2,
     {"/a", "/a"},
     0},
    {"cgroups asked for: no crowd counts",
     SAMPLE_SCOPE_CGROUP,
     {CROWD("/a", 4, 500)},
     1,
     {"/a"},
     0},
    {"cgroups asked for, none there", SAMPLE_SCOPE_CGROUP, {T(NULL, 4)}, 1, {"t"}, 0},
    {"threads asked for", SAMPLE_SCOPE_THREAD, {T("/a", 400), T(NULL, 112)}, 2, {"t", "t"}, 0},
    {"threads asked for, too many",
     SAMPLE_SCOPE_THREAD,
     {T("/a", 401), T("/b", 112)},
     2,
     {"/a", "/b"},
     SCOPE_PLAN_MANY_THREADS},
    {"the system asked for", SAMPLE_SCOPE_SYSTEM, {T("/a", 4)}, 1, {"s"}, 0},
    {"nothing to cover", SAMPLE_SCOPE_AUTO, {{0}}, 0, {NULL}, 0},
};

static void check_cover(const struct scope_plan_choice *choice, const char *want)
{
    if (*want == '/') {
        assert_int_equal(choice->cover, SCOPE_COVER_CGROUP);
        assert_string_equal(choice->cgroup, want);
    } else {
        assert_int_equal(choice->cover, *want == 't' ? SCOPE_COVER_THREADS : SCOPE_COVER_SYSTEM);
    }
}

static void targets_get_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct scope_plan_choice choices[MAX];
        enum scope_plan_note note;

        print_message("%s\n", cases[i].name);
        assert_int_equal(
            scope_plan_make(cases[i].scope, cases[i].targets, cases[i].n, choices, &note), 0);
        for (size_t j = 0; j < cases[i].n; j++)
            check_cover(&choices[j], cases[i].covers[j]);
        assert_int_equal(note, cases[i].note);
    }
}

/* 17 small processes of 31 threads are 527, one less is 496. */
static void many_small_processes_take_the_system(void **state)
{
    struct scope_plan_target targets[17];
    struct scope_plan_choice choices[17];
    enum scope_plan_note note;

    (void)state;
    for (size_t i = 0; i < 17; i++)
        targets[i] = (struct scope_plan_target){.n_threads = 31};
    assert_int_equal(scope_plan_make(SAMPLE_SCOPE_AUTO, targets, 17, choices, &note), 0);
    assert_int_equal(note, SCOPE_PLAN_MANY_THREADS);
    for (size_t i = 0; i < 17; i++)
        assert_int_equal(choices[i].cover, SCOPE_COVER_SYSTEM);
    assert_int_equal(scope_plan_make(SAMPLE_SCOPE_AUTO, targets, 16, choices, &note), 0);
    assert_int_equal(note, SCOPE_PLAN_AS_ASKED);
    assert_int_equal(choices[15].cover, SCOPE_COVER_THREADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_get_their_place),
        cmocka_unit_test(many_small_processes_take_the_system),
    };

    return cmocka_run_group_tests_name("scope plan", tests, NULL, NULL);
}
