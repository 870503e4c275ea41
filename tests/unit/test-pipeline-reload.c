/*
 * Settings that a stage keeps for itself follow a reload.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "workload.h"

static void commit_rate(struct model_run *run, unsigned rate_hz)
{
    struct config *config = model_run_config(run);

    config->rate_hz = rate_hz;
    pipeline_commit(run->pipeline, config);
}

/* Named after the bug: a new `rate` was accepted on reload and changed nothing. */
static void rate_changes_on_reload(void **state)
{
    struct model_run *run = *state;
    unsigned before = pipeline_config(run->pipeline)->rate_hz;

    commit_rate(run, 2 * before);
    assert_int_equal(run->model.rate_hz, 2 * before);
    run->model.rate_hz = 7; /* not set anew by a reload that leaves the rate */
    commit_rate(run, 2 * before);
    assert_int_equal(run->model.rate_hz, 7);
    assert_int_equal(run->n_log, 0);
}

static int refuse_rate(void *self, unsigned rate_hz)
{
    (void)self, (void)rate_hz;
    return -ESRCH;
}

static void keep(void *self)
{
    (void)self;
}

static void refused_rate_is_said(void **state)
{
    static const struct source_ops refusing = {
        .name = "model", .set_rate = refuse_rate, .free = keep};
    static const struct source_ops without_rate = {.name = "model", .free = keep};
    struct model_run *run = *state;

    pipeline_set_source(run->pipeline, (struct source){.ops = &refusing});
    commit_rate(run, 500);
    assert_int_equal(run->n_log, 1);
    pipeline_set_source(run->pipeline, (struct source){.ops = &without_rate});
    commit_rate(run, 1000);
    pipeline_set_source(run->pipeline, (struct source){0});
    commit_rate(run, 2000);
    assert_int_equal(run->n_log, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workload_setup, workload_teardown)
    const struct CMUnitTest tests[] = {
        TEST(rate_changes_on_reload),
        TEST(refused_rate_is_said),
    };

    return cmocka_run_group_tests_name("pipeline-reload", tests, NULL, NULL);
}
