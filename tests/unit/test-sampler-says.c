/*
 * What the sampler logs of sources that fail, lack something and come back: each of it once.
 */
#include "sampler_world.h"

/*
 * Named after the bug: where files ran out a source could be made each time, failed at its first
 * targets, and said each time that it samples again and dropped out.
 */
static void source_that_fails_at_its_targets_is_said_once(void **state)
{
    struct world world = {.fd = -1};
    CLEANUP(sampler_freep) struct sampler *sampler = make_sampler(&world, 1);
    const struct sample_round nobody = {.now = 700 * NSEC_PER_SEC};

    (void)state;
    round_at(sampler, 2);
    assert_int_equal(world.n_lines, 0);
    world.round_r[0] = SOURCE_UNAVAILABLE;
    for (uint64_t second = 3; second < 600; second++)
        round_at(sampler, second);
    assert_true(world.n_made[0] > 5);
    assert_int_equal(world.n_lines, 1);
    assert_string_equal(world.line, "hardware dropped out: ring 0 is gone");
    /* Without targets it has nothing to fail at. */
    world.round_r[0] = 0;
    assert_int_equal(sampler_round(sampler, &nobody), 0);
    assert_int_equal(world.n_lines, 1);
    round_at(sampler, 1300);
    assert_string_equal(world.line, "hardware samples again");
    world.round_r[0] = SOURCE_UNAVAILABLE;
    round_at(sampler, 1400);
    assert_int_equal(world.n_lines, 3);
    assert_string_equal(world.line, "hardware dropped out: ring 0 is gone");
}

/* Named after the bug: only status told that files or permissions were missing for some events. */
static void what_a_source_lacks_is_said_when_it_begins_and_ends(void **state)
{
    struct world world = {.fd = -1};
    CLEANUP(sampler_freep) struct sampler *sampler = make_sampler(&world, 1);

    (void)state;
    for (uint64_t second = 2; second < 30; second++) {
        world.lacks = second >= 10 && second < 20;
        round_at(sampler, second);
        if (second == 10)
            assert_string_equal(world.line, "hardware goes on with less: kind 0 wants files");
        assert_int_equal(world.n_lines, (second >= 10) + (second >= 20));
    }
    assert_string_equal(world.line, "hardware lacks nothing any more");
    /* One that drops out lacks more than that, and says so by itself. */
    world.lacks = true;
    round_at(sampler, 30);
    world.round_r[0] = SOURCE_UNAVAILABLE;
    round_at(sampler, 31);
    world.lacks = false;
    world.round_r[0] = 0;
    round_at(sampler, 40);
    assert_string_equal(world.line, "hardware samples again");
    assert_int_equal(world.n_lines, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source_that_fails_at_its_targets_is_said_once),
        cmocka_unit_test(what_a_source_lacks_is_said_when_it_begins_and_ends),
    };

    return cmocka_run_group_tests_name("sampler: what it says", tests, NULL, NULL);
}
