/* The daemon's own limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>

#include "daemon/limits.h"
#include "numabd/sample.h"
#include "sample/scope/perf_scope.h"

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
static void opening_events_leaves_the_limits_alone(void **state)
{
    const struct host host = host_root("/");
    const bool skip_cpu[1] = {true};
    const struct source_options source = {
        .rate_hz = 1, .n_cpu_ids = 1, .cpu_skip = skip_cpu, .host = &host, .epoll_fd = -1};
    const struct perf_scope_event event = {.leads = false};
    const struct perf_scope_options options = {.source = &source, .events = &event, .n_events = 1};
    struct perf_scope *scope = NULL;
    struct source_reason reason = {""};
    rlim_t before = soft_limit(), lowered;

    (void)state;
    lower_soft_limit();
    lowered = soft_limit();
    assert_int_equal(perf_scope_new(&scope, &options, &reason), SOURCE_UNAVAILABLE);
    assert_true(soft_limit() == lowered);
    assert_true(before >= lowered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_files_are_raised_to_the_hard_limit),
        cmocka_unit_test(opening_events_leaves_the_limits_alone),
    };

    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
