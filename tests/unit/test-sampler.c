/*
 * Sources that come, fail and come back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "config_names.h"
#include "numabd/sampler.h"
#include "sample/sources.h"
#include "sampler_world.h"
#include "util/nsec.h"

static void rounds_tell_what_the_config_allows(void **state)
{
    struct world world = {.fd = -1};
    CLEANUP(sampler_freep) struct sampler *sampler = make_sampler(&world, 3);
    CLEANUP(config_freep) struct config *config = NULL;

    (void)state;
    assert_int_equal(config_new_default(&config), 0);
    config->source_mask = 3;
    config->sampling_budget_permyriad = 300;
    config->cpu_budget_permyriad = 500;
    sampler_configure(sampler, config);
    round_at(sampler, 2);
    assert_true(world.sampling_budget == 0.03);
    assert_true(world.cpu_budget > 0.05 - 1e-9 && world.cpu_budget < 0.05 + 1e-9);
}

static void another_scope_makes_sources_anew(void **state)
{
    struct world world = {.fd = -1};
    CLEANUP(sampler_freep) struct sampler *sampler = make_sampler(&world, 3);
    CLEANUP(config_freep) struct config *config = NULL;

    (void)state;
    assert_int_equal(config_new_default(&config), 0);
    config->source_mask = 3;
    sampler_configure(sampler, config);
    round_at(sampler, 2);
    assert_int_equal(world.n_made[0], 1); /* nothing has changed */
    config->scope = SAMPLE_SCOPE_THREAD;
    sampler_configure(sampler, config);
    round_at(sampler, 3);
    assert_int_equal(world.n_freed[0], 1);
    assert_int_equal(world.n_made[0], 2);
    assert_int_equal(world.scope, SAMPLE_SCOPE_THREAD);
    assert_int_equal(world.n_made[1], 0); /* the spare one does not step in meanwhile */
    assert_int_equal(world.n_lines, 0);
}

static void spare_is_not_made_beside_a_better_one(void **state)
{
    struct world world = {.fd = -1};
    CLEANUP(sampler_freep) struct sampler *sampler = make_sampler(&world, 3);
    struct source_state second;

    (void)state;
    assert_int_equal(world.n_made[0], 1);
    assert_int_equal(world.n_made[1], 0);
    assert_true(sampler_sees_who(sampler));
    sampler_state(sampler, 1, &second);
    assert_false(second.works);
    assert_string_equal(second.text, "not needed: a better source works");
}

static void spare_steps_in_and_out(void **state)
{
    struct world world = {.fd = -1};
    CLEANUP(sampler_freep) struct sampler *sampler = make_sampler(&world, 3);

    (void)state;
    world.round_r[0] = SOURCE_UNAVAILABLE;
    world.make_r[0] = SOURCE_UNAVAILABLE;
    round_at(sampler, 10);
    assert_string_equal(world.line, "hardware dropped out: ring 0 is gone");
    round_at(sampler, 11);
    assert_int_equal(world.n_made[1], 1);
    assert_true(sampler_sees_who(sampler));
    world.round_r[0] = world.make_r[0] = 0;
    round_at(sampler, 20);
    assert_string_equal(world.line, "hardware samples again");
    round_at(sampler, 21);
    assert_int_equal(world.n_freed[1], 1);
    assert_int_equal(world.n_lines, 2);
}

static void retries_are_doubled_up_to_ten_minutes(void **state)
{
    struct world world = {.make_r = {SOURCE_UNAVAILABLE, SOURCE_UNAVAILABLE}, .fd = -1};
    CLEANUP(sampler_freep) struct sampler *sampler = make_sampler(&world, 1);
    unsigned n_tries = 0;

    (void)state;
    assert_false(sampler_sees_who(sampler));
    assert_string_equal(sampler_why(sampler), "kind 0: no way");
    /* A try shows as a made source, which fails in its round. */
    world.round_r[0] = SOURCE_UNAVAILABLE;
    world.make_r[0] = 0;
    for (uint64_t second = 2; second < 2 + 3600; second++) {
        unsigned before = world.n_made[0];

        round_at(sampler, second);
        n_tries += world.n_made[0] > before;
    }
    /* After 1, 2, 4 ... 512 s, then each 600 s. */
    assert_in_range(n_tries, 13, 15);
    assert_string_equal(sampler_why(sampler), "ring 0 is gone");
}

/* Named after the bug: what had lasted once was tried again each second for good. */
static void retries_are_doubled_after_a_long_success(void **state)
{
    struct world world = {.fd = -1};
    CLEANUP(sampler_freep) struct sampler *sampler = make_sampler(&world, 1);
    unsigned n_made;

    (void)state;
    round_at(sampler, 1000);
    world.round_r[0] = SOURCE_UNAVAILABLE;
    n_made = world.n_made[0];
    for (uint64_t second = 1001; second < 1001 + 3600; second++)
        round_at(sampler, second);
    assert_in_range(world.n_made[0] - n_made, 12, 15);
    /* And when only making it fails. */
    world.round_r[0] = 0;
    round_at(sampler, 6000);
    round_at(sampler, 7000);
    world.round_r[0] = SOURCE_UNAVAILABLE;
    round_at(sampler, 7001);
    world.make_r[0] = SOURCE_UNAVAILABLE;
    for (uint64_t second = 7002; second < 7100; second++)
        round_at(sampler, second);
    world.make_r[0] = 0;
    n_made = world.n_made[0];
    for (uint64_t second = 7100; second < 7120; second++)
        round_at(sampler, second);
    assert_int_equal(world.n_made[0], n_made);
}

/* Named after the bug: a source that came back while numabd saved time was slow for good. */
static void source_that_comes_back_is_made_for_the_full_rate(void **state)
{
    struct world world = {.fd = -1};
    CLEANUP(sampler_freep) struct sampler *sampler = make_sampler(&world, 1);

    (void)state;
    assert_int_equal(world.rate_hz, 1000); /* of a new target */
    for (unsigned i = 0; i < 600; i++)
        sampler_spend(sampler, NSEC_PER_SEC, NSEC_PER_SEC);
    assert_true(sampler_rate(sampler, PACE_USUAL) < 20);
    world.round_r[0] = SOURCE_UNAVAILABLE;
    round_at(sampler, 10);
    world.rate_hz = 0;
    round_at(sampler, 20);
    assert_int_equal(world.rate_hz, 1000); /* of a new target */
}

/* Named after the bug: where perf is not permitted, the reason was that there are no guests. */
static void reason_is_that_of_the_source_that_sees_all(void **state)
{
    struct world world = {.make_r = {1, 1, 1}, .fd = -1};
    CLEANUP(sampler_freep) struct sampler *all = make_sampler(&world, 7);
    CLEANUP(sampler_freep) struct sampler *guests = make_sampler(&world, 4);

    (void)state;
    assert_string_equal(sampler_why(all), "kind 1: no way");
    assert_string_equal(sampler_why(guests), "kind 2: no way");
    assert_string_equal(sampler_gap(all), "");
}

/* Named after the bug: where only guests are seen, nothing said that all else is not. */
static void source_of_some_processes_leaves_a_gap(void **state)
{
    struct world world = {.make_r = {1, 1, 0}, .fd = -1};
    CLEANUP(sampler_freep) struct sampler *sampler = make_sampler(&world, 7);

    (void)state;
    assert_true(sampler_sees_who(sampler));
    assert_string_equal(sampler_why(sampler), "");
    assert_string_equal(sampler_gap(sampler), "only some processes are seen: kind 1: no way");
    world.make_r[1] = 0;
    round_at(sampler, 10);
    assert_string_equal(sampler_gap(sampler), "");
}

static void unwanted_sources_are_freed(void **state)
{
    struct world world = {.fd = -1};
    CLEANUP(sampler_freep) struct sampler *sampler = make_sampler(&world, 1);
    CLEANUP(config_freep) struct config *config = NULL;

    (void)state;
    assert_int_equal(config_new_default(&config), 0);
    config->source_mask = 2;
    sampler_configure(sampler, config);
    round_at(sampler, 5);
    assert_int_equal(world.n_freed[0], 1);
    assert_int_equal(world.n_made[1], 1);
    config->source_mask = 0;
    sampler_configure(sampler, config);
    round_at(sampler, 6);
    assert_int_equal(world.n_freed[1], 1);
    assert_string_equal(sampler_why(sampler), "no source that sees who accesses memory is wanted");
}

/* It takes the target's soft-dirty bits: not even its self-test runs unasked. */
/* Named after the bug: one source that could not be made took the round from all others. */
static void failure_of_one_source_is_not_that_of_others(void **state)
{
    struct world world = {.make_r = {-EMFILE}, .fd = -1};
    CLEANUP(sampler_freep) struct sampler *sampler = make_sampler(&world, 3);
    struct source_state first;

    (void)state;
    assert_int_equal(world.n_made[1], 1);
    round_at(sampler, 2);
    assert_int_equal(world.n_rounds[1], 1);
    sampler_state(sampler, 0, &first);
    assert_string_equal(first.text, "Too many open files");
}

static void source_by_rule_waits_for_one(void **state)
{
    static const struct source_kind by_rule = {
        .name = "hardware", .make = make_hardware, .sees_who = true, .by_rule = true};
    struct world world = {.fd = -1};
    struct sampler_options options = {
        .source.sink.userdata = &world, .kinds = &by_rule, .n_kinds = 1, .log = on_log};
    CLEANUP(config_freep) struct config *config = NULL;
    CLEANUP(sampler_freep) struct sampler *sampler = NULL;

    (void)state;
    assert_int_equal(config_new_default(&config), 0);
    assert_int_equal(sampler_new(&sampler, &options, config, 0), 0);
    assert_int_equal(world.n_made[0], 0);
    config->write_fault.n_rules = 1;
    sampler_configure(sampler, config);
    round_at(sampler, 1);
    assert_int_equal(world.n_made[0], 1);
    config->write_fault.n_rules = 0;
    sampler_configure(sampler, config);
    round_at(sampler, 2);
    assert_int_equal(world.n_freed[0], 1);
}

static void errors_are_forwarded(void **state)
{
    struct world world = {.make_r = {-ENOMEM}, .fd = -1};
    struct sampler_options options = {
        .source.sink.userdata = &world, .kinds = kinds, .n_kinds = 3, .log = on_log};
    CLEANUP(config_freep) struct config *config = NULL;
    struct sampler *sampler = NULL;

    (void)state;
    assert_int_equal(config_new_default(&config), 0);
    assert_int_equal(sampler_new(&sampler, &options, config, 0), -ENOMEM);
    assert_null(sampler);
}

/* Named after the bug: the fd of an ended thread's event is readable for ever. */
static void hung_up_fd_wakes_the_loop_once(void **state)
{
    int ends[2];
    struct world world;
    struct epoll_event event;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    world = (struct world){.fd = ends[0]};
    {
        CLEANUP(sampler_freep) struct sampler *sampler = make_sampler(&world, 1);

        assert_int_equal(epoll_wait(sampler_fd(sampler), &event, 1, 0), 0);
        close(ends[1]);
        assert_int_equal(epoll_wait(sampler_fd(sampler), &event, 1, 0), 1);
        assert_int_equal(sampler_drain(sampler), 0);
        assert_int_equal(world.n_drains, 1);
        assert_int_equal(epoll_wait(sampler_fd(sampler), &event, 1, 0), 0);
    }
    close(ends[0]);
}

/* The bits of `sources` are positions in the table. */
static void configured_names_are_those_of_the_sources(void **state)
{
    size_t n, i;
    const struct source_kind *all = source_kinds(&n);

    (void)state;
    for (i = 0; i < n; i++)
        assert_string_equal(names_of_sources[i], all[i].name);
    assert_null(names_of_sources[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_tell_what_the_config_allows),
        cmocka_unit_test(another_scope_makes_sources_anew),
        cmocka_unit_test(spare_is_not_made_beside_a_better_one),
        cmocka_unit_test(spare_steps_in_and_out),
        cmocka_unit_test(retries_are_doubled_up_to_ten_minutes),
        cmocka_unit_test(retries_are_doubled_after_a_long_success),
        cmocka_unit_test(source_that_comes_back_is_made_for_the_full_rate),
        cmocka_unit_test(reason_is_that_of_the_source_that_sees_all),
        cmocka_unit_test(source_of_some_processes_leaves_a_gap),
        cmocka_unit_test(unwanted_sources_are_freed),
        cmocka_unit_test(failure_of_one_source_is_not_that_of_others),
        cmocka_unit_test(source_by_rule_waits_for_one),
        cmocka_unit_test(errors_are_forwarded),
        cmocka_unit_test(hung_up_fd_wakes_the_loop_once),
        cmocka_unit_test(configured_names_are_those_of_the_sources),
    };

    return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
