/* Where ranges begin and end, how claims are judged, and how evidence decays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "attribute/tally.h"
#include "range_rig.h"
#include "util/array.h"

#define M ((uint64_t)1 << 20)
#define HALF (UINT64_C(1) << 63)

static bool close_to(double a, double b)
{
    return fabs(a - b) < 1e-4;
}

static const struct {
    const char *shows;
    uint64_t vma_start, vma_end, addr, start, end;
} bounds[] = {
    {"inside a large VMA", 0, 100 * M, 5 * M, 4 * M, 6 * M},
    {"its first byte", 0, 100 * M, 4 * M, 4 * M, 6 * M},
    {"its last byte", 0, 100 * M, 6 * M - 1, 4 * M, 6 * M},
    {"the byte behind it", 0, 100 * M, 6 * M, 6 * M, 8 * M},
    {"cut at the VMA's start", 5 * M, 100 * M, 5 * M, 5 * M, 6 * M},
    {"cut at its end", 0, 5 * M, 5 * M - 1, 4 * M, 5 * M},
    {"a VMA inside of one range", 4 * M + 4096, 4 * M + 8192, 4 * M + 5000, 4 * M + 4096,
     4 * M + 8192},
    {"a VMA that ends where a range ends", 0, 6 * M, 5 * M, 4 * M, 6 * M},
    {"across the middle of the address space", HALF - M, HALF + M, HALF, HALF, HALF + M},
    {"below the middle", HALF - M, HALF + M, HALF - 1, HALF - M, HALF},
    {"the last page of all", UINT64_MAX - 4095, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 4095,
     UINT64_MAX},
    {"the last range, whose end has no number", 0, UINT64_MAX, UINT64_MAX - M, -2 * M, UINT64_MAX},
};

static void test_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(bounds); i++) {
        const struct vma vma = {.start = bounds[i].vma_start, .end = bounds[i].vma_end};
        uint64_t start, end;

        print_message("  %s\n", bounds[i].shows);
        range_bounds(&vma, bounds[i].addr, &start, &end);
        assert_true(start == bounds[i].start);
        assert_true(end == bounds[i].end);
    }
}

static const struct {
    const char *shows;
    unsigned n0, n8;
    double min_share;
    unsigned n_passes;
} windows[] = {
    {"14 of 14 pass", 14, 0, 0.6, 1},
    {"13 of 13 do not", 13, 0, 0.6, 0},
    {"18 of 19 pass", 18, 1, 0.6, 1},
    {"17 of 18 do not", 17, 1, 0.6, 0},
    {"7 of 10 in a thousand pass", 700, 300, 0.6, 1},
    {"64 of 100 in a thousand do not: the bound is 0.593", 640, 360, 0.6, 0},
    {"65 of 100 in a thousand do: 0.603", 650, 350, 0.6, 1},
    {"a lower share asks for less: 10 of 10", 10, 0, 0.5, 1},
    {"9 of 9 are on the line of 0.5", 9, 0, 0.5, 0},
    {"a higher share asks for more", 170, 0, 0.95, 0},
    {"172 of 172 pass 0.95", 172, 0, 0.95, 1},
    {"no samples", 0, 0, 0.6, 0},
};

static void test_one_window(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(windows); i++) {
        struct range_rig rig;

        print_message("  %s\n", windows[i].shows);
        range_rig_init(&rig);
        rig.min_share = windows[i].min_share;
        range_rig_add(&rig, 8, windows[i].n8);
        range_rig_round(&rig, 0, windows[i].n0);
        assert_int_equal(rig.range->claim.n_passes, windows[i].n_passes);
        assert_int_equal(rig.range->claim.node, windows[i].n_passes ? 0 : -1);
        range_rig_deinit(&rig);
    }
}

static void test_a_claim_needs_two_passes(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    assert_int_equal(range_evidence(rig.range), REASON_FEW_SAMPLES);
    assert_int_equal(range_rig_round(&rig, 8, 13), REASON_FEW_SAMPLES);
    assert_int_equal(range_rig_round(&rig, 8, 13), REASON_UNCONFIRMED);
    assert_true(rig.range->claim.since_nsec == rig.now);
    assert_int_equal(range_rig_round(&rig, 8, 14), REASON_NONE);
    assert_int_equal(rig.range->claim.node, 8);
    assert_true(rig.range->claim.since_nsec == rig.now - 1000000000); /* of the first one */
    range_rig_deinit(&rig);
}

static void test_the_same_samples_never_count_twice(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    assert_int_equal(range_rig_round(&rig, 0, 10000), REASON_UNCONFIRMED);
    for (int i = 0; i < 20; i++)
        assert_int_equal(range_rig_round(&rig, 0, 0), REASON_UNCONFIRMED);
    assert_int_equal(range_rig_round(&rig, 0, 13), REASON_UNCONFIRMED);
    assert_int_equal(rig.range->claim.n_passes, 1);
    range_rig_deinit(&rig);
}

static void add_from(struct range_rig *rig, enum access_source source, pid_t tid, int node,
                     unsigned n)
{
    while (n-- > 0) {
        const struct access access = {
            .when_nsec = ++rig->n_samples, .tid = tid, .weight_sec = 0.004, .source = source};

        assert_int_equal(range_add(rig->range, &access, node, (unsigned)tid), 0);
    }
}

static const struct {
    const char *shows;
    enum access_source source;
    unsigned n_before, n_same_thread, n_same_node, n_other_node;
    unsigned n_passes;
} certain[] = {
    {"5 of one thread pass", ACCESS_SOURCE_WRITE_FAULT, 0, 5, 0, 0, 1},
    {"4 do not", ACCESS_SOURCE_WRITE_FAULT, 0, 4, 0, 0, 0},
    {"6 of two threads of a node do not", ACCESS_SOURCE_WRITE_FAULT, 0, 5, 1, 0, 0},
    {"5 and one of another node do not", ACCESS_SOURCE_WRITE_FAULT, 0, 5, 0, 1, 0},
    {"5 do not beside another node's samples of the timer", ACCESS_SOURCE_WRITE_FAULT, 1, 5, 0, 0,
     0},
    {"13 of the timer do not: it may mistake an address", ACCESS_SOURCE_TIMER, 0, 13, 0, 0, 0},
    {"13 of the hardware do not: it shows samples, not all users", ACCESS_SOURCE_MEM_EVENTS, 0, 13,
     0, 0, 0},
};

static void test_a_certain_source_needs_few_samples_of_one_thread(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(certain); i++) {
        struct range_rig rig;

        print_message("  %s\n", certain[i].shows);
        range_rig_init(&rig);
        add_from(&rig, ACCESS_SOURCE_TIMER, 1, 0, certain[i].n_before);
        add_from(&rig, certain[i].source, 1, 8, certain[i].n_same_thread);
        add_from(&rig, certain[i].source, 2, 8, certain[i].n_same_node);
        add_from(&rig, certain[i].source, 3, 0, certain[i].n_other_node);
        range_rig_close(&rig, 1);
        assert_int_equal(rig.range->claim.n_passes, certain[i].n_passes);
        range_rig_deinit(&rig);
    }
}

static void test_certain_samples_never_count_twice(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    add_from(&rig, ACCESS_SOURCE_WRITE_FAULT, 1, 8, 9);
    range_rig_close(&rig, 1);
    add_from(&rig, ACCESS_SOURCE_WRITE_FAULT, 1, 8, 4);
    range_rig_close(&rig, 1);
    assert_int_equal(range_evidence(rig.range), REASON_UNCONFIRMED);
    add_from(&rig, ACCESS_SOURCE_WRITE_FAULT, 1, 8, 1);
    range_rig_close(&rig, 1);
    assert_int_equal(range_evidence(rig.range), REASON_NONE);
    range_rig_deinit(&rig);
}

static void test_addresses_of_one_sample_are_one_observation(void **state)
{
    struct access access = {.weight_sec = 0.0005};
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    for (access.tid = 1; access.tid <= 13; access.tid++) {
        access.when_nsec++;
        for (int address = 0; address < 8; address++)
            assert_int_equal(range_add(rig.range, &access, 0, 0), 0);
    }
    assert_int_equal(range_rig_round(&rig, 0, 0), REASON_FEW_SAMPLES);
    assert_true(close_to(range_rate(rig.range, 0), 13 * 0.004)); /* their time counts in full */
    range_rig_deinit(&rig);
}

static void test_samples_differ_by_time_or_thread(void **state)
{
    static const struct {
        uint64_t when_nsec;
        pid_t tid;
        double n;
    } steps[] = {{1, 1, 1}, {2, 1, 2}, {2, 2, 3}, {2, 2, 3}, {3, 2, 4}, {3, 1, 5}};
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
        const struct access access = {.when_nsec = steps[i].when_nsec, .tid = steps[i].tid};

        assert_int_equal(range_add(rig.range, &access, 0, 0), 0);
        assert_true(tally_n(&rig.range->window, 0) == steps[i].n);
        assert_true(tally_n(&rig.range->rate, 0) == steps[i].n);
    }
    range_rig_deinit(&rig);
}

static void test_a_claim_ends_when_another_node_passes(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    for (int i = 0; i < 5; i++)
        range_rig_round(&rig, 0, 50);
    assert_int_equal(range_evidence(rig.range), REASON_NONE);
    assert_int_equal(range_rig_round(&rig, 252, 50), REASON_UNCONFIRMED);
    assert_int_equal(rig.range->claim.node, 252);
    assert_int_equal(rig.range->claim.n_passes, 1);
    assert_true(rig.range->claim.since_nsec == rig.now);
    assert_int_equal(range_rig_round(&rig, 252, 50), REASON_NONE);
    range_rig_deinit(&rig);
}

static void test_a_claim_ends_when_its_share_is_gone(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    range_rig_round(&rig, 0, 50);
    assert_int_equal(range_rig_round(&rig, 0, 50), REASON_NONE);
    range_rig_add(&rig, 0, 60); /* 60 of 200 are less than 0.6, 140 not more */
    assert_int_equal(range_rig_round(&rig, 8, 140), REASON_FEW_SAMPLES);
    assert_int_equal(rig.range->claim.node, -1);
    range_rig_deinit(&rig);
}

static void test_equal_use_is_shared(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    range_rig_round(&rig, 0, 50);
    range_rig_add(&rig, 0, 500);
    assert_int_equal(range_rig_round(&rig, 8, 500), REASON_SHARED);
    assert_int_equal(rig.range->claim.node, -1);
    range_rig_add(&rig, 0, 500);
    assert_int_equal(range_rig_round(&rig, 8, 500), REASON_SHARED);
    for (int i = 0; i < 10; i++) /* its first node wins in the end */
        range_rig_round(&rig, 0, 1000);
    assert_int_equal(range_evidence(rig.range), REASON_NONE);
    range_rig_deinit(&rig);
}

static void test_little_equal_use_looks_shared_and_is_no_proof(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    range_rig_add(&rig, 0, 45);
    assert_int_equal(range_rig_round(&rig, 8, 45), REASON_FEW_SAMPLES); /* up to 0.603 with z = 2 */
    range_rig_deinit(&rig);
    range_rig_init(&rig);
    range_rig_add(&rig, 0, 50);
    assert_int_equal(range_rig_round(&rig, 8, 50), REASON_SHARED); /* 0.598, with z = 3 0.64 */
    assert_false(rig.range->claim.shared);
    range_rig_deinit(&rig);
}

/* Its window never holds more than 47. */
static void test_equal_use_looks_shared_with_one_sample_a_round(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    for (int round = 0; round < 500; round++) {
        enum reason reason = range_rig_round(&rig, round % 2 ? 8 : 0, 1);

        if (round < 90)
            assert_int_equal(reason, REASON_FEW_SAMPLES);
        if (round > 150)
            assert_int_equal(reason, REASON_SHARED);
    }
    assert_true(tally_total_n(&rig.range->window) < 47);
    assert_false(rig.range->claim.shared);
    range_rig_deinit(&rig);
}

static void test_a_label_fades_with_its_samples(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    range_rig_add(&rig, 0, 50);
    assert_int_equal(range_rig_round(&rig, 8, 50), REASON_SHARED);
    for (int round = 0; round < 16; round++)
        range_rig_round(&rig, 0, 0);
    assert_int_equal(range_evidence(rig.range), REASON_FEW_SAMPLES);
    range_rig_deinit(&rig);
}

static void test_a_wrong_label_is_taken_back_by_the_next_pass(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    for (int round = 0; round < 300; round++)
        range_rig_round(&rig, round % 2 ? 8 : 0, 1);
    assert_int_equal(range_evidence(rig.range), REASON_SHARED);
    assert_int_equal(range_rig_round(&rig, 8, 100), REASON_UNCONFIRMED);
    assert_int_equal(range_rig_round(&rig, 8, 13), REASON_UNCONFIRMED);
    assert_int_equal(range_rig_round(&rig, 8, 14), REASON_NONE);
    range_rig_deinit(&rig);
}

/* What would look shared without a claim does not end one, confirmed or not. */
static void test_a_claim_outlives_what_only_looks_shared(void **state)
{
    (void)state;
    for (unsigned n_passes = 1; n_passes <= CLAIM_PASSES; n_passes++) {
        struct range_rig rig;

        range_rig_init(&rig);
        for (unsigned i = 0; i < n_passes; i++)
            range_rig_round(&rig, 0, 50);
        range_rig_add(&rig, 0, 50);
        range_rig_round(&rig, 8, 50);
        assert_int_equal(rig.range->claim.node, 0);
        assert_int_equal(rig.range->claim.n_passes, n_passes);
        assert_int_equal(range_evidence(rig.range),
                         n_passes < CLAIM_PASSES ? REASON_UNCONFIRMED : REASON_NONE);
        range_rig_deinit(&rig);
    }
}

static const struct {
    const char *shows;
    unsigned n;
    double elapsed_sec, half_life_sec;
} half_lives[] = {
    {"many samples: two rounds", 1000, 1, 2},
    {"16 a second: the time for 32", 16, 1, 2},
    {"8 a second: 4 s", 8, 1, 4},
    {"1 a second: 32 s", 1, 1, 32},
    {"just above one in 1.875 s", 6, 11, 32 * 11.0 / 6},
    {"less: 60 s at most", 1, 10, 60},
    {"none: 60 s", 0, 1, 60},
    {"long rounds: two rounds, above 60 s", 1000, 60, 120},
    {"long rounds with few samples", 1, 60, 120},
};

static void test_half_life(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(half_lives); i++) {
        double factor = exp2(-half_lives[i].elapsed_sec / half_lives[i].half_life_sec);
        struct range_rig rig;

        print_message("  %s\n", half_lives[i].shows);
        range_rig_init(&rig);
        rig.min_share = 1; /* nothing passes */
        range_rig_add(&rig, 0, half_lives[i].n);
        range_rig_close(&rig, half_lives[i].elapsed_sec);
        assert_true(close_to(tally_total_n(&rig.range->rate), half_lives[i].n * factor));
        assert_true(close_to(tally_total_n(&rig.range->window), half_lives[i].n * factor));
        assert_true(
            close_to(tally_total_n(&rig.range->history), half_lives[i].n * exp2(log2(factor) / 8)));
        assert_true(close_to(rig.range->rate_sec, half_lives[i].elapsed_sec * factor));
        range_rig_deinit(&rig);
    }
}

static void test_old_samples_no_longer_stand_against_a_claim(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    range_rig_add(&rig, 0, 5);
    range_rig_round(&rig, 8, 5); /* in the window and in the rate alike */
    assert_true(close_to(tally_n(&rig.range->window, 8), tally_n(&rig.range->rate, 8)));
    assert_true(tally_n(&rig.range->window, 8) < 5);
    for (int i = 0; i < 120; i++) /* two half-lives at the least */
        range_rig_round(&rig, 0, 0);
    assert_int_equal(range_rig_round(&rig, 0, 22), REASON_UNCONFIRMED);
    range_rig_deinit(&rig);
}

static void test_rate_is_unbiased_from_the_first_round(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    assert_true(range_rate(rig.range, 0) == 0);
    for (int round = 0; round < 50; round++) { /* 10 samples of 4 ms in a second from each */
        range_rig_add(&rig, 0, 10);
        range_rig_round(&rig, 8, 30);
        assert_true(close_to(range_rate(rig.range, 0), 0.04));
        assert_true(close_to(range_rate(rig.range, 8), 0.12));
    }
    assert_true(range_rate(rig.range, 1) == 0);
    range_rig_deinit(&rig);
}

static void test_rate_follows_a_change(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    for (int round = 0; round < 20; round++)
        range_rig_round(&rig, 0, 100);
    for (int round = 0; round < 2; round++) /* one half-life */
        range_rig_round(&rig, 0, 200);
    /* 2 of 22 rounds hold half of all weight, which has decayed by 11 half-lives. */
    assert_true(close_to(range_rate(rig.range, 0) / 0.4, 1 + 0.5 / (1 - exp2(-11))));
    range_rig_deinit(&rig);
}

static void test_resident_share(void **state)
{
    struct range_rig rig;

    (void)state;
    range_rig_init(&rig);
    assert_true(range_resident_share(rig.range, 0) == -1);
    tally_add(&rig.range->residency, 0, 4, 0);
    tally_add(&rig.range->residency, 252, 12, 0);
    assert_true(range_resident_share(rig.range, 0) == -1); /* never asked */
    rig.range->residency_nsec = 1;
    assert_true(range_resident_share(rig.range, 0) == 0.25);
    assert_true(range_resident_share(rig.range, 252) == 0.75);
    assert_true(range_resident_share(rig.range, 8) == 0);
    tally_clear(&rig.range->residency); /* all pages absent */
    assert_true(range_resident_share(rig.range, 0) == -1);
    range_rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_one_window),
        cmocka_unit_test(test_a_claim_needs_two_passes),
        cmocka_unit_test(test_the_same_samples_never_count_twice),
        cmocka_unit_test(test_a_certain_source_needs_few_samples_of_one_thread),
        cmocka_unit_test(test_certain_samples_never_count_twice),
        cmocka_unit_test(test_addresses_of_one_sample_are_one_observation),
        cmocka_unit_test(test_samples_differ_by_time_or_thread),
        cmocka_unit_test(test_a_claim_ends_when_another_node_passes),
        cmocka_unit_test(test_a_claim_ends_when_its_share_is_gone),
        cmocka_unit_test(test_equal_use_is_shared),
        cmocka_unit_test(test_little_equal_use_looks_shared_and_is_no_proof),
        cmocka_unit_test(test_equal_use_looks_shared_with_one_sample_a_round),
        cmocka_unit_test(test_a_label_fades_with_its_samples),
        cmocka_unit_test(test_a_wrong_label_is_taken_back_by_the_next_pass),
        cmocka_unit_test(test_a_claim_outlives_what_only_looks_shared),
        cmocka_unit_test(test_half_life),
        cmocka_unit_test(test_old_samples_no_longer_stand_against_a_claim),
        cmocka_unit_test(test_rate_is_unbiased_from_the_first_round),
        cmocka_unit_test(test_rate_follows_a_change),
        cmocka_unit_test(test_resident_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
