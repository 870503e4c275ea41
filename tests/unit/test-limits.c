/* The daemon's own limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>

#include "daemon/limits.h"
#include "numabd/sample.h"
#include "sample/perf_ring.h"

static rlim_t soft_limit(void)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    return limit.rlim_cur;
}

static void lower_soft_limit(void)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max / 2;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void open_files_are_raised_to_the_hard_limit(void **state)
{
    rlim_t before = soft_limit();
    struct rlimit limit;

    (void)state;
    lower_soft_limit();
    limits_raise();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(limit.rlim_cur == limit.rlim_max);
    limits_raise(); /* again: nothing to do */
    assert_true(soft_limit() == limit.rlim_max);
    limit.rlim_cur = before;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Once opening the rings raised the limit of whoever opened them. */
static void opening_rings_leaves_the_limits_alone(void **state)
{
    const struct source_options options = {0}; /* no CPU: nothing is opened */
    const struct perf_event_attr attr = {.size = sizeof attr};
    struct perf_rings rings = PERF_RINGS_NULL;
    struct source_reason reason = {""};
    rlim_t before = soft_limit(), lowered;

    (void)state;
    lower_soft_limit();
    lowered = soft_limit();
    assert_int_equal(perf_rings_init(&rings, &attr, &options, &reason), SOURCE_UNAVAILABLE);
    assert_true(soft_limit() == lowered);
    perf_rings_deinit(&rings);
    assert_true(before >= lowered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_files_are_raised_to_the_hard_limit),
        cmocka_unit_test(opening_rings_leaves_the_limits_alone),
    };

    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
